package agent

import "encoding/json"

// clineFormat is the output of `cline --json` (specs/agents.md#what-programs-print): the last line, run_result, is what
// counts; nothing on stdout names a conversation that could be resumed.
type clineFormat struct{}

func (clineFormat) decode(line []byte, emit func(Event)) bool {
	var l struct {
		Type   string          `json:"type"`
		Finish string          `json:"finishReason"`
		Text   string          `json:"text"`
		Error  json.RawMessage `json:"error"`
		Usage  json.RawMessage `json:"usage"`
		Cost   json.RawMessage `json:"totalCost"`
	}
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "run_result":
		var u struct {
			In     int `json:"inputTokens"`
			Out    int `json:"outputTokens"`
			Cached int `json:"cacheReadTokens"`
		}
		var c counts
		var usd float64
		if figure(l.Usage, &u) {
			c.add(max(u.In, u.Cached), u.Out, u.Cached)
		}
		if figure(l.Cost, &usd) && usd > 0 { // 0 also when it does not know
			c.pay(usd)
		}
		emit(Event{Kind: EventUsage, Usage: c.usage()})
		e := Event{Kind: EventFinal, Text: l.Text, Failed: l.Finish != "completed", Word: firstWord(l.Finish)}
		if text := message(l.Error); e.Failed && text != "" {
			e.Text = text
		}
		emit(e)
	case "error":
		if text := message(l.Error); text != "" {
			l.Text = text
		}
		emit(Event{Kind: EventError, Text: l.Text})
	case "text", "assistant":
		emit(Event{Kind: EventTurn})
		if l.Text != "" {
			emit(Event{Kind: EventOutput, Text: clean(l.Text)})
		}
	case "tool", "tool_call", "tool_use":
		emit(Event{Kind: EventTurn})
	default:
		return false
	}
	return true
}
