package yamldoc

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// lineText reads a text that ends on its line. plain reports that it has no quotes.
func (r *fastReader) lineText(stops *charSet) (text string, plain, ok bool) {
	if c := r.text[r.at]; c == '"' || c == '\'' {
		text, ok = r.quoted()
		return text, false, ok
	}
	text, ok = r.plain(stops)
	return text, true, ok
}

// vouched reports whether a text ends with a line end and has only characters that YAML
// allows anywhere and does not take for the end of a line.
func vouched(text string) bool {
	if text == "" || text[len(text)-1] != '\n' {
		return false
	}
	at := 0
	for at < len(text) && everyday[text[at]] {
		at++
	}
	// What else there is, from the first of it on, is read as characters, which takes ten times as long.
	rest := text[at:]
	return rest == "" || utf8.ValidString(rest) && !strings.ContainsFunc(rest, func(r rune) bool {
		return r != '\n' && r != '\t' && r != utf8.RuneError && mustEscape(r)
	})
}

// next goes to the first text of the next line that has any. It must be called where a
// line begins. column is -1 when nothing follows.
func (r *fastReader) next() bool {
	text := r.text
	for at := r.at; at < len(text); {
		start := at
		for text[at] == ' ' {
			at++
		}
		switch text[at] {
		case '\n':
			at++
		case '#':
			at = lineEnd(text, at)
		case '\t':
			return false
		default:
			r.at, r.start, r.column = at, start, at-start
			return true
		}
	}
	r.at, r.column = len(text), -1
	return true
}

// endLine goes to the next line, provided that nothing but a comment is in the way.
func (r *fastReader) endLine() bool {
	at := r.at
	for r.text[at] == ' ' {
		at++
	}
	switch {
	case r.text[at] == '\n':
		r.at = at + 1
		return true
	case r.text[at] == '#' && at > 0 && r.text[at-1] == ' ':
		r.at = lineEnd(r.text, at)
		return true
	}
	return false
}

// dash reports whether an item of a list begins here.
func (r *fastReader) dash() bool {
	return r.text[r.at] == '-' && (r.text[r.at+1] == ' ' || r.text[r.at+1] == '\n')
}

// everyday are the bytes of most texts: printable ASCII, line ends and tabs.
var everyday = func() (c charSet) {
	for b := byte(' '); b < 0x7f; b++ {
		c[b] = true
	}
	c['\n'], c['\t'] = true, true
	return c
}()

// charSet is a set of bytes.
type charSet [256]bool

func chars(set string) (c charSet) {
	for i := range len(set) {
		c[set[i]] = true
	}
	return c
}

const (
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	indicators = "-?:,[]{}#&*!|>'\"%@` \t\n"
)

var (
	keyChars   = chars(letters + ".-/+@=#*:")
	keyFirst   = chars(letters + "./")
	plainStops = chars(":#\t\n")
	flowStops  = chars(":#\t\n,?[]{}")
	notFirst   = chars(indicators)
)

// maxKey is how long a key may be; the library has another limit, above this one.
const maxKey = 1000

// key reads a key without quotes, with its colon.
func (r *fastReader) key() (key string, ok bool) {
	start := r.at
	if !keyFirst[r.text[start]] {
		return "", false
	}
	for at := start; ; at++ {
		c := r.text[at]
		if c == ':' && r.gap(at+1) {
			r.at = at + 1
			return r.text[start:at], at-start <= maxKey
		}
		if !keyChars[c] {
			return "", false
		}
	}
}

// gap reports whether there is a blank or a line end.
func (r *fastReader) gap(at int) bool { return r.text[at] == ' ' || r.text[at] == '\n' }

// plain reads a text without quotes that ends with its line.
func (r *fastReader) plain(stops *charSet) (value string, ok bool) {
	text, start := r.text, r.at
	if notFirst[text[start]] && (text[start] != '-' || r.gap(start+1) || stops[text[start+1]]) {
		return "", false
	}
	at := start
scan:
	for ; ; at++ {
		c := text[at]
		if !stops[c] {
			continue
		}
		switch c {
		case ':':
			if next := text[at+1]; r.gap(at+1) || stops[next] && next != ':' && next != '#' {
				return "", false
			}
		case '#':
			if text[at-1] == ' ' {
				break scan
			}
		case '\n', ',', ']', '}':
			break scan
		default:
			return "", false
		}
	}
	r.at = at
	value = text[start:at]
	for value[len(value)-1] == ' ' {
		value = value[:len(value)-1]
		r.at--
	}
	return value, value != "<<"
}

// quoted reads a text in quotes that ends on its line, with the escapes that Go has too.
func (r *fastReader) quoted() (value string, ok bool) {
	quote, start := r.text[r.at], r.at+1
	for at := start; ; at++ {
		switch c := r.text[at]; {
		case c == '\n', c == '\'' && quote == c && r.text[at+1] == c:
			return "", false
		case c == '\\' && quote == '"':
			if !strings.ContainsRune(`"\abfnrtvuU`, rune(r.text[at+1])) {
				return "", false
			}
			at++
		case c == quote:
			r.at = at + 1
			if value = r.text[start:at]; quote == '"' && strings.Contains(value, "\\") {
				value, err := strconv.Unquote(r.text[start-1 : r.at])
				return value, err == nil
			}
			return value, true
		}
	}
}

// scalar puts a text into the value at to. A plain one may say something else than itself.
func (r *fastReader) scalar(p *fastPlan, to reflect.Value, text string, plain bool) bool {
	if r.null = plain && isNull(text); r.null {
		return true
	}
	p, to = p.target(to)
	switch p.kind {
	case fastString:
		to.SetString(text)
		return true
	case fastText:
		return to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
	case fastOpen:
		value, ok := openScalar(text, plain)
		if value != nil {
			to.Set(reflect.ValueOf(value))
		}
		return ok
	case fastInt:
		if n, ok := plainInt(text); ok && plain {
			to.SetInt(n)
			return true
		}
		return plain && p.odd(to, text)
	case fastFloat:
		return plain && p.odd(to, text)
	case fastBool:
		if plain && (text == "true" || text == "false") {
			to.SetBool(text == "true")
			return true
		}
		return plain && p.odd(to, text)
	}
	return false
}

// odd lets the library read a number or truth value that is written in an unusual way.
func (p *fastPlan) odd(to reflect.Value, text string) bool {
	node := plainScalar(text)
	return fitsScalar(node, p.typ) && node.Decode(to.Addr().Interface()) == nil
}

// openScalar returns the value of a text where any type is allowed.
func openScalar(text string, plain bool) (value any, ok bool) {
	if !plain {
		return text, true
	}
	ok = plainScalar(text).Decode(&value) == nil
	return value, ok
}

func plainScalar(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	node.Tag = node.ShortTag()
	return node
}

// isNull reports whether a plain text says nothing.
func isNull(text string) bool {
	switch text {
	case "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// plainInt reads a number as it is usually written.
func plainInt(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}
