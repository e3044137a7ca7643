package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// formsOf lists the ways in which a value may be printed: as it is, base64, also as a part
// of a longer text, hex, URL-encoded and JSON-escaped. The lines of a value that has several count as
// well, because an indented or wrapped text no longer holds the value as a whole.
func formsOf(value string) []string {
	raw := []byte(value)
	out := []string{
		value,
		base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
	}
	out = append(out, within64(raw)...)
	for _, u := range []string{url.QueryEscape(value), url.PathEscape(value), component(value), unreserved(raw)} {
		out = append(out, u, lowerEscapes(u))
	}
	percent := fullPercent(raw)
	out = append(out, percent, strings.ToLower(percent))
	out = append(out, fullEscape(value, false), fullEscape(value, true))
	for _, html := range []bool{false, true} {
		j := jsonEscape(value, html)
		out = append(out, j, strings.ReplaceAll(j, "/", `\/`), asciiEscape(j), upperEscapes(j), upperEscapes(asciiEscape(j)),
			strings.ReplaceAll(upperEscapes(asciiEscape(j)), "/", `\/`))
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); utf8.RuneCountInString(line) >= minEnvRunes {
				out = append(out, line)
			}
		}
	}
	return out
}

// within64 returns the forms of value inside a longer text in base64, one for each of the three offsets at which it may
// begin. It omits forms that are so short that they occur by chance.
func within64(value []byte) []string {
	const least = 8
	var out []string
	for before := range 3 {
		first, last := (before*8+5)/6, (before+len(value))*8/6 // characters that depend on the value alone
		if last-first < least {
			continue
		}
		text := append(make([]byte, before), value...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, enc.EncodeToString(text)[first:last])
		}
	}
	return out
}

// component returns the value as JavaScript's encodeURIComponent encodes it.
func component(value string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(value))
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			out.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// fullPercent writes every byte as %2F.
func fullPercent(value []byte) string {
	var out strings.Builder
	for _, b := range value {
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}

// unreserved is percent encoding of all but letters and digits.
func unreserved(value []byte) string {
	var out strings.Builder
	for _, b := range value {
		if b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' {
			out.WriteByte(b)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}

// fullEscape writes every character as \u002f, with letters of either case.
func fullEscape(value string, upper bool) string {
	var units []string
	format := `\u%04x`
	if upper {
		format = `\u%04X`
	}
	for _, unit := range utf16.Encode([]rune(value)) {
		units = append(units, fmt.Sprintf(format, unit))
	}
	return strings.Join(units, "")
}

// upperEscapes writes \u00e9 as \u00E9.
func upperEscapes(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+6 <= len(s) && s[i+1] == 'u' {
			out.WriteString(`\u` + strings.ToUpper(s[i+2:i+6]))
			i += 5
			continue
		}
		if s[i] == '\\' && i+1 < len(s) { // an escaped backslash begins nothing
			out.WriteByte(s[i])
			i++
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func jsonEscape(value string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(value); err != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// asciiEscape writes characters beyond ASCII as \uXXXX, as many JSON writers do.
func asciiEscape(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// minEnvRunes is the same for variables that only look like secrets by their name.
const minEnvRunes = 8
