package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fence puts text that came from outside of Liza between two lines (
// specs/roles-and-knowledge.md#2.5). The token is made from the text, so no text can hold its own end.
func fence(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	token := hex.EncodeToString(sum[:8])
	return "<<<liza " + name + " " + token + "\n" + text + "\n" + token + " liza>>>"
}

// clean makes a text fit for a prompt: valid UTF-8 without control characters, lines that
// end in LF, no blank edge. lost counts the bytes that could not be shown.
func clean(text string) (cleaned string, lost int) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
			lost++
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			b.WriteString(text[i : i+size])
		default:
			lost += size
		}
		i += size
	}
	return strings.TrimRight(strings.Trim(b.String(), "\n"), " \t\n"), lost
}
