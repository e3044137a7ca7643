package yamldoc

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Encode returns the tree of v. Structs follow their yaml tags. Small lists and maps without long
// texts are in flow style, all others in block style.
func Encode(v any) *yaml.Node { return encode(reflect.ValueOf(v)) }

func encode(v reflect.Value) *yaml.Node {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return scalar("!!null", "null")
	}
	if p, ok := v.Interface().(plainer); ok && v.Kind() == reflect.String {
		return plainNode(p.Plain())
	}
	if t, ok := v.Interface().(time.Time); ok {
		return scalar("!!timestamp", timeText(t))
	}
	switch v.Kind() {
	case reflect.String:
		return stringNode(v.String())
	case reflect.Struct:
		n := compact(encodeStruct(v))
		putOnOneLine(n, v)
		return n
	case reflect.Map:
		return compact(encodeMap(v))
	case reflect.Slice, reflect.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			n.Content = append(n.Content, encode(v.Index(i)))
		}
		return compact(n)
	}
	kind, text := scalarText(v)
	if kind == "" {
		panic("yamldoc: cannot write a value of type " + v.Type().String())
	}
	return scalar("", text)
}

// oneLiner is implemented by structs that are written on one line, however long it is, unless they have a text of several
// lines, a list of maps, or a comment.
type oneLiner interface{ OneLine() }

// putOnOneLine gives n, which says v, the flow style if v is a oneLiner.
func putOnOneLine(n *yaml.Node, v reflect.Value) {
	if _, ok := v.Interface().(oneLiner); ok && fitsOneLine(n) {
		inFlow(n)
	}
}

func fitsOneLine(n *yaml.Node) bool {
	return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && n.HeadComment+n.LineComment+n.FootComment == "" && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
		return !fitsOneLine(c) || n.Kind == yaml.SequenceNode && c.Kind != yaml.ScalarNode
	})
}

func scalar(tag, text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
	n.Tag = n.ShortTag()
	return n
}

func encodeStruct(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fieldsOf(v.Type()) {
		value := v.Field(f.index)
		switch {
		case f.inline:
			n.Content = append(n.Content, encodeMap(value).Content...)
		case f.omitEmpty && empty(value):
		default:
			n.Content = append(n.Content, fieldNode(f.name), encode(value))
		}
	}
	return n
}

func encodeMap(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range sortedKeys(v) {
		n.Content = append(n.Content, stringNode(keyText(key)), encode(v.MapIndex(key)))
	}
	return n
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int {
		return strings.Compare(keyText(a), keyText(b))
	})
}

func keyText(key reflect.Value) string { return fmt.Sprint(key.Interface()) }

// empty reports whether a value is the same as an absent key.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// bare matches texts that may be without quotes wherever a text may be, provided
// that they are not read as something else.
var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./+-][A-Za-z0-9_./:@#=*+-]*$`) })

func isBare(s string) bool {
	if !bare().MatchString(s) || strings.HasSuffix(s, ":") || s[0] == '-' && (len(s) == 1 || s[1] == '-') || strings.HasPrefix(s, "...") {
		return false
	}
	return true
}

// old are texts that older readers of YAML take for something else than a text.
var old = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$|^[-+]|^\.[0-9]|^[0-9_.]+$`)
})

// calm matches plain texts of several words, which are left as they are.
var calm = regexp.MustCompile("^[A-Za-z0-9_./(][^\\x00-\\x1f\\x7f-\\x9f,\\[\\]{}#:&*!|>'\"%@`?\\\\]*$")

func isCalm(s string) bool {
	return calm.MatchString(s) && !strings.HasSuffix(s, " ") && !strings.HasPrefix(s, "...") && printable(s, false)
}

// stringNode is a text that is read as a text and as nothing else.
func stringNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case !utf8.ValidString(s):
		n.Tag, n.Style = "!!binary", yaml.TaggedStyle
		n.Value = base64.StdEncoding.EncodeToString([]byte(s))
	case isBare(s) && !old().MatchString(s) && scalar("", s).Tag == "!!str":
	case strings.Contains(s, "\n") && literalWorks(s):
		n.Style = yaml.LiteralStyle
	case strings.ContainsAny(s, `"\`) && !strings.Contains(s, "'") && singleWorks(s):
		n.Style = yaml.SingleQuotedStyle
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// fieldNode is the name of a field as a key, which readers know to be a text.
func fieldNode(name string) *yaml.Node { return scalar("!!str", name) }

// plainNode is a text without quotes, if it can do without.
func plainNode(s string) *yaml.Node {
	if s == "" {
		return scalar("!!null", "null")
	}
	n := scalar("", s)
	if isBare(s) && n.Tag != "!!null" && n.Tag != "!!bool" && n.Tag != "!!merge" {
		return n
	}
	return stringNode(s)
}

// literalWorks reports whether s can be line by line under a "|". It must not begin
// with a blank, and no line may end with one.
func literalWorks(s string) bool {
	if s[0] == ' ' || s[0] == '\n' || s[0] == '\t' || strings.Contains(s, " \n") || strings.HasSuffix(s, " ") {
		return false
	}
	return printable(s, true)
}

func singleWorks(s string) bool { return printable(s, false) }

func printable(s string, breaks bool) bool {
	for _, r := range s {
		if r == '\n' && breaks || r == '\t' && breaks {
			continue
		}
		if mustEscape(r) {
			return false
		}
	}
	return true
}

// mustEscape reports whether double quotes must escape r: it is not printable, or ends a line in YAML.
func mustEscape(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xd800 && r < 0xe000, r == 0xfffe, r == 0xffff, r == utf8.RuneError:
		return true
	}
	return false
}

// The limits of a collection on one line.
const (
	maxFlowMap  = 200
	maxFlowList = 100
)

// compact gives a collection the flow style if it is small and holds nothing but
// scalars of one line and lists of them.
func compact(n *yaml.Node) *yaml.Node {
	limit, width := maxFlowList, 0
	if n.Kind == yaml.MappingNode {
		limit = maxFlowMap
	}
	for i, c := range n.Content {
		width += len(c.Value) + 2
		switch {
		case c.Kind == yaml.ScalarNode && c.Style == yaml.LiteralStyle:
			return n
		case c.Kind == yaml.ScalarNode && n.Kind == yaml.SequenceNode && c.Style != 0 && i > 0 && len(c.Value) > 40:
			return n
		case c.Kind == yaml.ScalarNode:
		case len(c.Content) == 0:
		case n.Kind == yaml.SequenceNode || c.Style&yaml.FlowStyle == 0 && !flatList(c):
			return n
		default:
			for _, inner := range c.Content {
				width += len(inner.Value) + 2
			}
		}
	}
	if width > limit && len(n.Content) > 0 {
		return n
	}
	n.Style |= yaml.FlowStyle
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			c.Style |= yaml.FlowStyle
		}
	}
	return n
}

// flatList reports whether n is a list of scalars of one line.
func flatList(n *yaml.Node) bool {
	if n.Kind != yaml.SequenceNode {
		return false
	}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode || c.Style == yaml.LiteralStyle {
			return false
		}
	}
	return true
}

// writer writes nodes as text, two columns for each level. It writes the trees of Encode, and parsed trees for which simple
// returns true.
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

// value writes the value behind a key or a dash, up to the end of its last line.
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
