package agent

import "testing"

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
