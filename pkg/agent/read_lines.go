package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// linesFormat reads lines of JSON of programs whose output has not been recorded, by the names
// that most of them use. It looks for little and assumes nothing: the exit code decides.
type linesFormat struct{ counts counts }

type anyLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Role      string `json:"role"`
	SessionID string `json:"session_id"`
	Session2  string `json:"sessionId"`
	Thread    string `json:"thread_id"`

	Content   content         `json:"content"`
	Text      json.RawMessage `json:"text"`
	FinalText string          `json:"finalText"`
	Result    json.RawMessage `json:"result"`
	IsError   bool            `json:"is_error"`
	Error     json.RawMessage `json:"error"`
	Message   json.RawMessage `json:"message"`
	Status    int             `json:"status_code"`
	ToolName  string          `json:"tool_name"`
	ToolName2 string          `json:"toolName"`
	Name      string          `json:"name"`
	Tools     []anyCall       `json:"tool_calls"`
	Usage     json.RawMessage `json:"usage"`
	Cost      json.RawMessage `json:"total_cost_usd"`
}

// anyCall is a call of a tool: in the words of OpenAI's interface, or by the names that others use.
type anyCall struct {
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input"`
	Args       json.RawMessage `json:"args"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
	Function   *anyCall        `json:"function"`
}

func (c anyCall) call() call {
	if c.Function != nil {
		return c.Function.call()
	}
	for _, given := range []json.RawMessage{c.Input, c.Args, c.Arguments, c.Parameters} {
		if given != nil {
			return call{c.Name, given}
		}
	}
	return call{name: c.Name}
}

func (f *linesFormat) decode(line []byte, emit func(Event)) bool {
	var l anyLine
	if !decode(line, &l) {
		return false
	}
	for _, id := range []string{l.SessionID, l.Session2, l.Thread} {
		if id != "" {
			emit(Event{Kind: EventSession, Session: id})
			break
		}
	}
	kind := strings.ToLower(l.Type)
	switch {
	case slices.Contains([]string{"result", "completion", "final", "done", "run_result"}, kind):
		f.count(l.Usage, l.Cost, emit)
		f.end(l, emit)
	case kind == "usage":
		f.count(nil, l.Cost, emit)
	case strings.Contains(kind, "error") || strings.HasSuffix(kind, "failed") || kind == "" && message(l.Error) != "":
		emit(Event{Kind: EventError, Text: cmp.Or(message(l.Error), message(l.Message), message(l.Text)), Status: l.Status})
	case strings.Contains(kind, "tool") && !strings.Contains(kind, "result"):
		var c anyCall
		decode(line, &c)
		emit(call{cmp.Or(l.ToolName, l.ToolName2, l.Name), c.call().given}.event())
	case l.Role == "assistant" || kind == "assistant" || kind == "text" || kind == "agent_message" || kind == "assistant.message":
		f.say(l, emit)
	case strings.Contains(kind, "tool") || l.Role == "tool":
		if text := cmp.Or(l.Content.text, message(l.Result), message(l.Text)); text != "" {
			emit(answered(text))
		}
		return l.Role != ""
	default:
		return l.Role != ""
	}
	return true
}

func (f *linesFormat) say(l anyLine, emit func(Event)) {
	var inner struct {
		Content content `json:"content"`
	}
	decode(l.Message, &inner)
	said := l.Content
	if said.text == "" && said.tools == nil {
		said = inner.Content
	}
	said.text = cmp.Or(said.text, message(l.Text), message(l.Message))
	for _, t := range l.Tools {
		said.tools = append(said.tools, t.call())
	}
	said.tell(emit)
}

func (f *linesFormat) end(l anyLine, emit func(Event)) {
	e := Event{Kind: EventFinal, Failed: l.IsError || message(l.Error) != "" || strings.HasPrefix(l.Subtype, "error"), Status: l.Status, Word: firstWord(l.Subtype)}
	e.Text = cmp.Or(l.FinalText, message(l.Result), message(l.Text), l.Content.text)
	if e.Failed {
		e.Text = cmp.Or(message(l.Error), e.Text, message(l.Message))
	}
	emit(e)
}

// count takes tokens as the program's last word has them, and cost whenever it is told: it is
// that of the run so far.
func (f *linesFormat) count(data, cost json.RawMessage, emit func(Event)) {
	var t claudeTokens
	var usd float64
	tokens, paid := figure(data, &t) && t.In+t.Out > 0, figure(cost, &usd)
	if tokens {
		f.counts.add(plus(t.In, plus(t.CacheRead, t.CacheWrite)), t.Out, t.CacheRead)
	}
	if paid {
		f.counts.cost = 0
		f.counts.pay(usd)
	}
	if tokens || paid {
		emit(Event{Kind: EventUsage, Usage: f.counts.usage()})
	}
}
