package agent

import (
	"bytes"
	"encoding/json"
	"slices"
)

// piFormat is the output of `pi --mode json` (specs/agents.md#what-programs-print). It exits with 0 whatever happens; the
// truth is in stopReason. Each update repeats the whole message so far and is skipped.
type piFormat struct{ counts counts }

type piMessage struct {
	Role    string          `json:"role"`
	Content content         `json:"content"`
	Stop    string          `json:"stopReason"`
	Error   string          `json:"errorMessage"`
	Usage   json.RawMessage `json:"usage"`
}

var piUpdate = []byte(`{"type":"message_update"`)

func (f *piFormat) decode(line []byte, emit func(Event)) bool {
	if bytes.HasPrefix(line, piUpdate) {
		return true
	}
	var l struct {
		Type     string          `json:"type"`
		ID       string          `json:"id"`
		Message  json.RawMessage `json:"message"`
		Messages json.RawMessage `json:"messages"`
		Delay    float64         `json:"delayMs"`
		Error    string          `json:"errorMessage"`
		Success  *bool           `json:"success"`
		Final    string          `json:"finalError"`
		ToolName string          `json:"toolName"`
		Args     json.RawMessage `json:"args"`
		Result   struct {
			Content content `json:"content"`
		} `json:"result"`
		Reason string `json:"reason"`
	}
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "session":
		emit(Event{Kind: EventSession, Session: l.ID})
	case "agent_start", "turn_start":
		emit(Event{Kind: EventTurn})
	case "message_end":
		f.message(l.Message, emit)
	case "tool_execution_start":
		emit(call{l.ToolName, l.Args}.event())
	case "tool_execution_end":
		emit(answered(l.Result.Content.text))
	case "agent_end":
		f.end(l.Messages, emit)
	case "auto_retry_start":
		emit(Event{Kind: EventError, Retry: true, Text: l.Error, RetryAfter: seconds(min(l.Delay, 1e9) / 1000)})
	case "auto_retry_end":
		if l.Success != nil && !*l.Success {
			emit(Event{Kind: EventFinal, Failed: true, Text: l.Final})
		}
	case "compaction_start", "auto_compaction_start":
		if l.Reason == "overflow" {
			emit(Event{Kind: EventError, Retry: true, Word: "prompt_too_long", Text: "the context is full; it is compacted"})
		}
	default:
		return slices.Contains([]string{"message_start", "turn_end", "tool_execution_update", "compaction_end", "auto_compaction_end", "queue_update"}, l.Type)
	}
	return true
}

func (f *piFormat) message(data json.RawMessage, emit func(Event)) {
	var m piMessage
	if decode(data, &m); m.Role != "assistant" {
		return
	}
	empty := f.count(m.Usage, emit)
	switch {
	case m.Stop == "error" || m.Stop == "aborted":
		emit(Event{Kind: EventError, Text: m.Error})
	case m.Stop == "stop" && empty:
		emit(cutOff())
	default:
		m.Content.tools = nil // told by their own lines
		m.Content.tell(emit)
	}
}

// cutOff is the answer that pi takes for complete although the stream was cut: it has no usage.
func cutOff() Event {
	return Event{Kind: EventError, Word: "stream_cut", Text: "the answer came without usage: its stream was cut"}
}

func (f *piFormat) count(data json.RawMessage, emit func(Event)) (empty bool) {
	var u struct {
		In         int             `json:"input"` // without the cached ones
		Out        int             `json:"output"`
		CacheRead  int             `json:"cacheRead"`
		CacheWrite int             `json:"cacheWrite"`
		Cost       json.RawMessage `json:"cost"`
	}
	if !figure(data, &u) {
		return false
	}
	empty = u.In == 0 && u.Out == 0 && u.CacheRead == 0
	f.counts.add(plus(u.In, plus(u.CacheRead, u.CacheWrite)), u.Out, u.CacheRead)
	var cost struct {
		Total json.RawMessage `json:"total"`
	}
	var usd float64
	if figure(u.Cost, &cost) && figure(cost.Total, &usd) {
		f.counts.pay(usd)
	}
	emit(Event{Kind: EventUsage, Usage: f.counts.usage()})
	return empty
}

func (f *piFormat) end(data json.RawMessage, emit func(Event)) {
	var messages []json.RawMessage
	decode(data, &messages)
	var m piMessage
	if len(messages) > 0 {
		decode(messages[len(messages)-1], &m)
	}
	e := Event{Kind: EventFinal, Text: m.Content.text}
	switch {
	case m.Stop == "error" || m.Stop == "aborted":
		e.Failed, e.Text = true, m.Error
	case m.Stop == "length":
		e.Word = "length"
	case m.Stop == "stop" && (&piFormat{}).count(m.Usage, func(Event) {}):
		cut := cutOff()
		e.Failed, e.Text, e.Word = true, cut.Text, cut.Word
	}
	emit(e)
}
