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
		return Scripted
	}
	if bytes.Contains(stdout, []byte(`"qwen_code_version"`)) {
		return "qwen" // its events have the names of claude's
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
			if json.Unmarshal(line, &keys) != nil || !decode(keys["type"], &word) {
				continue
			}
			if key, ok := guessable[name][word]; ok && keys[key] != nil {
				n++
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	return best
}

// guessable has the types of events by which a program is known, with a key that each of them
// has.
var guessable = map[string]map[string]string{
	"claude":   {"system": "session_id", "assistant": "message", "user": "message", "result": "is_error"},
	"codex":    {"thread.started": "thread_id", "turn.started": "type", "item.started": "item", "item.completed": "item", "turn.completed": "type", "turn.failed": "error", "error": "message"},
	"gemini":   {"init": "session_id", "message": "role", "tool_use": "tool_id", "tool_result": "tool_id", "result": "stats"},
	"opencode": {"step_start": "sessionID", "step_finish": "sessionID", "text": "sessionID", "tool_use": "sessionID", "error": "sessionID"},
	"pi":       {"session": "id", "agent_start": "type", "turn_start": "type", "message_start": "message", "message_end": "message", "agent_end": "messages", "auto_retry_start": "attempt"},
	"cline":    {"run_result": "finishReason"},
}
