package agent

import "encoding/json"

// geminiFormat is the stream-json output of Gemini CLI (specs/agents.md#what-programs-print). The model's words come in
// pieces; an error line may be followed by a result without a message.
type geminiFormat struct{}

func (geminiFormat) decode(line []byte, emit func(Event)) bool {
	var l struct {
		Type      string          `json:"type"`
		SessionID string          `json:"session_id"`
		Role      string          `json:"role"`
		Content   string          `json:"content"`
		Delta     bool            `json:"delta"`
		ToolName  string          `json:"tool_name"`
		Given     json.RawMessage `json:"parameters"`
		Output    string          `json:"output"`
		Severity  string          `json:"severity"`
		Message   string          `json:"message"`
		Status    string          `json:"status"`
		Error     json.RawMessage `json:"error"`
		Stats     json.RawMessage `json:"stats"`
	}
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "init":
		emit(Event{Kind: EventSession, Session: l.SessionID})
	case "message":
		if l.Role == "assistant" {
			emit(Event{Kind: EventText, Text: l.Content, More: l.Delta})
		}
	case "tool_use":
		emit(call{l.ToolName, l.Given}.event())
	case "tool_result":
		emit(Event{Kind: EventTurn})
		emit(answered(l.Output))
	case "error":
		if l.Severity != "warning" {
			emit(Event{Kind: EventError, Text: l.Message})
		}
	case "result":
		tellTokens(l.Stats, emit)
		var e struct {
			Type string `json:"type"`
		}
		decode(l.Error, &e)
		emit(Event{Kind: EventFinal, Failed: l.Status != "success", Text: message(l.Error), Word: firstWord(e.Type)})
	default:
		return false
	}
	return true
}
