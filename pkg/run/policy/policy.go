// Package policy has the shell commands that are never started for a task of kind exec, or for an item of a rejection
// (specs/roles-and-knowledge.md#9.4).
//
// It reads plain words: each simple command of a text, wherever the shell would start it, and those of a text for another
// shell. It prevents accidents. A script, a variable or a program can start anything that the text does not show; the sandbox
// contains those.
package policy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"liza/pkg/base/prose"
)

// Place is the working folder of a command. Paths are absolute.
type Place struct {
	Worktree string
	Home     string
}

// List is the project's part of the deny list (policy.*): expressions over a simple command. Allow overrides the built-in
// list, Deny overrides everything. The expressions are valid: the configuration was checked.
type List struct {
	Deny, Allow []string
	AllowSudo   bool
}

// Denial is the reason why a command is not started. Segment is its denied part.
type Denial struct {
	Segment string
	Why     string
}

func (d *Denial) Error() string {
	return fmt.Sprintf("denied: `%s` %s", prose.OneLine(d.Segment, 200), d.Why)
}

// Hint returns how the task can continue after a denial.
func (d *Denial) Hint() string {
	return "say it without this command, or let a person allow it in policy.allow of .liza/config.yaml"
}

const (
	maxCommand  = 128<<10 - 1 // length of the longest argument that Linux passes to a program
	maxDepth    = 4           // depth of substitutions, subshells and nested shells
	maxBrackets = 1000        // the parser calls itself for each: without a bound its stack ends the process
)

// The errors for commands that cannot be understood.
var (
	errEmpty = errors.New("the command is empty")
	errDeep  = fmt.Errorf("the command is nested deeper than %d levels, so that it cannot be looked through", maxDepth)
)

// Check returns nil for a command that may be started at place at. A *Denial names the denied segment; another error is the
// reason why the command cannot be understood.
func (l List) Check(command string, at Place) error {
	if strings.TrimSpace(command) == "" {
		return errEmpty
	}
	if len(command) > maxCommand {
		return fmt.Errorf("it has %d bytes, and no shell takes more than %d; put it into a script", len(command), maxCommand)
	}
	j := &judge{place: at, cwd: at.Worktree, sudo: l.AllowSudo}
	for _, text := range l.Deny {
		j.deny = append(j.deny, regexp.MustCompile(text))
	}
	for _, text := range l.Allow {
		j.allow = append(j.allow, regexp.MustCompile(text))
	}
	return j.text(command, 0)
}

// judge goes through the simple commands of a text.
type judge struct {
	place       Place
	deny, allow []*regexp.Regexp
	sudo        bool   // sudo is allowed
	cwd         string // folder of the next command, as far as cd determines it
}

// text judges a text that a shell would carry out. depth is how many shells it is nested in.
func (j *judge) text(text string, depth int) error {
	if depth > maxDepth || bracketsOf(text) > maxBrackets {
		return errDeep
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return unread(err)
	}
	type scope struct {
		cwd   string
		depth int
	}
	var outer []scope // one for each node between the file and the one that is looked at
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil { // what cd changed in a subshell ends with it
			last := outer[len(outer)-1]
			outer = outer[:len(outer)-1]
			if last.depth != depth {
				j.cwd = last.cwd
			}
			depth = last.depth
			return true
		}
		if err != nil {
			return false
		}
		outer = append(outer, scope{j.cwd, depth})
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			if depth++; depth > maxDepth {
				err = errDeep
			}
		case *syntax.FuncDecl:
			if m := bomb.FindStringSubmatch(source(text, n)); m != nil && m[1] == m[2] && m[2] == m[3] {
				err = j.refuse(source(text, n), "starts copies of itself without end")
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && has(n.X, downloads) && has(n.Y, isShell) {
				err = j.refuse(source(text, n), runsDownload)
			}
		case *syntax.Stmt:
			err = j.statement(text, n, depth)
		}
		return true
	})
	return err
}

const runsDownload = "carries out what it has loaded from elsewhere"

var bomb = regexp.MustCompile(`([\w:.]+)\s*\(\s*\)\s*\{\s*([\w:.]+)\s*\|\s*([\w:.]+)\s*&`)

