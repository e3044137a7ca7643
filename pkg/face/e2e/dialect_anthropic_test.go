package e2e_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

var anthropic = dialect{name: "anthropic messages", read: readAnthropic, stream: streamAnthropic, whole: wholeAnthropic, refuse: refuseAnthropic}

func readAnthropic(_ *http.Request, body []byte) (request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: in.Model, stream: in.Stream}
	for _, m := range in.Messages {
		if m.Role != "user" {
			continue
		}
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			r.turns = append(r.turns, turn{text: text})
			continue
		}
		var blocks []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return request{}, err
		}
		for _, b := range blocks {
			r.turns = append(r.turns, turn{text: b.Text, result: b.Type == "tool_result"})
		}
	}
	for _, t := range in.Tools {
		r.tools = append(r.tools, tool{name: t.Name, schema: t.Schema})
	}
	return r, nil
}

// structured is the tool by which a program has the last answer in the form of a schema.
const structured = "StructuredOutput"

// inForm is an answer of a request that offers that tool: one with an exit command calls it, when the model was told to.
func (a answer) inForm(r request) answer {
	begin, end := strings.Index(a.text, "{"), strings.LastIndex(a.text, "}")
	told := slices.ContainsFunc(r.turns, func(t turn) bool { return strings.Contains(t.text, structured) })
	if a.tool != "" || begin < 0 || end < begin || !told || !slices.ContainsFunc(r.tools, func(t tool) bool { return t.name == structured }) {
		return a
	}
	var args map[string]any
	if json.Unmarshal([]byte(a.text[begin:end+1]), &args) == nil {
		a.tool, a.args = structured, args
	}
	return a
}

func (a answer) anthropicBlock() (block map[string]any, stop string) {
	if a.tool != "" {
		return map[string]any{"type": "tool_use", "id": "toolu_" + a.id, "name": a.tool, "input": a.args}, "tool_use"
	}
	return map[string]any{"type": "text", "text": a.text}, a.stop("end_turn", "max_tokens")
}

func wholeAnthropic(r request, a answer) any {
	a = a.inForm(r)
	block, stop := a.anthropicBlock()
	return map[string]any{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": r.model, "content": []any{block}, "stop_reason": stop, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": tokensIn, "output_tokens": tokensOut}}
}

func streamAnthropic(r request, a answer) []event {
	a = a.inForm(r)
	block, stop := a.anthropicBlock()
	var deltas []any
	if a.tool != "" {
		block["input"] = map[string]any{}
		for _, part := range halves(a.argsText()) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": part})
		}
	} else {
		block["text"] = ""
		for _, part := range halves(a.text) {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": part})
		}
	}
	begin := map[string]any{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": r.model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": tokensIn, "output_tokens": 1}}
	out := []event{typed("message_start", map[string]any{"message": begin}), typed("content_block_start", map[string]any{"index": 0, "content_block": block})}
	for _, d := range deltas {
		out = append(out, typed("content_block_delta", map[string]any{"index": 0, "delta": d}))
	}
	return append(out,
		typed("content_block_stop", map[string]any{"index": 0}),
		typed("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": tokensOut}}),
		typed("message_stop", map[string]any{}))
}

// typed is an event whose name is in its data too.
func typed(name string, data map[string]any) event {
	data["type"] = name
	return event{name: name, data: data}
}

func refuseAnthropic(f failure) any {
	kinds := map[int]string{400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
	texts := map[string]string{
		"401":      "invalid x-api-key",
		"529":      "Overloaded",
		"overflow": "prompt is too long: 212000 tokens > 200000 maximum",
		"quota":    "You've hit your session limit · resets 7pm (UTC)",
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kinds[f.status], "message": orElse(texts[f.name], "Number of request tokens has exceeded your per-minute rate limit")}}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
