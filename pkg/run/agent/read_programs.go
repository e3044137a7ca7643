package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/base/prose"
)

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
			emit(Event{Kind: EventOutput, Text: prose.Plain(l.Text)})
		}
	case "tool", "tool_call", "tool_use":
		emit(Event{Kind: EventTurn})
	default:
		return false
	}
	return true
}

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
