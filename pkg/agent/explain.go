package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
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

// Guess names the program that has probably printed this: that whose events it has the most
// of. It is "" when there are none, as in the output of a program that prints text.
func Guess(stdout []byte) string {
	if bytes.Contains(stdout, scriptedKey) {
		return nameScripted
	}
	best, most := "", 0
	for _, name := range slices.Sorted(maps.Keys(guessable)) {
		n, lines := 0, 0
		for line := range bytes.Lines(stdout) {
			if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' || len(line) > MaxLine {
				continue
			}
			if lines++; lines > 200 {
				break
			}
			var keys map[string]json.RawMessage
			var word string
			if json.Unmarshal(line, &keys) == nil && decode(keys["type"], &word) && slices.Contains(guessable[name], word) {
				n++
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	return best
}

// guessable has the types of events by which a program is known.
var guessable = map[string][]string{
	"claude":   {"system", "assistant", "user", "result", "rate_limit_event"},
	"codex":    {"thread.started", "turn.started", "item.started", "item.completed", "turn.completed", "turn.failed", "error"},
	"gemini":   {"init", "message", "tool_use", "tool_result"},
	"opencode": {"step_start", "step_finish", "text", "tool_use", "error"},
	"pi":       {"session", "agent_start", "turn_start", "message_start", "message_update", "message_end", "agent_end", "auto_retry_start"},
	"cline":    {"run_result"},
}
