package agent

import (
	"regexp"
	"strings"
	"sync"
)

var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)")
})

// clean takes the colours and control characters of terminals out of a text.
func clean(s string) string {
	s = escapes().ReplaceAllString(strings.ToValidUTF8(s, ""), "")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// oneLine makes a line of at most 500 bytes out of a text.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(clean(s[:min(len(s), maxMessage)])), " ")
	if len(s) <= 500 {
		return s
	}
	return strings.ToValidUTF8(s[:500], "") + "…"
}

// maxMessage is how much of one message signatures are looked for in.
const maxMessage = 4 << 10
