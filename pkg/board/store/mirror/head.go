package mirror

import (
	"fmt"
	"strings"
	"time"
)

// headMark begins each line of the comment on top of a copy.
const headMark = "#| "

// headOf is that comment: what the file is, and how old.
func headOf(board string, revision int, lost time.Time) string {
	text := fmt.Sprintf("A copy of board %s, revision %d.\nAn edit of it is taken to the board, like one of the board itself.", board, revision)
	if !lost.IsZero() {
		text = fmt.Sprintf("NO CONNECTION to the database since %s. What is below may be older than the board.\n", lost.UTC().Format(time.RFC3339)) + text
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(headMark + line + "\n")
	}
	return b.String()
}

// body is a copy's text without that comment.
func body(text []byte) []byte {
	for strings.HasPrefix(string(text[:min(len(text), len(headMark))]), headMark) {
		_, rest, _ := strings.Cut(string(text), "\n")
		text = []byte(rest)
	}
	return text
}
