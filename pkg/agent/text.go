package agent

import (
	"bytes"
	"fmt"
	"strings"
)

// textReader is for programs that print text: the exit code is all that is known.
type textReader struct{}

func (*textReader) Line([]byte) bool { return false }

func (*textReader) End(e Exit) Result {
	r := Result{Outcome: plainOutcome(e), Final: string(e.Stdout)}
	if r.Outcome != Finished {
		r.Error = describeExit(e)
	}
	return r
}

// wrapperTimeout is the exit code of timeout(1) and wrappers like it: counted as transient
// (roles-and-knowledge 8.4).
const wrapperTimeout = 124

func plainOutcome(e Exit) Outcome {
	switch e.Code {
	case 0:
		return Finished
	case wrapperTimeout:
		return Overloaded
	}
	return Crashed
}

// describeExit says in one line how a process ended, with the last thing that it printed.
func describeExit(e Exit) string {
	how := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		how = "killed by " + e.Signal
	}
	last := lastLine(e.Stderr)
	if last == "" {
		last = lastLine(e.Stdout)
	}
	if last == "" {
		return how
	}
	return how + ": " + last
}

// lastLine returns the last line that is not blank, shortened for people.
func lastLine(text []byte) string {
	text = bytes.TrimRight(text, " \t\r\n")
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return oneLine(string(text))
}

// oneLine makes a line of at most 500 bytes out of a text.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= 500 {
		return s
	}
	return strings.ToValidUTF8(s[:500], "") + "…"
}
