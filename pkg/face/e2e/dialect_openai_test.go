package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
)

var (
	openAIChat      = dialect{name: "openai chat", read: readChat, stream: streamChat, whole: wholeChat, refuse: refuseOpenAI}
	openAIResponses = dialect{name: "openai responses", read: readResponses, stream: streamResponses, whole: wholeResponses, refuse: refuseOpenAI}
)

func readChat(_ *http.Request, body []byte) (request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: in.Model, stream: in.Stream}
	for _, m := range in.Messages {
		if m.Role == "user" || m.Role == "tool" {
			r.turns = append(r.turns, turn{text: texts(m.Content), result: m.Role == "tool"})
		}
	}
	for _, t := range in.Tools {
		r.tools = append(r.tools, tool{name: t.Function.Name, schema: t.Function.Parameters})
	}
	return r, nil
}

func chatUsage() map[string]any {
	return map[string]any{"prompt_tokens": tokensIn, "completion_tokens": tokensOut, "total_tokens": tokensIn + tokensOut}
}

func (a answer) chatMessage() (message map[string]any, finish string) {
	if a.tool == "" {
		return map[string]any{"role": "assistant", "content": a.text}, a.stop("stop", "length")
	}
	call := map[string]any{"index": 0, "id": "call_" + a.id, "type": "function", "function": map[string]any{"name": a.tool, "arguments": a.argsText()}}
	return map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
}

func wholeChat(r request, a answer) any {
	message, finish := a.chatMessage()
	return map[string]any{"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": 1, "model": r.model, "usage": chatUsage(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}}
}

func streamChat(r request, a answer) []event {
	chunk := func(delta map[string]any, finish any) event {
		return event{data: map[string]any{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 1, "model": r.model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}}
	}
	message, finish := a.chatMessage()
	var out []event
	if a.tool != "" {
		out = append(out, chunk(message, nil))
	} else {
		out = append(out, chunk(map[string]any{"role": "assistant", "content": ""}, nil))
		for _, part := range halves(a.text) {
			out = append(out, chunk(map[string]any{"content": part}, nil))
		}
	}
	return append(out, chunk(map[string]any{}, finish),
		event{data: map[string]any{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 1, "model": r.model, "choices": []any{}, "usage": chatUsage()}},
		event{data: "[DONE]"})
}

// A responsesTool is a tool, or a namespace of some.
type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters schema          `json:"parameters"`
	Tools      []responsesTool `json:"tools"`
}

func readResponses(_ *http.Request, body []byte) (request, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Input  json.RawMessage `json:"input"`
		Tools  []responsesTool `json:"tools"`
		Text   struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: in.Model, stream: in.Stream, form: string(in.Text.Format.Schema)}
	for _, t := range in.Tools {
		if t.Type != "namespace" {
			r.tools = append(r.tools, tool{name: t.Name, schema: t.Parameters})
		}
		for _, inner := range t.Tools {
			r.tools = append(r.tools, tool{name: inner.Name, space: t.Name, schema: inner.Parameters})
		}
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		r.turns = []turn{{text: text}}
		return r, nil
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return request{}, err
	}
	for _, i := range items {
		switch {
		case strings.HasSuffix(i.Type, "_output"):
			r.turns = append(r.turns, turn{result: true})
		case i.Role == "user":
			r.turns = append(r.turns, turn{text: texts(i.Content)})
		}
	}
	return r, nil
}

func (a answer) responsesItem() map[string]any {
	if a.tool != "" {
		item := map[string]any{"type": "function_call", "id": "fc_" + a.id, "call_id": "call_" + a.id, "name": a.tool, "arguments": a.argsText(), "status": "completed"}
		if a.space != "" {
			item["namespace"] = a.space
		}
		return item
	}
	return map[string]any{"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}}}
}

func wholeResponses(r request, a answer) any {
	var why any
	if a.cut {
		why = map[string]any{"reason": "max_output_tokens"}
	}
	return map[string]any{"id": "resp_" + a.id, "object": "response", "created_at": 1, "status": a.stop("completed", "incomplete"), "incomplete_details": why, "model": r.model, "output": []any{a.responsesItem()},
		"usage": map[string]any{"input_tokens": tokensIn, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": tokensOut,
			"output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": tokensIn + tokensOut}}
}

func streamResponses(r request, a answer) []event {
	item := a.responsesItem()
	begun := map[string]any{"id": "resp_" + a.id, "object": "response", "created_at": 1, "status": "in_progress", "model": r.model, "output": []any{}}
	out := []event{typed("response.created", map[string]any{"response": begun})}
	if a.tool != "" {
		out = append(out, typed("response.output_item.added", map[string]any{"output_index": 0, "item": item}))
	} else {
		empty := map[string]any{"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "in_progress", "content": []any{}}
		part := map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}
		out = append(out, typed("response.output_item.added", map[string]any{"output_index": 0, "item": empty}))
		out = append(out, typed("response.content_part.added", map[string]any{"item_id": "msg_" + a.id, "output_index": 0, "content_index": 0,
			"part": map[string]any{"type": "output_text", "text": "", "annotations": []any{}}}))
		for _, text := range halves(a.text) {
			out = append(out, typed("response.output_text.delta", map[string]any{"item_id": "msg_" + a.id, "output_index": 0, "content_index": 0, "delta": text}))
		}
		out = append(out, typed("response.output_text.done", map[string]any{"item_id": "msg_" + a.id, "output_index": 0, "content_index": 0, "text": a.text}))
		out = append(out, typed("response.content_part.done", map[string]any{"item_id": "msg_" + a.id, "output_index": 0, "content_index": 0, "part": part}))
	}
	out = append(out, typed("response.output_item.done", map[string]any{"output_index": 0, "item": item}),
		typed(a.stop("response.completed", "response.incomplete"), map[string]any{"response": wholeResponses(r, a)}))
	for i := range out {
		out[i].data.(map[string]any)["sequence_number"] = i
	}
	return out
}

func refuseOpenAI(f failure) any {
	e := map[string]map[string]any{
		"401":      {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"},
		"529":      {"message": "The server is overloaded, please try again later", "type": "server_error", "code": "server_is_overloaded"},
		"overflow": {"message": "This model's maximum context length is 200000 tokens. However, your messages resulted in 212000 tokens.", "type": "invalid_request_error", "code": "context_length_exceeded"},
		"quota":    {"message": "The usage limit has been reached", "type": "usage_limit_reached", "code": "usage_limit_reached", "plan_type": "plus", "resets_in_seconds": 7200},
	}[f.name]
	if e == nil {
		e = map[string]any{"message": "Rate limit reached for requests per minute. Please try again in 2s.", "type": "requests", "code": "rate_limit_exceeded"}
	}
	return map[string]any{"error": e}
}
