package yamldoc

import (
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

// Encode makes the node that says v. Structs follow their yaml tags. Small lists and
// maps without long texts are in flow style, all others in block style.
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

// mustEscape reports whether r can be only as an escape within double quotes: what is
// not printable, and what YAML takes for the end of a line.
func mustEscape(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xd800 && r < 0xe000, r == 0xfffe, r == 0xffff, r == utf8.RuneError:
		return true
	}
	return false
}

// Limits of what is written on one line.
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
