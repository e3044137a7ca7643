package e2e_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A dialect is the wire format of one provider.
type dialect struct {
	name string
	// read understands a request: the conversation in order, and the tools on offer.
	read func(r *http.Request, body []byte) (request, error)
	// stream is the answer as events; whole is the same in one piece.
	stream func(r request, a answer) []event
	whole  func(r request, a answer) any
	// refuse is the body by which the provider says what is wrong.
	refuse func(f failure) any
}

// An event is one server-sent event; name may be empty.
type event struct {
	name string
	data any // string: as it is
}

// A request is what one call of a model has in it.
type request struct {
	model  string
	stream bool
	turns  []turn
	tools  []tool
	form   string // JSON Schema that the provider holds the answer to
	size   int    // bytes
}

// A turn is one part of a conversation.
type turn struct {
	text   string
	result bool // the result of a tool
}

// A tool is what the program lets the model call.
type tool struct {
	name   string
	space  string // the namespace that it is in; may be empty
	schema schema
}

type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []string          `json:"enum"`
}

// UnmarshalJSON reads what is known of a schema; some of it has other types in some programs.
func (s *schema) UnmarshalJSON(data []byte) error {
	var loose struct {
		Type       any               `json:"type"`
		Properties map[string]schema `json:"properties"`
		Required   []string          `json:"required"`
		Enum       []any             `json:"enum"`
	}
	if json.Unmarshal(data, &loose) != nil {
		return nil // true, false, or something newer: nothing is known
	}
	if list, ok := loose.Type.([]any); ok && len(list) > 0 {
		loose.Type = list[0]
	}
	text, _ := loose.Type.(string)
	s.Type, s.Properties, s.Required = strings.ToLower(text), loose.Properties, loose.Required
	for _, e := range loose.Enum {
		if text, ok := e.(string); ok {
			s.Enum = append(s.Enum, text)
		}
	}
	return nil
}

// An answer of the model: a call of a tool, or a text.
// Programs take two with the same id for one.
type answer struct {
	id    string
	tool  string
	space string // of the tool
	args  map[string]any
	text  string
	cut   bool // at the limit of tokens
}

// stop is the word for why the answer ends.
func (a answer) stop(whole, cut string) string {
	if a.cut {
		return cut
	}
	return whole
}

const (
	tokensIn  = 1200 // what every call says that it used
	tokensOut = 34
)

var shellTool = regexp.MustCompile(`(?i)bash|shell|exec|command|terminal`)

// shell is the call by which the program runs a command: the tool is taken from those on
// offer, and its arguments from its schema.
func (r request) shell(command string) (answer, bool) {
	for _, t := range r.tools {
		if !shellTool.MatchString(t.name) {
			continue
		}
		for _, key := range []string{"command", "cmd", "commands", "script"} {
			p, ok := t.schema.Properties[key]
			if !ok {
				continue
			}
			args := map[string]any{key: command}
			if p.Type == "array" {
				args[key] = []string{command}
				if key == "command" {
					args[key] = []string{"bash", "-c", command}
				}
			}
			for _, name := range t.schema.Required {
				if name != key {
					args[name] = something(t.schema.Properties[name])
				}
			}
			return answer{tool: t.name, args: args}, true
		}
	}
	return answer{}, false
}

// find asks for a tool of Liza's MCP server where the program keeps such tools back; elsewhere it
// is a command that changes nothing.
func (r request) find(name string) answer {
	for _, t := range r.tools {
		if searchTool.MatchString(t.name) {
			return answer{tool: t.name, args: map[string]any{"query": "select:" + fullName(name)}}
		}
	}
	a, _ := r.shell("git status")
	return a
}

var searchTool = regexp.MustCompile(`(?i)^tool_?search$`)

// fullName is what programs call a tool of Liza's that they keep back.
func fullName(name string) string { return "mcp__liza__" + name }

// liza is the call of a tool of Liza's MCP server. Programs put the server's name before that of
// the tool, and some write _ for -; some that keep the tools back have a tool to call them by.
func (r request) liza(name, args string) (answer, bool) {
	var given map[string]any
	if err := json.Unmarshal([]byte(args), &given); err != nil {
		panic(err) // the script is ours
	}
	want := "liza_" + strings.ReplaceAll(name, "-", "_")
	for _, t := range r.tools {
		full := strings.ReplaceAll(t.space+"_"+t.name, "-", "_")
		if strings.HasSuffix(strings.ReplaceAll(full, "__", "_"), want) {
			return answer{tool: t.name, space: t.space, args: given}, true
		}
	}
	for _, t := range r.tools {
		if t.name == name { // cn puts nothing before it
			return answer{tool: t.name, args: given}, true
		}
		if t.name == "tool_call" {
			return answer{tool: t.name, args: map[string]any{"name": fullName(name), "arguments": given}}, true
		}
	}
	return answer{}, false
}

func (r request) toolNames() string {
	var names []string
	for _, t := range r.tools {
		names = append(names, t.name)
	}
	return strings.Join(names, " ")
}

// something fills an argument that has to be there.
func something(s schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "boolean":
		return false
	case s.Type == "integer" || s.Type == "number":
		return 60000
	case s.Type == "array":
		return []any{}
	case s.Type == "object":
		return map[string]any{}
	}
	return "a step of the task"
}

// An ask is what the program wants done, as far as the script has to know it.
type ask struct {
	role      string // planner, coder, code_reviewer
	task      string
	iteration int
	step      int  // results of tools since the prompt
	again     bool // the last answer could not be used
	resumed   bool // the conversation has an earlier prompt in it

	words string // what was said after the prompt, where that is the last turn

	form string // JSON Schema that the provider holds the answer to
}

var (
	prompt   = regexp.MustCompile(`\{"request":\{"action":"run","job_id":"([^"]+)","role":"([^"]+)","iteration":(\d+)`)
	askAgain = "Your last answer could not be used"
)

// ask finds the prompt of Liza; ok is false for a call of the program's own, such as one for
// a title.
func (r request) ask() (a ask, ok bool) {
	at := slices.IndexFunc(r.turns, isPrompt)
	if at < 0 {
		return ask{}, false
	}
	last := len(r.turns) - 1
	for !isPrompt(r.turns[last]) {
		last--
	}
	found := prompt.FindAllStringSubmatch(r.turns[last].text, -1)
	m := found[len(found)-1]
	a = ask{task: m[1], role: m[2], form: r.form, resumed: last > at, again: strings.Contains(r.turns[last].text, askAgain)}
	a.iteration, _ = strconv.Atoi(m[3])
	for _, t := range r.turns[last:] {
		if t.result {
			a.step++
		}
	}
	if end := r.turns[len(r.turns)-1]; last < len(r.turns)-1 && !end.result {
		a.words = end.text
	}
	return a, true
}

func isPrompt(t turn) bool { return !t.result && prompt.MatchString(t.text) }

// texts joins the texts of a content that is a string, or a list of parts that have one.
func texts(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	var all []string
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// argsText is the arguments of a call as the JSON text that some dialects want.
func (a answer) argsText() string {
	data, err := json.Marshal(a.args)
	if err != nil {
		panic(err) // strings, lists and booleans
	}
	return string(data)
}

// halves cuts a text in two, as a stream would.
func halves(text string) []string {
	cut := strings.LastIndexByte(text[:len(text)/2+1], ' ')
	if cut <= 0 {
		return []string{text}
	}
	return []string{text[:cut], text[cut:]}
}
