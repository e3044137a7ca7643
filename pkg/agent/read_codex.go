package agent

import (
	"cmp"
	"encoding/json"
	"strings"
)

// codexFormat is the output of `codex exec --json` (specs/agents.md#what-programs-print). Lines `error` tell of retries; a
// warning comes as an item of type error.
type codexFormat struct{}

type codexItem struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Query   string `json:"query"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// call is an item that begins, as a tool that is called.
func (i codexItem) call() Event {
	e := Event{Kind: EventTool, Text: i.Type}
	switch i.Type {
	case "command_execution":
		e.Text, e.Input = "shell", oneLine(command(i.Command))
	case "file_change":
		var paths []string
		for _, c := range i.Changes {
			paths = append(paths, c.Path)
		}
		e.Text, e.Input = "edit", oneLine(strings.Join(paths, " "))
	case "mcp_tool_call":
		e.Text, e.Input = cmp.Or(i.Tool, i.Type), given(i.Arguments)
	case "web_search":
		e.Input = oneLine(i.Query)
	}
	return e
}

func (codexFormat) decode(line []byte, emit func(Event)) bool {
	var l struct {
		Type     string          `json:"type"`
		ThreadID string          `json:"thread_id"`
		Message  string          `json:"message"`
		Error    json.RawMessage `json:"error"`
		Item     codexItem       `json:"item"`
		Usage    json.RawMessage `json:"usage"`
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
			emit(l.Item.call())
		}
	case "item.completed":
		switch {
		case l.Item.Type == "agent_message":
			emit(Event{Kind: EventText, Text: l.Item.Text})
		case l.Item.Output != "":
			emit(answered(l.Item.Output))
		}
	case "error":
		emit(Event{Kind: EventError, Retry: true, Text: l.Message})
	case "turn.failed":
		e := Event{Kind: EventFinal, Failed: true, Text: message(l.Error)}
		if strings.HasSuffix(e.Text, "reason: content_filter") {
			e.Word = "content_filter"
		}
		emit(e)
	case "turn.completed":
		tellTokens(l.Usage, emit)
		emit(Event{Kind: EventFinal})
	default:
		return false
	}
	return true
}
