package yamldoc

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// vouched reports whether a text ends with a line end and has only characters that YAML
// lets are anywhere and does not take for the end of a line.
func vouched(text string) bool {
	if text == "" || text[len(text)-1] != '\n' {
		return false
	}
	for i := 0; i < len(text); {
		if i+8 <= len(text) && calmBytes(text[i:i+8]) {
			i += 8
			continue
		}
		c := text[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if size == 1 || r != utf8.RuneError && mustEscape(r) {
			return false
		}
		i += size
	}
	return true
}

// calmBytes reports whether eight bytes are printable ASCII or line ends; all eight are
// looked at in one word.
func calmBytes(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	if w&tops != 0 {
		return false
	}
	// With the top bits clear none of these sums and differences reaches the next byte.
	low := ^((w | tops) - 0x20*ones) & tops // less than 0x20
	end := ^((w ^ '\n'*ones) + 0x7f*ones) & tops
	del := (w + ones) & tops // 0x7f
	return low&^end == 0 && del == 0
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

// charSet tells of each byte whether it is in a set.
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

// key reads a key with its colon. plain tells that it has no quotes.
func (r *fastReader) key() (key string, plain, ok bool) {
	start := r.at
	if c := r.text[start]; c == '"' || c == '\'' {
		if key, ok = r.quoted(); !ok || r.at-start > maxKey || r.text[r.at] != ':' || !r.gap(r.at+1) {
			return "", false, false
		}
		r.at++
		return key, false, true
	} else if !keyFirst[c] {
		return "", false, false
	}
	for at := start; ; at++ {
		c := r.text[at]
		if c == ':' && r.gap(at+1) {
			r.at = at + 1
			return r.text[start:at], true, at-start <= maxKey
		}
		if !keyChars[c] {
			return "", false, false
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

// quoted reads a text in quotes that ends on its line.
func (r *fastReader) quoted() (value string, ok bool) {
	quote, start := r.text[r.at], r.at+1
	for at := start; ; at++ {
		switch c := r.text[at]; {
		case c == '\n':
			return "", false
		case c == '\\' && quote == '"':
			return r.escaped(start)
		case c == quote && quote == '\'' && r.text[at+1] == '\'':
			return r.doubled(start)
		case c == quote:
			r.at = at + 1
			return r.text[start:at], true
		}
	}
}

// doubled reads a text in single quotes that has some within, which are doubled.
func (r *fastReader) doubled(start int) (string, bool) {
	for at := start; ; at++ {
		switch c := r.text[at]; {
		case c == '\n':
			return "", false
		case c == '\'' && r.text[at+1] == '\'':
			at++
		case c == '\'':
			r.at = at + 1
			return strings.ReplaceAll(r.text[start:at], "''", "'"), true
		}
	}
}

const escapes = "0abtnvfre \"'\\N_LP"

var escapedRunes = []rune("\x00\a\b\t\n\v\f\r\x1b \"'\\\u0085\u00a0\u2028\u2029")

// escaped reads a text in double quotes that has escapes.
func (r *fastReader) escaped(start int) (string, bool) {
	text := r.text
	var b strings.Builder
	b.Grow(escapedSize(text, start))
	for at := start; ; {
		from := at
		for text[at] != '"' && text[at] != '\\' && text[at] != '\n' {
			at++
		}
		b.WriteString(text[from:at])
		switch text[at] {
		case '\n':
			return "", false
		case '"':
			r.at = at + 1
			return b.String(), true
		}
		c := text[at+1]
		at += 2
		if i := strings.IndexByte(escapes, c); i >= 0 {
			b.WriteRune(escapedRunes[i])
			continue
		}
		digits := 0
		switch c {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		}
		if digits == 0 || at+digits > len(text) {
			return "", false
		}
		code, ok := hex(text[at : at+digits])
		if !ok {
			return "", false
		}
		b.WriteRune(code)
		at += digits
	}
}

// escapedSize is more than what the text in double quotes can take without its escapes.
func escapedSize(text string, start int) int {
	for at := start; ; at++ {
		switch text[at] {
		case '\\':
			at++
		case '"', '\n':
			return at - start
		}
		if at >= len(text)-1 {
			return at - start
		}
	}
}

func hex(digits string) (code rune, ok bool) {
	var n uint64
	for _, c := range []byte(digits) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return rune(n), n <= utf8.MaxRune && (n < 0xd800 || n > 0xdfff)
}
