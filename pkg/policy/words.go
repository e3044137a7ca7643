package policy

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// substituted stands for what a substitution prints: nobody knows it before.
const substituted = "$()"

// source is the text of a node as it was written.
func (w *walk) source(n syntax.Node) string { return w.between(n.Pos(), n.End()) }

func (w *walk) between(from, to syntax.Pos) string {
	start, end := int(from.Offset()), int(to.Offset())
	if start > end || end > len(w.text) {
		return ""
	}
	return strings.TrimSpace(w.text[start:end])
}

// raw is a simple command as it was written, from its first word or redirection to its last one.
func (w *walk) raw(s *syntax.Stmt, call *syntax.CallExpr) string {
	var from, to syntax.Pos
	include := func(n syntax.Node) {
		if !from.IsValid() || from.After(n.Pos()) {
			from = n.Pos()
		}
		if n.End().After(to) {
			to = n.End()
		}
	}
	if call != nil {
		include(call)
	}
	for _, r := range s.Redirs {
		if include(r); r.Hdoc != nil { // its text is behind the line
			to = r.Word.End()
		}
	}
	return w.between(from, to)
}

// expanded are the words that a word becomes: braces make several. A word with many of them
// stays as it is: it would become thousands.
func (w *walk) expanded(word *syntax.Word) []string {
	if n := strings.Count(w.source(word), "{"); n == 0 || n > 4 {
		return []string{w.value(word)}
	}
	split := *word // its parts are looked through once more, as they were
	word = &split
	syntax.SplitBraces(word)
	const most = 100 // of one word; the rest is more of the same
	var words []string
	for one, err := range expand.BracesSeq(nil, word) {
		if err != nil || len(words) == most {
			break
		}
		words = append(words, w.value(one))
	}
	return words
}

func (w *walk) assignment(a *syntax.Assign) string {
	switch {
	case a.Naked && a.Name == nil:
		return w.value(a.Value) // an option, or a word that becomes one
	case a.Name == nil:
		return w.source(a)
	case a.Naked:
		return a.Name.Value
	case a.Value == nil:
		return a.Name.Value + "="
	}
	return a.Name.Value + "=" + w.value(a.Value)
}

// value is a word without its quotes. Variables stay as they are written.
func (w *walk) value(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range word.Parts {
		w.part(&b, part, false)
	}
	return b.String()
}

func (w *walk) part(b *strings.Builder, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.WriteString(unescape(p.Value, quoted))
	case *syntax.SglQuoted:
		if p.Dollar {
			b.WriteString(ansi(p.Value))
			return
		}
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			w.part(b, inner, true)
		}
	case *syntax.ParamExp:
		b.WriteString(w.parameter(p))
	case *syntax.CmdSubst, *syntax.ProcSubst:
		b.WriteString(substituted)
	default:
		b.WriteString(w.source(p))
	}
}

// parameter is a variable as it is written; of one with a default value that is the value: a
// variable that is not set is what somebody would use to hide a command.
func (w *walk) parameter(p *syntax.ParamExp) string {
	known := p.Param != nil && (p.Param.Value == "HOME" || p.Param.Value == "PWD")
	switch {
	case p.Exp == nil:
		return w.source(p)
	case known:
		return "${" + p.Param.Value + "}"
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return w.value(p.Exp.Word)
	}
	return w.source(p)
}

// unescape takes out the backslashes of a text; between double quotes most of them stay.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch next := text[i]; {
		case next == '\n': // the line goes on
		case quoted && !strings.ContainsRune("$`\"\\", rune(next)):
			b.WriteString(text[i-1 : i+1])
		default:
			b.WriteByte(next)
		}
	}
	return b.String()
}

// ansi reads the text of $'…'. The forms are those of printf and \', \", \? and \cX.
func ansi(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\'`, `\x27`), "%", "%%")
	out, _, err := expand.Format(nil, text, nil)
	if err != nil {
		return strconv.Quote(text)
	}
	out, _, _ = strings.Cut(out, "\x00")
	return out
}