// statement judges one simple command with its redirections.
func (j *judge) statement(text string, s *syntax.Stmt, depth int) error {
	var targets []string
	for _, r := range s.Redirs {
		if r.Op != syntax.RdrIn && r.Op != syntax.DplIn && r.Op != syntax.WordHdoc && r.Hdoc == nil {
			targets = append(targets, value(r.Word))
		}
	}
	words := wordsOf(s)
	if len(words)+len(targets) == 0 {
		return nil
	}
	raw := source(text, s)
	for _, r := range j.deny {
		if r.MatchString(raw) {
			return &Denial{raw, "is forbidden by policy.deny"}
		}
	}
	if err := j.nested(s, words, depth); err != nil {
		return err
	}
	return j.refuse(raw, j.wrong(words, targets))
}

// nested judges the text that a command hands to another shell.
func (j *judge) nested(s *syntax.Stmt, words []string, depth int) error {
	words, _ = bare(words)
	if len(words) == 0 {
		return nil
	}
	var texts []string
	switch name := path.Base(words[0]); {
	case shells[name]:
		if c := slices.IndexFunc(words, func(w string) bool { return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "c") }); c > 0 && c+1 < len(words) {
			texts = append(texts, words[c+1])
		}
		for _, r := range s.Redirs {
			if r.Op == syntax.WordHdoc {
				texts = append(texts, value(r.Word))
			} else if r.Hdoc != nil {
				texts = append(texts, value(r.Hdoc))
			}
		}
		if call, ok := s.Cmd.(*syntax.CallExpr); ok && has(call, downloads) {
			return j.refuse(strings.Join(words, " "), runsDownload)
		}
	case name == "eval":
		texts = append(texts, strings.Join(words[1:], " "))
	case name == "xargs":
		texts = append(texts, quoted(afterOptions(words[1:], "IEadLnPs")))
	case name == "find":
		if e := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") }); e > 0 {
			texts = append(texts, quoted(words[e+1:]))
		}
	}
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		cwd := j.cwd
		err := j.text(text, depth+1)
		if j.cwd = cwd; err != nil {
			return err
		}
	}
	return nil
}

// refuse returns a *Denial of a segment, nil if why is empty or the project allows the segment.
func (j *judge) refuse(raw, why string) error {
	if why == "" || slices.ContainsFunc(j.allow, func(r *regexp.Regexp) bool { return r.MatchString(raw) }) {
		return nil
	}
	return &Denial{raw, why}
}

// wordsOf returns the words of a simple command without quotes, its assignments first.
// Variables and substitutions are as they were written.
func wordsOf(s *syntax.Stmt) []string {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	var words []string
	for _, a := range call.Assigns {
		words = append(words, a.Name.Value+"="+value(a.Value))
	}
	for _, w := range call.Args {
		words = append(words, value(w))
	}
	return words
}

func value(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(value(&syntax.Word{Parts: p.Parts}))
		case *syntax.ParamExp:
			b.WriteString("$" + p.Param.Value)
		default:
			b.WriteString("$()")
		}
	}
	return b.String()
}

// quoted joins words so that a shell would read the same words.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// has reports whether is returns true for a simple command at or below n.
func has(n syntax.Node, is func(words []string) bool) (found bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok && !found {
			words, _ := bare(wordsOf(s))
			found = len(words) > 0 && is(words)
		}
		return !found
	})
	return found
}

func isShell(words []string) bool { return shells[path.Base(words[0])] }

// source returns the text of a node as it was written.
func source(text string, n syntax.Node) string {
	return strings.TrimSpace(text[n.Pos().Offset():min(n.End().Offset(), uint(len(text)))])
}

// bracketsOf returns how deep the brackets of a text are nested, quoted ones too.
func bracketsOf(text string) int {
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
			most = max(most, depth)
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return most
}

func unread(err error) error {
	if parse, ok := errors.AsType[syntax.ParseError](err); ok {
		if _, quote, found := strings.Cut(parse.Text, "without closing quote "); found {
			return fmt.Errorf("a quote is not closed: %s in line %d, column %d", strings.Trim(quote, "`"), parse.Pos.Line(), parse.Pos.Col())
		}
		return fmt.Errorf("the command cannot be read: line %d: %s", parse.Pos.Line(), prose.OneLine(parse.Text, 200))
	}
	return fmt.Errorf("the command cannot be read: %v", err)
}
