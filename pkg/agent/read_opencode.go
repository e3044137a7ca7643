package agent

import (
	"encoding/json"
	"strconv"
)

// opencodeFormat is the output of `opencode run --format json` (specs/agents.md#what-programs-print). There is no end
// event: a step that ended with reason "stop" is the last word, unless another one follows.
type opencodeFormat struct{ counts counts }

func (f *opencodeFormat) decode(line []byte, emit func(Event)) bool {
	var l struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionID"`
		Part      struct {
			Text      string          `json:"text"`
			Synthetic bool            `json:"synthetic"`
			Tool      string          `json:"tool"`
			Reason    string          `json:"reason"`
			Cost      json.RawMessage `json:"cost"`
			Tokens    json.RawMessage `json:"tokens"`
			State     struct {
				Input  json.RawMessage `json:"input"`
				Output string          `json:"output"`
			} `json:"state"`
		} `json:"part"`
		Error struct {
			Name string `json:"name"`
			Data struct {
				Message string `json:"message"`
				Status  int    `json:"statusCode"`
				Headers struct {
					RetryAfter string `json:"retry-after"`
				} `json:"responseHeaders"`
			} `json:"data"`
		} `json:"error"`
	}
	if !decode(line, &l) {
		return false
	}
	if l.SessionID != "" {
		emit(Event{Kind: EventSession, Session: l.SessionID})
	}
	switch l.Type {
	case "step_start":
		emit(Event{Kind: EventTurn})
	case "text":
		if !l.Part.Synthetic {
			emit(Event{Kind: EventText, Text: l.Part.Text})
		}
	case "tool_use":
		emit(call{l.Part.Tool, l.Part.State.Input}.event())
		emit(answered(l.Part.State.Output))
	case "step_finish":
		empty := f.count(l.Part.Tokens, l.Part.Cost, emit)
		f.finish(l.Part.Reason, empty, emit)
	case "error":
		d := l.Error.Data
		e := Event{Kind: EventError, Text: d.Message, Word: l.Error.Name, Status: d.Status}
		if after, err := strconv.ParseFloat(d.Headers.RetryAfter, 64); err == nil && after > 0 && after < 1e8 {
			e.RetryAfter = seconds(after)
		}
		if e.Text == "" {
			e.Text = l.Error.Name
		}
		emit(e)
	default:
		return l.Type == "reasoning"
	}
	return true
}

// count adds the figures of a step and reports whether they are all zero.
func (f *opencodeFormat) count(tokens, cost json.RawMessage, emit func(Event)) (empty bool) {
	var t struct {
		In        int `json:"input"` // without the cached ones
		Out       int `json:"output"`
		Reasoning int `json:"reasoning"`
		Cache     struct {
			Read  int `json:"read"`
			Write int `json:"write"`
		} `json:"cache"`
	}
	var usd float64
	if figure(tokens, &t) {
		f.counts.add(plus(t.In, plus(t.Cache.Read, t.Cache.Write)), plus(t.Out, t.Reasoning), t.Cache.Read)
	}
	if figure(cost, &usd) {
		f.counts.pay(usd)
	}
	emit(Event{Kind: EventUsage, Usage: f.counts.usage()})
	return t.In == 0 && t.Out == 0 && t.Cache.Read == 0
}

func (f *opencodeFormat) finish(reason string, empty bool, emit func(Event)) {
	switch {
	case reason == "tool-calls" || reason == "tool_calls":
		emit(Event{Kind: EventTurn})
	case reason == "length":
		emit(Event{Kind: EventFinal, Word: "length"})
	case reason == "stop":
		emit(Event{Kind: EventFinal})
	case empty:
		emit(Event{Kind: EventError, Retry: true, Word: "stream_cut", Text: "a step ended without a reason and without tokens"})
	default:
		emit(Event{Kind: EventTurn})
	}
}
