package agent

import "encoding/json"

// codexFormat is the output of `codex exec --json` (specs/agents.md#what-programs-print). Lines `error` tell of retries; a
// warning comes as an item of type error.
type codexFormat struct{}

func (codexFormat) decode(line []byte, emit func(Event)) bool {
	var l struct {
		Type     string          `json:"type"`
		ThreadID string          `json:"thread_id"`
		Message  string          `json:"message"`
		Error    json.RawMessage `json:"error"`
		Item     struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Command string `json:"command"`
		} `json:"item"`
		Usage json.RawMessage `json:"usage"`
	}
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "thread.started":
		emit(Event{Kind: EventSession, Session: l.ThreadID})
	case "turn.started", "item.updated":
		emit(Event{Kind: EventTurn})
	case "item.started":
		if l.Item.Type != "agent_message" && l.Item.Type != "reasoning" && l.Item.Type != "error" {
			emit(Event{Kind: EventTool, Text: l.Item.Type})
		}
	case "item.completed":
		if l.Item.Type == "agent_message" {
			emit(Event{Kind: EventText, Text: l.Item.Text})
		}
	case "error":
		emit(Event{Kind: EventError, Retry: true, Text: l.Message})
	case "turn.failed":
		emit(Event{Kind: EventFinal, Failed: true, Text: message(l.Error)})
	case "turn.completed":
		tellTokens(l.Usage, emit)
		emit(Event{Kind: EventFinal})
	default:
		return false
	}
	return true
}
