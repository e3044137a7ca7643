package yamldoc

import (
	"strings"
	"unicode/utf8"
)

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
