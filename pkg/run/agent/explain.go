package agent

import (
	"bytes"
	"time"
)

// Recording is what is left of a run: its output and, when they are known, the words of
// stderr and how it ended.
type Recording struct {
	Stdout []byte // a log of both streams will do
	Stderr []byte
	Exit   *int // nil = not known; -1 = killed by a signal
	At     time.Time
}

// Explain says how a recorded run would have been classified, by the reader that would have
// read it while it ran.
func Explain(reader Reader, r Recording) Result {
	e := Exit{Unknown: r.Exit == nil, At: r.At}
	if r.Exit != nil {
		e.Code = *r.Exit
	}
	for line := range bytes.Lines(r.Stdout) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) <= MaxLine {
			reader.Line(line)
		}
	}
	e.Stdout = r.Stdout[max(0, len(r.Stdout)-MaxFinal):]
	e.Stderr = r.Stderr[max(0, len(r.Stderr)-stderrSize):]
	res := reader.End(e)
	res.ExitCode = e.Code
	return res
}
