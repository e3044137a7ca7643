package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
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

// objectReader is for programs that print one JSON object when they end: the answer is in
// the field that the entry names (`answer`), a failure in `error`, `message` with a status of
// error, or `is_error`. An object without that field and without a failure is the answer itself:
// cn prints what the model said as it is, when that is an object. Failures may come on stderr.
type objectReader struct {
	*follower
	answer string
}

// formatObject is its name, as `output` of an entry.
const formatObject = "json"

// Line waits for the end: an object may have many lines.
func (o *objectReader) Line([]byte) bool { return false }

func (o *objectReader) End(e Exit) Result {
	if object := lastObject(e.Stdout); object != nil {
		o.read(object, e)
		return o.follower.End(e)
	}
	if object := lastObject(e.Stderr); object != nil {
		if text := failureOf(object); text != "" {
			o.take(Event{Kind: EventError, Text: text})
		}
	}
	for line := range bytes.Lines(e.Stdout) { // words of a program in trouble
		if line = bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("{")) {
			o.follower.Line(line)
		}
	}
	return o.follower.End(e)
}

// read takes the object for the program's last word, unless its exit code says that it failed.
func (o *objectReader) read(object json.RawMessage, e Exit) {
	var l anyLine
	var fields map[string]json.RawMessage
	decode(object, &l)
	decode(object, &fields)
	if id := cmp.Or(l.SessionID, l.Session2, l.Thread); id != "" {
		o.take(Event{Kind: EventSession, Session: id})
	}
	(&linesFormat{}).count(l.Usage, l.Cost, o.take)
	if failure := failureOf(object); failure != "" {
		o.take(Event{Kind: EventFinal, Failed: true, Text: failure, Status: l.Status, Word: firstWord(l.Subtype)})
		return
	}
	answer := string(object)
	if value, ok := fields[o.answer]; ok {
		answer = plainText(value)
	}
	if !e.Unknown && e.Code != 0 {
		o.take(Event{Kind: EventText, Text: answer})
		return
	}
	o.take(Event{Kind: EventFinal, Text: answer})
}

// failureOf is the message of an object that tells a failure, "" when it tells none.
func failureOf(object json.RawMessage) string {
	var l struct {
		Status  json.RawMessage `json:"status"`
		IsError bool            `json:"is_error"`
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Result  json.RawMessage `json:"result"`
	}
	decode(object, &l)
	var status string
	decode(l.Status, &status)
	failed := strings.EqualFold(status, "error") || strings.EqualFold(status, "failed")
	switch text := message(l.Error); {
	case text != "":
		return text
	case failed, l.IsError:
		return cmp.Or(message(l.Message), message(l.Result), "the program reports a failure")
	}
	return ""
}

// lastObject is the JSON object with which an output ends, nil when it ends with none. Other
// lines may be before it.
func lastObject(out []byte) json.RawMessage {
	out = bytes.TrimSpace(out)
	if !bytes.HasSuffix(out, []byte("}")) {
		return nil
	}
	if out[0] == '{' && json.Valid(out) {
		return out
	}
	// A line inside an object never begins a valid rest of the output that is an object, unless
	// it is the object of another one that is cut off: the first line that fits is the right one.
	for at := 0; ; {
		i := bytes.Index(out[at:], []byte("\n{"))
		if i < 0 {
			return nil
		}
		at += i + 1
		if json.Valid(out[at:]) {
			return out[at:]
		}
	}
}

// decode reads JSON and keeps what fits; a field of another type stays empty.
func decode(data []byte, v any) bool {
	if len(data) == 0 {
		return false
	}
	err := json.Unmarshal(data, v)
	if _, ok := err.(*json.UnmarshalTypeError); ok {
		return true
	}
	return err == nil
}

// counts adds figures of single calls of the model up to those of a run.
type counts struct {
	known           bool
	in, out, cached int
	costKnown       bool
	cost            float64
}

// largest is the largest number of tokens that is believed, so that nothing overflows.
const largest = 1 << 40

func (c *counts) add(in, out, cached int) {
	c.known = true
	c.in, c.out, c.cached = plus(c.in, in), plus(c.out, out), plus(c.cached, cached)
}

func plus(a, b int) int { return min(a+min(max(b, 0), largest), largest) }

func (c *counts) pay(usd float64) {
	c.costKnown = true
	c.cost = min(c.cost+min(max(usd, 0), 1e9), 1e9)
}

func (c *counts) usage() Usage {
	u := Usage{CostKnown: c.costKnown, TokensKnown: c.known, TokensIn: c.in, TokensOut: c.out, TokensCached: c.cached}
	if u.CostKnown {
		u.CostCents = math.Round(c.cost*1e6) / 1e4
	}
	return u
}

// tellTokens tells the tokens of a whole run, where those of the input have the cached ones in
// them. Two programs have one name each for the cached ones.
func tellTokens(data json.RawMessage, emit func(Event)) {
	var t struct {
		In     int `json:"input_tokens"`
		Out    int `json:"output_tokens"`
		Codex  int `json:"cached_input_tokens"`
		Gemini int `json:"cached"`
	}
	if figure(data, &t) {
		var c counts
		c.add(t.In, t.Out, t.Codex+t.Gemini)
		emit(Event{Kind: EventUsage, Usage: c.usage()})
	}
}

// content is what a message says: a text, or parts of which some are text.
type content struct {
	text    string
	tools   []call
	results []string // what tools answered
}

func (c *content) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
		Name json.RawMessage `json:"name"`

		Input     json.RawMessage `json:"input"`
		Arguments json.RawMessage `json:"arguments"`
		Content   json.RawMessage `json:"content"`
	}
	if decode(data, &c.text) && c.text != "" || !decode(data, &parts) {
		return nil
	}
	var said []string
	for _, p := range parts {
		var text, name string
		switch p.Type {
		case "text", "output_text", "":
			if decode(p.Text, &text) && text != "" {
				said = append(said, text)
			}
		case "tool_use", "toolCall", "tool_call", "function_call":
			decode(p.Name, &name)
			given := p.Input
			if given == nil {
				given = p.Arguments
			}
			c.tools = append(c.tools, call{name, given})
		case "tool_result":
			var answer content
			decode(p.Content, &answer)
			c.results = append(c.results, answer.text)
		}
	}
	c.text = strings.Join(said, "\n")
	return nil
}

// tell emits what a message of the model says and calls.
func (c content) tell(emit func(Event)) {
	if c.text != "" {
		emit(Event{Kind: EventText, Text: c.text})
	}
	for _, t := range c.tools {
		emit(t.event())
	}
}

// tellResults emits what tools answered.
func (c content) tellResults(emit func(Event)) {
	for _, text := range c.results {
		emit(answered(text))
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// firstWord is the first that is known to be one for a failure.
func firstWord(candidates ...string) string {
	for _, w := range candidates {
		if _, ok := words[strings.ToLower(w)]; ok {
			return w
		}
	}
	return ""
}

// message is the text of an error that is a string, or a map with a message.
func message(data json.RawMessage) string {
	var text string
	var e struct {
		Message string `json:"message"`
	}
	if decode(data, &text); text == "" {
		decode(data, &e)
		text = e.Message
	}
	return text
}
