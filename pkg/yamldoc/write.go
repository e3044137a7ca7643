package yamldoc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// writer puts nodes into text, two columns for each level. It writes what Encode makes
// and nodes that were read and have nothing unusual about them; simple tells which.
type writer struct{ b strings.Builder }

// simple reports whether writer can write n without losing anything: comments other than
// one behind a scalar, anchors, aliases and tags are left to the library.
func simple(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.HeadComment != "" || n.FootComment != "" {
		return false
	}
	if n.LineComment != "" && n.Kind != yaml.ScalarNode || n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!binary" {
		return false
	}
	for _, c := range n.Content {
		if n.Style&yaml.FlowStyle != 0 && c.LineComment != "" || !simple(c) {
			return false
		}
	}
	return true
}

// pair writes "key: value" without the indentation of its first line.
func (w *writer) pair(key, value *yaml.Node, indent int) {
	w.scalar(key)
	w.b.WriteByte(':')
	w.value(value, indent, false)
}

// item writes "- value" without the indentation of its first line.
func (w *writer) item(value *yaml.Node, indent int) {
	w.b.WriteByte('-')
	w.value(value, indent, true)
}

// value writes what follows a key or a dash, up to the end of its last line.
func (w *writer) value(n *yaml.Node, indent int, inItem bool) {
	block := n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
	switch {
	case block && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i == 0 && inItem {
				w.b.WriteByte(' ')
			} else {
				w.line(indent + 2)
			}
			w.pair(n.Content[i], n.Content[i+1], indent+2)
		}
	case block && n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			w.line(indent + 2)
			w.item(c, indent+2)
		}
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && literalWorks(n.Value+"\n"):
		w.literal(n, indent+2)
	default:
		w.b.WriteByte(' ')
		w.flow(n)
		w.comment(n)
	}
}

// line begins a line, unless one has just begun.
func (w *writer) line(indent int) {
	if s := w.b.String(); s != "" && s[len(s)-1] != '\n' {
		w.b.WriteByte('\n')
	}
	w.b.WriteString(strings.Repeat(" ", indent))
}

func (w *writer) comment(n *yaml.Node) {
	if n.LineComment != "" {
		w.b.WriteString(" " + n.LineComment)
	}
}

func (w *writer) literal(n *yaml.Node, indent int) {
	w.b.WriteString(" |")
	switch {
	case !strings.HasSuffix(n.Value, "\n"):
		w.b.WriteByte('-')
	case strings.HasSuffix(n.Value, "\n\n"):
		w.b.WriteByte('+')
	}
	w.comment(n)
	for row := range strings.Lines(n.Value) {
		row = strings.TrimSuffix(row, "\n")
		w.b.WriteByte('\n')
		if row != "" {
			w.b.WriteString(strings.Repeat(" ", indent) + row)
		}
	}
	if strings.HasSuffix(n.Value, "\n") {
		w.b.WriteByte('\n')
	}
}

// flow writes n on one line.
func (w *writer) flow(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		w.b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.scalar(n.Content[i])
			w.b.WriteString(": ")
			w.flow(n.Content[i+1])
		}
		w.b.WriteByte('}')
	case yaml.SequenceNode:
		w.b.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.flow(c)
		}
		w.b.WriteByte(']')
	default:
		w.scalar(n)
	}
}

// scalar writes n on one line, in its own style if that can be.
func (w *writer) scalar(n *yaml.Node) {
	switch {
	case n.Tag == "!!binary":
		w.b.WriteString("!!binary " + n.Value)
	case n.Style&yaml.SingleQuotedStyle != 0 && singleWorks(n.Value):
		w.b.WriteString("'" + strings.ReplaceAll(n.Value, "'", "''") + "'")
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
		(isBare(n.Value) || isCalm(n.Value) || n.ShortTag() == "!!null" && n.Value != "") && scalar("", n.Value).Tag == n.ShortTag():
		w.b.WriteString(n.Value)
	case n.ShortTag() == "!!null" && n.Style == 0:
		w.b.WriteString("null")
	default:
		w.b.WriteString(quoted(n.Value))
	}
}

// quoted is s within double quotes.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError, !mustEscape(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// library writes a tree through the YAML library, moved to the right by indent.
func library(root *yaml.Node, indent int) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			text, err = "", fmt.Errorf("the YAML library gave up: %v", r)
		}
	}()
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return "", err
	}
	if err := enc.Close(); err != nil {
		return "", err
	}
	return indented(out.String(), indent), nil
}

// indented puts blanks before each line that is not empty.
func indented(text string, indent int) string {
	if indent == 0 {
		return text
	}
	var b strings.Builder
	for row := range strings.Lines(text) {
		if row != "\n" {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(row)
	}
	return b.String()
}
