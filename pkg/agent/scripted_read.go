package agent

import (
	"bytes"
	"encoding/json"
)

// A ScriptedEvent is how the scripted agent says what a real program says by its provider's
// events: one line of JSON, {"liza_scripted": {"event": "rate_limit", "retry_after": 1}}. It is
// the whole protocol between package scripted and its reader here.
type ScriptedEvent struct {
	Event      string  `json:"event"`                 // a preset of the scenario format
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds
	ResetAfter float64 `json:"reset_after,omitempty"` // seconds
}

// scriptedLine is the whole line; scriptedKey is how it begins.
type scriptedLine struct {
	Scripted ScriptedEvent `json:"liza_scripted"`
}

var scriptedKey = []byte(`{"liza_scripted":`)

// Line returns the event as the scripted agent prints it, with its newline.
func (e ScriptedEvent) Line() []byte {
	line, err := json.Marshal(scriptedLine{e})
	if err != nil {
		panic("agent: a scripted event cannot be written: " + err.Error()) // a number that is none
	}
	return append(line, '\n')
}

// scriptedOutcomes has the presets that stand for an event of a provider. The others (hang,
// crash, invalid_json, interactive) show themselves as they would with any program.
var scriptedOutcomes = map[string]Outcome{
	"rate_limit":    RateLimited,
	"quota":         QuotaWindow,
	"auth_error":    Unusable,
	"context_full":  ContextFull,
	"network_error": Network,
}

type scriptedReader struct {
	event ScriptedEvent // the last one
	lineTeller
}

func (r *scriptedReader) Line(line []byte) bool {
	var l scriptedLine
	if bytes.HasPrefix(line, scriptedKey) && json.Unmarshal(line, &l) == nil {
		r.event = l.Scripted
		return false
	}
	return r.lineTeller.Line(line)
}

func (r *scriptedReader) End(e Exit) Result {
	res := Result{
		Outcome:   plainOutcome(e),
		Final:     withoutEvents(e.Stdout),
		Usage:     Usage{CostKnown: true, TokensKnown: true}, // it costs nothing, and that is known
		Signature: howEnded(e),
	}
	if o, ok := scriptedOutcomes[r.event.Event]; ok {
		res.Outcome, res.RetryAfter = o, seconds(r.event.RetryAfter)
		res.Signature, res.Evidence = "event "+r.event.Event, string(bytes.TrimSpace(r.event.Line()))
		if r.event.ResetAfter > 0 {
			res.ResetAt = e.At.Add(seconds(r.event.ResetAfter))
		}
	}
	if res.Outcome != Finished {
		res.Error = describeExit(e)
	}
	return res
}

// withoutEvents returns the output as a reader of the exit command wants it.
func withoutEvents(stdout []byte) string {
	var kept []byte
	for line := range bytes.Lines(stdout) {
		if !bytes.HasPrefix(line, scriptedKey) {
			kept = append(kept, line...)
		}
	}
	return string(kept)
}
