package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// formatACP is the Agent Client Protocol, version 1: JSON-RPC 2.0, a message a line, in both directions (specs/agents.md#acp). The id of
// a request of ours is its method, so that an answer can be read without a memory of what was asked.
const formatACP = "acp"

// acpVersion is the version of the protocol that this client speaks.
const acpVersion = 1

// The methods of requests of ours. What follows a blank in an id is the argument of the request: a session, or the ids of texts.
const (
	acpInitialize = "initialize"
	acpNew        = "session/new"
	acpLoad       = "session/load"
	acpResume     = "session/resume"
	acpSetOption  = "session/set_config_option"
	acpSetModel   = "session/set_model"
	acpSetMode    = "session/set_mode"
	acpPrompt     = "session/prompt"
	acpCancel     = "session/cancel"
	acpUpdate     = "session/update"
	acpPermission = "session/request_permission"
)

// rpcMessage is a message of JSON-RPC 2.0.
type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// maxRPCID is the longest id of a message that is taken: an answer repeats it.
const maxRPCID = 256

// readRPC reads a line. It reports whether the line is a message of JSON-RPC 2.0.
func readRPC(line []byte) (m rpcMessage, ok bool) {
	ok = decode(line, &m) && m.Version == "2.0" && len(m.ID) <= maxRPCID && (m.Method != "" || len(m.ID) > 0)
	return m, ok
}

// asks reports whether the program wants an answer.
func (m rpcMessage) asks() bool { return m.Method != "" && len(m.ID) > 0 }

// answers returns the method and the argument of the request of ours that the message answers; "" when it answers none.
func (m rpcMessage) answers() (method, argument string) {
	var id string
	if m.Method == "" && figure(m.ID, &id) {
		method, argument, _ = strings.Cut(id, " ")
	}
	return method, argument
}

// reason is what an error says, for people and for signatures.
func (e *rpcError) reason() string {
	text := e.Message
	if data := plainText(e.Data); len(e.Data) > 0 && !strings.Contains(text, data) {
		text += ": " + data
	}
	return text
}

// Codes of errors.
const (
	rpcNoMethod   = -32601
	acpNeedsLogin = -32000
)

