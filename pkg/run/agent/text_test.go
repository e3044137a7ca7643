package agent

import (
	"testing"
	"time"
)

func TestTheReasonOfARefusalIsKeptNotItsAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stderr, want string }{
		{"error: cannot submit task-1: it is MERGED\nnext: liza show task-1\n", "exit code 4: error: cannot submit task-1: it is MERGED"},
		{"error: an old one\nnext: liza status\nerror: the last one\nsecond line of it\nnext: liza status\n\n", "exit code 4: error: the last one"},
		{"working\nnext: the second chapter\n", "exit code 4: next: the second chapter"}, // no refusal above it
		{"error: early\nfatal: the end\n", "exit code 4: fatal: the end"},
		{"", "exit code 4"},
	} {
		if got := describeExit(Exit{Code: 4, Stderr: []byte(c.stderr)}); got != c.want {
			t.Errorf("of %q: %q, want %q", c.stderr, got, c.want)
		}
	}
}

// The phrases of the catalogue count for every program that fails, one of the project's own that wraps another included.
func TestTheWordsOfAWrappedProgramCount(t *testing.T) {
	t.Parallel()
	at := time.Unix(1795200000, 0)
	for _, c := range []struct {
		line string
		want Outcome
	}{
		{"Claude AI usage limit reached|1795300000", QuotaWindow},
		{"usage limit reached|1795300000", QuotaWindow},
		{"Weekly usage limit reached, resets in 3 hours 20 minutes", QuotaWindow},
		{"Codex: nothing to do", Crashed},
		{"I looked at how the usage limit reached here is told", Crashed},
	} {
		for _, format := range []string{"text", "json-lines"} {
			r := newReader(format, builtin().common, readerOptions{})
			r.Line([]byte(c.line))
			got := r.End(Exit{Code: 1, At: at, Stdout: []byte("working\n" + c.line + "\n")})
			if format == "text" && got.Outcome != c.want || c.want == QuotaWindow && (got.Outcome != c.want || got.ResetAt.IsZero()) {
				t.Errorf("%s, %q: %s until %s, want %s", format, c.line, got.Outcome, got.ResetAt, c.want)
			}
		}
	}
}
