package yamldoc

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

var durationType = reflect.TypeFor[time.Duration]()

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
		if n, ok := plainFloat(text); ok && plain {
			to.SetFloat(n)
			return true
		}
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

// openScalar is what a text says where anything may be.
func openScalar(text string, plain bool) (value any, ok bool) {
	if !plain || isWord(text) {
		return text, true
	}
	if n, ok := plainInt(text); ok {
		return int(n), true
	}
	ok = plainScalar(text).Decode(&value) == nil
	return value, ok
}

func plainScalar(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	node.Tag = node.ShortTag()
	return node
}

// tagOf is the tag of a plain text.
func tagOf(text string) string {
	if isWord(text) {
		return "!!str"
	}
	return plainScalar(text).Tag
}

var wordFirst = chars("abcdeghijklmpqrsuvwxzABCDEGHIJKLMPQRSUVWXZ_/($")

// isWord reports whether a plain text surely says itself: it begins with a character with
// which no number, time, truth value or null begins.
func isWord(text string) bool { return wordFirst[text[0]] }

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
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > 18 || digits[0] == '0' && text != "0" {
		return 0, false
	}
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if digits != text {
		n = -n
	}
	return n, true
}

// plainFloat reads a number as it is usually written: with or without decimals.
func plainFloat(text string) (float64, bool) {
	if n, ok := plainInt(text); ok {
		return float64(n), text != "-0"
	}
	whole, part, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if whole == "" || part == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(part, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// fold joins the lines of a text under a ">": a line end between two lines that do not
// begin with a blank is a blank, and blank lines between such are line ends.
func fold(b *strings.Builder, text string, indent int) {
	blanks, first, wasIndented := 0, true, false
	for line := range strings.Lines(text) {
		line = line[min(indent, len(line)-1):]
		if line == "\n" {
			blanks++
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		switch {
		case first:
		case wasIndented || indented:
			b.WriteByte('\n')
		case blanks == 0:
			b.WriteByte(' ')
		}
		for ; blanks > 0; blanks-- {
			b.WriteByte('\n')
		}
		b.WriteString(line[:len(line)-1])
		first, wasIndented = false, indented
	}
	b.WriteByte('\n')
}

// flow reads a list or map in flow style that ends on its line.
func (r *fastReader) flow(p *fastPlan, to reflect.Value) bool {
	if r.depth++; r.depth > maxDepth {
		return false
	}
	p, to = p.target(to)
	ok := false
	if r.text[r.at] == '{' {
		ok = r.flowMap(p, to)
	} else if p.kind == fastOpen {
		ok = r.flowOpen(p, to)
	} else if p.kind == fastSlice && p.elem.kind == fastString {
		ok = r.flowTexts(p, to)
	} else if p.kind == fastSlice {
		ok = r.flowList(p, to)
	}
	r.depth--
	r.null = false
	return ok
}

// more goes to the next element of a collection in flow style, or behind its end. The
// first time at is where it opens.
func (r *fastReader) more(first bool, end byte) (more, ok bool) {
	if first {
		r.at++
	}
	r.blanks()
	switch c := r.text[r.at]; {
	case c == end:
		r.at++
		return false, true
	case first:
		return true, true
	case c == ',':
		r.at++
		r.blanks()
		return true, true
	}
	return false, false
}

func (r *fastReader) blanks() {
	for r.text[r.at] == ' ' {
		r.at++
	}
}

// flowTexts reads a list of texts, which is by far the most frequent.
func (r *fastReader) flowTexts(p *fastPlan, to reflect.Value) bool {
	var few [8]string
	list := few[:0]
	for {
		more, ok := r.more(len(list) == 0, ']')
		if !ok {
			return false
		}
		if !more {
			break
		}
		text, plain, ok := r.flowScalar()
		if !ok || plain && isNull(text) {
			return false
		}
		list = append(list, text)
	}
	p.list(to, len(list))
	for i, text := range list {
		to.Index(i).SetString(text)
	}
	return true
}

// flowList reads a list of other values.
func (r *fastReader) flowList(p *fastPlan, to reflect.Value) bool {
	most := 1 + strings.Count(r.text[r.at:lineEnd(r.text, r.at)], ",")
	if r.text[r.at+1] == ']' {
		most = 0
	}
	block := p.list(to, most)
	n := 0
	for ; ; n++ {
		more, ok := r.more(n == 0, ']')
		if !ok {
			return false
		}
		if !more {
			break
		}
		element := to.Index(n)
		if !block.IsValid() {
			if !r.flowValue(p.elem, element) || r.null && !p.elem.mayBeNull() {
				return false
			}
			continue
		}
		twin := block.Index(n)
		if !r.flowValue(p.elem.elem, twin) || r.null {
			return false
		}
		element.Set(twin.Addr())
	}
	to.SetLen(n)
	return true
}

func (r *fastReader) flowOpen(p *fastPlan, to reflect.Value) bool {
	list := []any{}
	for {
		more, ok := r.more(len(list) == 0, ']')
		if !ok {
			return false
		}
		if !more {
			to.Set(reflect.ValueOf(list))
			return true
		}
		var element any
		if !r.flowValue(p, reflect.ValueOf(&element).Elem()) {
			return false
		}
		list = append(list, element)
	}
}

func (r *fastReader) flowMap(p *fastPlan, to reflect.Value) bool {
	m, ok := p.filler(to)
	if !ok {
		return false
	}
	for first := true; ; first = false {
		more, ok := r.more(first, '}')
		if !ok || !more {
			return ok
		}
		key, plain, ok := r.key()
		if !ok || !m.begin(key, plain) {
			return false
		}
		r.blanks()
		if !r.flowValue(m.plan, m.to) || r.null && m.entries() {
			return false
		}
		m.end(key)
	}
}

func (r *fastReader) flowValue(p *fastPlan, to reflect.Value) bool {
	if c := r.text[r.at]; c == '[' || c == '{' {
		return r.flow(p, to)
	}
	text, plain, ok := r.flowScalar()
	return ok && r.scalar(p, to, text, plain)
}

func (r *fastReader) flowScalar() (text string, plain, ok bool) {
	if c := r.text[r.at]; c == '"' || c == '\'' {
		text, ok = r.quoted()
		return text, false, ok
	}
	text, ok = r.plain(&flowStops)
	return text, true, ok
}