// acpOffer is what of the answers to initialize and session/new is of use here.
type acpOffer struct {
	ProtocolVersion   int `json:"protocolVersion"`
	AgentCapabilities struct {
		Load    bool `json:"loadSession"`
		Session struct {
			Resume json.RawMessage `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`

	SessionID string `json:"sessionId"`
	Options   []struct {
		ID       string `json:"id"`
		Category string `json:"category"`
	} `json:"configOptions"`
}

// resumes is the method by which a conversation goes on: resume, which tells nothing of it again, or else load.
func (o acpOffer) resumes() string {
	switch r := o.AgentCapabilities.Session.Resume; {
	case len(r) > 0 && string(r) != "null" && string(r) != "false":
		return acpResume
	case o.AgentCapabilities.Load:
		return acpLoad
	}
	return ""
}

// acpDialogue is the client. What it does next follows from what it has sent and what was answered, so that another process that adopts
// the run, and hears again what the program has said, goes on at the same place and sends nothing twice.
type acpDialogue struct {
	spec    Spec
	sent    []string // marks of what the program was given, in order
	replied int      // answers that a process before has given
	asked   int      // requests of the program

	agent   *acpOffer // the answer to initialize
	session string
	opened  *acpOffer // the answer to session/new and the like
	chosen  int       // settings of the session that were answered
	turns   int       // prompts that were answered
	seen    int       // prompts of which it is known that the model has them
	failed  bool      // a request was refused: nothing more is asked for
	texts   []Text    // to be said
	unheard []string  // words of the prompts since the model last spoke: gemini drops those of a turn that is cancelled before
}

func newACP(s Spec) dialogue {
	d := &acpDialogue{spec: s, session: s.Session}
	if s.Adopted != nil {
		d.sent, d.replied = s.Adopted.first.Sent, s.Adopted.first.Replied
	}
	said := strings.Fields(strings.Join(d.prompts(), " "))
	if len(d.prompts()) > 0 {
		d.unheard = []string{s.Prompt}
	}
	for _, t := range s.Said {
		if slices.Contains(said, t.ID) {
			d.unheard = append(d.unheard, t.Words)
		} else {
			d.texts = append(d.texts, t)
		}
	}
	return d
}

func (d *acpDialogue) open(string) inputLine { return d.next() }

func (d *acpDialogue) say(t Text) inputLine {
	d.texts = append(d.texts, t)
	return d.next()
}

func (d *acpDialogue) hear(line []byte) (r reaction) {
	m, ok := readRPC(line)
	method, argument := m.answers()
	switch {
	case !ok:
	case m.asks():
		if d.asked++; d.asked > d.replied {
			r.answer = inputLine{line: jsonLine(d.reply(m)), mark: replyMark}
		}
	case m.Method == acpUpdate:
		r.seen = d.follow(m)
	case method == acpPrompt:
		r.seen = d.saw()
		d.turns++
		if !slices.Contains(d.sent, d.cancelMark(d.turns-1)) {
			d.unheard, d.failed = nil, d.failed || m.Error != nil
		}
	case method != "":
		d.take(method, argument, m)
	}
	if r.answer.line == nil {
		r.answer = d.next()
	}
	r.busy = !d.failed && (len(d.texts) > 0 || d.turns < max(1, len(d.prompts())))
	return r
}

// take follows the answer to a request other than a prompt.
func (d *acpDialogue) take(method, argument string, m rpcMessage) {
	var offer acpOffer
	decode(m.Result, &offer)
	switch d.failed = d.failed || m.Error != nil; {
	case d.failed:
	case method == acpInitialize:
		d.agent, d.failed = &offer, offer.ProtocolVersion != acpVersion
	case slices.Contains(acpSettings, method):
		d.chosen++
	default:
		d.opened, d.session = &offer, cmp.Or(offer.SessionID, argument)
	}
}

// follow hears that the model works. Of a long run that was adopted the beginning may not be kept: then the session is known by this.
func (d *acpDialogue) follow(m rpcMessage) []string {
	var p acpParams
	if !decode(m.Params, &p) || len(d.prompts()) == 0 {
		return nil
	}
	d.session = cmp.Or(d.session, p.SessionID)
	if u := p.Update.Kind; u != "agent_message_chunk" && u != "agent_thought_chunk" && u != "tool_call" {
		return nil
	}
	d.unheard = nil
	return d.saw()
}

// saw returns the ids of the texts of the present turn, once.
func (d *acpDialogue) saw() []string {
	prompts := d.prompts()
	if d.seen > d.turns || d.turns >= len(prompts) {
		return nil
	}
	d.seen = d.turns + 1
	return strings.Fields(prompts[d.turns])
}

// prompts returns the ids of the texts of each prompt that was sent.
func (d *acpDialogue) prompts() (all []string) {
	for _, mark := range d.sent {
		if texts, ok := strings.CutPrefix(mark, acpPrompt); ok {
			all = append(all, strings.TrimSpace(texts))
		}
	}
	return all
}

func (d *acpDialogue) cancelMark(turn int) string { return fmt.Sprint(acpCancel, " ", turn) }

// next is what is to be sent now; nothing while an answer is waited for.
func (d *acpDialogue) next() inputLine {
	begun := len(d.prompts())
	session := map[string]any{"sessionId": d.session}
	switch {
	case d.failed:
	case begun > d.turns: // a turn is under way
		if len(d.texts) > 0 && d.session != "" {
			return d.send(d.cancelMark(d.turns), rpcMessage{Method: acpCancel}, session)
		}
	case begun > 0:
		if len(d.texts) > 0 && d.session != "" {
			var ids, words []string
			for _, t := range d.texts {
				ids, words = append(ids, t.ID), append(words, t.Words)
			}
			d.texts = nil
			return d.prompt(acpPrompt+" "+strings.Join(ids, " "), words...)
		}
	case d.agent == nil:
		return d.request(acpInitialize, map[string]any{"protocolVersion": acpVersion, "clientInfo": map[string]string{"name": "liza", "version": "1"},
			"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false}})
	case d.opened == nil:
		session["cwd"], session["mcpServers"] = cmp.Or(d.spec.At, d.spec.Dir), d.servers()
		if d.spec.Session != "" { // one that cannot is told that its conversation is wanted: it refuses, and a new one begins
			return d.request(cmp.Or(d.agent.resumes(), acpResume)+" "+d.spec.Session, session)
		}
		delete(session, "sessionId")
		return d.request(acpNew, session)
	case d.chosen < len(d.settings()):
		s := d.settings()[d.chosen]
		return d.request(s.method, s.params)
	default:
		return d.prompt(acpPrompt, d.spec.Prompt)
	}
	return inputLine{}
}

// acpSettings are the methods that set something of a session.
var acpSettings = []string{acpSetMode, acpSetModel, acpSetOption}

type acpSetting struct {
	method string
	params map[string]string
}

// settings are what is set in a new session: the mode of the entry, and the model, in the newer way where it is offered.
func (d *acpDialogue) settings() (all []acpSetting) {
	if d.spec.mode != "" {
		all = append(all, acpSetting{acpSetMode, map[string]string{"sessionId": d.session, "modeId": d.spec.mode}})
	}
	if d.spec.Model == "" {
		return all
	}
	for _, o := range d.opened.Options {
		if o.Category == "model" || o.Category == "" && o.ID == "model" {
			return append(all, acpSetting{acpSetOption, map[string]string{"sessionId": d.session, "configId": o.ID, "value": d.spec.Model}})
		}
	}
	return append(all, acpSetting{acpSetModel, map[string]string{"sessionId": d.session, "modelId": d.spec.Model}})
}

func (d *acpDialogue) prompt(id string, words ...string) inputLine {
	var blocks []map[string]string
	d.unheard = append(d.unheard, words...)
	for _, text := range d.unheard {
		blocks = append(blocks, map[string]string{"type": "text", "text": text})
	}
	return d.request(id, map[string]any{"sessionId": d.session, "prompt": blocks})
}

func (d *acpDialogue) request(id string, params any) inputLine {
	method, _, _ := strings.Cut(id, " ")
	return d.send(id, rpcMessage{ID: json.RawMessage(strings.TrimSpace(string(jsonLine(id)))), Method: method}, params)
}

// send makes a message of m with params, once for each mark.
func (d *acpDialogue) send(mark string, m rpcMessage, params any) inputLine {
	if slices.Contains(d.sent, mark) {
		return inputLine{}
	}
	d.sent = append(d.sent, mark)
	m.Version, m.Params = "2.0", jsonLine(params)
	return inputLine{line: jsonLine(m), mark: mark}
}

// servers are Liza's own tools, unless the run has no verbs. Some programs give a server only the variables that are named.
func (d *acpDialogue) servers() []any {
	servers := []any{} // the protocol wants a list
	if d.spec.Liza == "" {
		return servers
	}
	env := []map[string]string{}
	for _, pair := range d.spec.Env {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "LIZA_") {
			env = append(env, map[string]string{"name": name, "value": value})
		}
	}
	return append(servers, map[string]any{"name": "liza", "command": d.spec.Liza, "args": []string{"mcp"}, "env": env})
}

// reply answers a request of the program. Each permission is given for once: the sandbox is the guard, as for programs that are started
// with all permissions. Files and terminals were not offered, because the program has its own inside the sandbox.
func (d *acpDialogue) reply(m rpcMessage) rpcMessage {
	answer := rpcMessage{Version: "2.0", ID: m.ID}
	if m.Method != acpPermission {
		answer.Error = &rpcError{Code: rpcNoMethod, Message: "this client has no method " + m.Method[:min(len(m.Method), 100)]}
		return answer
	}
	var p struct {
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	decode(m.Params, &p)
	outcome := map[string]string{"outcome": "cancelled"}
	for _, kind := range []string{"allow_always", "allow_once"} { // the later one counts
		for _, o := range p.Options {
			if o.Kind == kind {
				outcome = map[string]string{"outcome": "selected", "optionId": o.ID}
			}
		}
	}
	answer.Result = jsonLine(map[string]any{"outcome": outcome})
	return answer
}

// acpParams are those of session/update.
type acpParams struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"`
		Title   string          `json:"title"`
		Name    string          `json:"name"`
		Tool    string          `json:"kind"`
		Status  string          `json:"status"`
		Input   json.RawMessage `json:"rawInput"`
		Output  json.RawMessage `json:"rawOutput"`
		Entries []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"entries"`
		Cost json.RawMessage `json:"cost"`
		Meta struct {
			Codex struct {
				Status struct {
					Type string `json:"type"`
				} `json:"threadStatus"`
			} `json:"codex"`
		} `json:"_meta"`
	} `json:"update"`
}

// acpFormat reads what an agent says.
type acpFormat struct {
	resumes bool // a later run can go on in this conversation
	open    bool // what comes is of this run, not told again of an older one
	more    bool // the text goes on
	broken  bool // codex-acp has told that its turn failed: what it says next is the error
	failure string
	counts  counts
}

func (f *acpFormat) decode(line []byte, emit func(Event)) bool {
	m, ok := readRPC(line)
	method, argument := m.answers()
	switch {
	case !ok:
		return false
	case m.Method == acpUpdate:
		return f.update(m.Params, emit)
	case m.Method != "":
		return m.Method == acpPermission
	case m.Error != nil:
		emit(Event{Kind: EventFinal, Failed: true, Text: m.Error.reason(), Word: f.word(method, m.Error.Code), Status: max(0, m.Error.Code)})
	case method == acpPrompt:
		f.end(m.Result, emit)
	case method != "":
		f.begin(method, argument, m.Result, emit)
	default:
		return false
	}
	return true
}

// word is that of an error, by what was asked for.
func (f *acpFormat) word(method string, code int) string {
	switch {
	case code == acpNeedsLogin:
		return "authentication_failed"
	case method == acpLoad || method == acpResume:
		return classNoSession
	case slices.Contains(acpSettings, method):
		return "model_not_found"
	}
	return ""
}

// begin reads the answers before the first prompt.
func (f *acpFormat) begin(method, argument string, result json.RawMessage, emit func(Event)) {
	var offer acpOffer
	decode(result, &offer)
	switch method {
	case acpInitialize:
		f.resumes = offer.resumes() != ""
		if offer.ProtocolVersion != acpVersion {
			emit(Event{Kind: EventFinal, Failed: true, Word: "authentication_failed", Text: fmt.Sprintf("it speaks version %d of the Agent Client Protocol, and Liza %d", offer.ProtocolVersion, acpVersion)})
		}
	case acpNew, acpLoad, acpResume:
		f.open, f.more = true, true
		if id := cmp.Or(offer.SessionID, argument); f.resumes && id != "" {
			emit(Event{Kind: EventSession, Session: id})
		}
	}
}

// acpStops are the reasons for the end of a turn that are none of success.
var acpStops = map[string]string{"max_tokens": "max_output_tokens", "max_turn_requests": "max_turns", "refusal": "refusal"}

// end reads the answer to a prompt.
func (f *acpFormat) end(result json.RawMessage, emit func(Event)) {
	var r struct {
		Stop  string `json:"stopReason"`
		Usage struct {
			In         json.RawMessage `json:"inputTokens"`
			Out        int             `json:"outputTokens"`
			Thought    int             `json:"thoughtTokens"`
			CacheRead  int             `json:"cachedReadTokens"`
			CacheWrite int             `json:"cachedWriteTokens"`
		} `json:"usage"`
	}
	decode(result, &r)
	var in int
	if u := r.Usage; figure(u.In, &in) {
		f.counts.add(plus(in, plus(u.CacheRead, u.CacheWrite)), plus(u.Out, u.Thought), u.CacheRead)
		emit(Event{Kind: EventUsage, Usage: f.counts.usage()})
	}
	if f.more = false; r.Stop == "cancelled" { // by us, for a text: the next turn follows
		emit(Event{Kind: EventTurn})
		return
	}
	emit(Event{Kind: EventFinal, Word: acpStops[r.Stop], Failed: f.failure != "", Text: f.failure})
	f.broken, f.failure = false, ""
}

// update reads one session/update. It reports whether it knows that.
func (f *acpFormat) update(params json.RawMessage, emit func(Event)) bool {
	var p acpParams
	if !decode(params, &p) {
		return false
	}
	u := p.Update
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "usage_update":
		if !f.open {
			return true
		}
	default:
		f.broken = f.broken || u.Meta.Codex.Status.Type == "systemError"
		return slices.Contains([]string{"user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "notice", "compaction_update", "compaction_summary_chunk"}, u.Kind)
	}
	switch u.Kind {
	case "agent_message_chunk":
		text := acpText(u.Content)
		if f.broken && text != "" {
			f.failure = text
			emit(Event{Kind: EventError, Text: text})
		} else if text != "" {
			emit(Event{Kind: EventText, Text: text, More: f.more})
			f.more = true
		}
	case "agent_thought_chunk":
		emit(Event{Kind: EventTurn})
	case "tool_call":
		e := call{cmp.Or(u.Name, u.Tool, "tool"), u.Input}.event()
		e.Input = cmp.Or(e.Input, oneLine(u.Title))
		emit(e)
	case "tool_call_update":
		if emit(Event{Kind: EventTurn}); u.Status == "completed" || u.Status == "failed" {
			emit(answered(cmp.Or(acpText(u.Content), plainText(u.Output))))
		}
	case "plan":
		for _, e := range u.Entries[:min(len(u.Entries), 20)] {
			emit(Event{Kind: EventOutput, Text: oneLine("plan, " + e.Status + ": " + e.Content)})
		}
	case "usage_update":
		var c struct {
			Amount   *float64 `json:"amount"`
			Currency string   `json:"currency"`
		}
		if figure(u.Cost, &c) && c.Amount != nil && c.Currency == "USD" {
			f.counts.cost = 0 // it is the whole so far
			f.counts.pay(*c.Amount)
			emit(Event{Kind: EventUsage, Usage: f.counts.usage()})
		}
	}
	return true
}

// acpText is the text of a block, or of the blocks that a tool answered.
func acpText(content json.RawMessage) string {
	type block struct {
		Text    string `json:"text"`
		Path    string `json:"path"`
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	var list []block
	if !figure(content, &list) {
		list = make([]block, 1)
		decode(content, &list[0])
	}
	var all []string
	for _, b := range list {
		if text := cmp.Or(b.Text, b.Content.Text, b.Path); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}
