package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// acpAgent answers what a client sends, a line at a time. It keeps a turn open until it is cancelled when slow is set.
type acpAgent struct {
	offer  string // capabilities
	slow   bool   // its first turn does not end by itself
	got    []string
	turn   string // the id of the turn that is open
	turns  int
	answer func(method, id string) string // instead of its own; "" for that
}

const (
	acpText1 = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I "}}}}`
	acpText2 = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"do it"}}}}`
	acpAsk   = `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"options":[{"optionId":"no","kind":"reject_once"},{"optionId":"ever","kind":"allow_always"},{"optionId":"yes","kind":"allow_once"}]}}`
)

func (a *acpAgent) hear(line []byte) (out []string) {
	var m rpcMessage
	if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" || line[len(line)-1] != '\n' {
		panic(fmt.Sprintf("%v in %q", err, line))
	}
	a.got = append(a.got, strings.TrimSpace(string(line)))
	id := string(m.ID)
	reply := func(result string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}` }
	if a.answer != nil {
		if own := a.answer(m.Method, id); own != "" {
			return []string{own}
		}
	}
	switch m.Method {
	case "initialize":
		return []string{reply(`{"protocolVersion":1,"agentCapabilities":{` + a.offer + `}}`)}
	case "session/new":
		return []string{reply(`{"sessionId":"s-1","configOptions":[{"id":"m","category":"model"}]}`)}
	case "session/load":
		return []string{acpText1, reply(`{}`)}
	case "session/prompt":
		a.turns++
		if a.turn = id; a.slow && a.turns == 1 {
			return []string{acpText1, acpAsk}
		}
		return []string{acpText1, acpText2, acpAsk, reply(`{"stopReason":"end_turn"}`)}
	case "session/cancel":
		id = a.turn
		return []string{reply(`{"stopReason":"cancelled"}`)}
	case "":
		return nil
	}
	return []string{reply(`{}`)}
}

// converse lets a dialogue and an agent talk until both are silent. It returns what the agent said, and the receipts.
func converse(d dialogue, a *acpAgent, first inputLine) (lines, seen []string, busy bool) {
	queue := []inputLine{first}
	for len(queue) > 0 {
		in := queue[0]
		queue = queue[1:]
		if in.line == nil {
			continue
		}
		for _, line := range a.hear(in.line) {
			lines = append(lines, line)
			r := d.hear([]byte(line))
			seen, busy = append(seen, r.seen...), r.busy
			queue = append(queue, r.answer)
		}
	}
	return lines, seen, busy
}

// methods are what an agent got, without parameters.
func (a *acpAgent) methods() (all []string) {
	for _, line := range a.got {
		m, _ := readRPC([]byte(line))
		all = append(all, strings.TrimSpace(m.Method+" "+strings.Trim(string(m.ID), `"`)))
	}
	return all
}

// read is what the reader makes of lines.
func readACP(lines []string, code int) (Result, []Event) {
	var all []Event
	r := newReader(formatACP, builtin().common, readerOptions{listen: func(e Event) { all = append(all, e) }})
	for _, line := range lines {
		r.Line([]byte(line))
	}
	return r.End(Exit{Code: code}), all
}

func TestAConversationByTheAgentClientProtocol(t *testing.T) {
	t.Parallel()
	a := &acpAgent{offer: `"loadSession":true`}
	d := newACP(Spec{Prompt: "Do it.", Dir: "/w", Liza: "/bin/liza", Env: []string{"LIZA_ROLE=coder", "HOME=/x"}, Model: "big", mode: "yolo"})
	lines, seen, busy := converse(d, a, d.open("Do it."))
	want := []string{"initialize initialize", "session/new session/new", "session/set_mode session/set_mode", "session/set_config_option session/set_config_option", "session/prompt session/prompt", "7"}
	if got := a.methods(); !slices.Equal(got, want) || busy || seen != nil {
		t.Errorf("got %q, busy %v, seen %v; want %q", got, busy, seen, want)
	}
	for n, want := range map[int]string{
		0: `"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`,
		1: `"params":{"cwd":"/w","mcpServers":[{"args":["mcp"],"command":"/bin/liza","env":[{"name":"LIZA_ROLE","value":"coder"}],"name":"liza"}]}`,
		2: `{"modeId":"yolo","sessionId":"s-1"}`,
		3: `{"configId":"m","sessionId":"s-1","value":"big"}`,
		4: `"params":{"prompt":[{"text":"Do it.","type":"text"}],"sessionId":"s-1"}`,
		5: `"result":{"outcome":{"optionId":"yes","outcome":"selected"}}`,
	} {
		if !strings.Contains(a.got[n], want) {
			t.Errorf("message %d is %s, want %s in it", n, a.got[n], want)
		}
	}
	res, _ := readACP(lines, 0)
	if res.Outcome != Finished || res.Final != "I do it" || res.Session != "s-1" || res.Usage.TokensKnown || res.Usage.CostKnown {
		t.Errorf("got %+v", res)
	}
}

func TestAConversationOfAnEarlierRunGoesOn(t *testing.T) {
	t.Parallel()
	for offer, method := range map[string]string{`"loadSession":true`: "session/load", `"loadSession":true,"sessionCapabilities":{"resume":{}}`: "session/resume"} {
		a := &acpAgent{offer: offer}
		d := newACP(Spec{Session: "s-1", Prompt: "Again."})
		lines, _, _ := converse(d, a, d.open("Again."))
		res, _ := readACP(lines, 0)
		if got := a.methods(); got[1] != method+" "+method+" s-1" || res.Final != "I do it" || res.Session != "s-1" {
			t.Errorf("got %q, %+v: what was said before is not of this run", got, res)
		}
	}
	a := &acpAgent{offer: `"loadSession":false`}
	d := newACP(Spec{})
	lines, _, _ := converse(d, a, d.open(""))
	if res, _ := readACP(lines, 0); res.Session != "" {
		t.Errorf("the conversation %q cannot go on, and is offered", res.Session)
	}
}

func TestATextEndsTheTurnAndIsTheNextPrompt(t *testing.T) {
	t.Parallel()
	a := &acpAgent{slow: true}
	d := newACP(Spec{Prompt: "Do it."})
	first, _, busy := converse(d, a, d.open("Do it."))
	if !busy {
		t.Error("a turn is under way, and the run counts as over")
	}
	second, seen, busy := converse(d, a, d.say(Text{"t1", "Stop."}))
	third, later, _ := converse(d, a, d.say(Text{"t2", "And wave."}))
	want := []string{"initialize initialize", "session/new session/new", "session/prompt session/prompt", "7", "session/cancel", "session/prompt session/prompt t1", "7", "session/prompt session/prompt t2", "7"}
	if got := a.methods(); !slices.Equal(got, want) || busy || !slices.Equal(seen, []string{"t1"}) || !slices.Equal(later, []string{"t2"}) {
		t.Errorf("got %q, busy %v, seen %q and %q", got, busy, seen, later)
	}
	res, _ := readACP(slices.Concat(first, second, third), 0)
	if res.Outcome != Finished || res.Final != "I do it" {
		t.Errorf("got %s %q", res.Outcome, res.Final)
	}
}

// A turn that a text cancels before the model has said a word may be left out of the conversation: its words come with the text again,
// also for a supervisor that adopts the run.
func TestWordsThatTheModelHasNotHeardAreSaidAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent bool
		want   string
	}{
		"silent": {true, `"prompt":[{"text":"Do it.","type":"text"},{"text":"Stop.","type":"text"}]`},
		"speaks": {false, `"prompt":[{"text":"Stop.","type":"text"}]`},
	} {
		a := &acpAgent{slow: true, answer: func(method, id string) string {
			if method == "session/prompt" && c.silent {
				return "{}" // the answer comes when it is cancelled
			}
			return ""
		}}
		d := newACP(Spec{Prompt: "Do it."})
		lines, _, _ := converse(d, a, d.open("Do it."))
		adopts := newACP(Spec{Prompt: "Do it.", Adopted: &Adopted{first: note{Sent: slices.Clone(d.(*acpDialogue).sent), Replied: 1}}})
		for _, line := range lines {
			adopts.hear([]byte(line))
		}
		for who, d := range map[string]dialogue{"begun": d, "adopted": adopts} {
			d.say(Text{"t1", "Stop."})
			r := d.hear([]byte(`{"jsonrpc":"2.0","id":"session/prompt","result":{"stopReason":"cancelled"}}`))
			if got := string(r.answer.line); !strings.Contains(got, c.want) {
				t.Errorf("%s, %s: the next prompt is %s, want %s", name, who, got, c.want)
			}
		}
	}
}

// A supervisor is killed after any line that it read: before its answer was handed over, and after. The next one goes on: the agent gets
// each message once, in the same order, and the texts are seen.
func TestAnACPRunIsAdoptedAtEachMoment(t *testing.T) {
	t.Parallel()
	spec := Spec{Prompt: "Do it.", Dir: "/w"}
	text := Text{"t1", "Stop."}
	whole := &acpAgent{slow: true}
	d := newACP(spec)
	converse(d, whole, d.open(""))
	converse(d, whole, d.say(text))
	want := whole.methods()
	for n := range want {
		for _, handed := range []bool{false, true} {
			a := &acpAgent{slow: true}
			var sent []string
			var lines []string // what the agent has said
			replied, count := 0, 0
			d := newACP(spec)
			queue, told := []inputLine{d.open("")}, false
			for killed := false; !killed; {
				if len(queue) == 0 {
					if told {
						break
					}
					told, queue = true, []inputLine{d.say(text)}
				}
				in := queue[0]
				if queue = queue[1:]; in.line == nil {
					continue
				}
				if killed = count == n; killed && !handed {
					break
				}
				if in.mark == replyMark {
					replied++
				} else {
					sent = append(sent, in.mark)
				}
				count++
				for _, line := range a.hear(in.line) {
					lines = append(lines, line)
					if !killed {
						queue = append(queue, d.hear([]byte(line)).answer)
					}
				}
			}
			next := spec
			next.Adopted = &Adopted{first: note{Sent: sent, Replied: replied}}
			if told {
				next.Said = []Text{text}
			}
			d = newACP(next)
			if len(sent) == 0 {
				converse(d, a, d.open(""))
			}
			var seen []string
			for _, line := range lines { // all of it is heard again
				r := d.hear([]byte(line))
				_, more, _ := converse(d, a, r.answer)
				seen = slices.Concat(seen, r.seen, more)
			}
			if !told {
				_, seen, _ = converse(d, a, d.say(text))
			}
			got := a.methods()
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || !slices.Equal(seen, []string{"t1"}) {
				t.Errorf("killed at message %d (handed over: %v), the agent got %q, seen %q; want %q", n, handed, a.methods(), seen, want)
			}
		}
	}
}

func TestWhatAnACPAgentRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec   Spec
		at     string // method
		answer string
		want   Outcome
	}{
		"login":   {Spec{}, "session/new", `"error":{"code":-32000,"message":"Authentication required"}`, Unusable},
		"session": {Spec{Session: "s-9"}, "session/load", `"error":{"code":-32603,"message":"Internal error","data":{"details":"gone"}}`, Crashed},
		"model":   {Spec{Model: "x"}, "session/set_config_option", `"error":{"code":-32602,"message":"no such thing"}`, Unusable},
		"mode":    {Spec{mode: "x"}, "session/set_mode", `"error":{"code":-32602,"message":"no such thing"}`, Unusable},
		"version": {Spec{}, "initialize", `"result":{"protocolVersion":2}`, Unusable},
		"rate":    {Spec{}, "session/prompt", `"error":{"code":429,"message":"try again in 20s"}`, RateLimited},
		"quota":   {Spec{}, "session/prompt", `"error":{"code":-32603,"message":"Internal error","data":{"details":"You have hit your usage limit"}}`, QuotaWindow},
		"refusal": {Spec{}, "session/prompt", `"result":{"stopReason":"refusal"}`, Refused},
		"tokens":  {Spec{}, "session/prompt", `"result":{"stopReason":"max_tokens"}`, Reask},
		"turns":   {Spec{}, "session/prompt", `"result":{"stopReason":"max_turn_requests"}`, Stopped},
		"nothing": {Spec{}, "session/prompt", `"result":{"stopReason":"end_turn"}`, Reask},
	} {
		a := &acpAgent{offer: `"loadSession":true`, answer: func(method, id string) string {
			if method == c.at {
				return `{"jsonrpc":"2.0","id":` + id + `,` + c.answer + `}`
			}
			return ""
		}}
		d := newACP(c.spec)
		lines, _, busy := converse(d, a, d.open(""))
		res, _ := readACP(lines, 0)
		if res.Outcome != c.want || busy || res.NoSession != (name == "session") {
			t.Errorf("%s: got %s (%s), busy %v, no session %v; want %s", name, res.Outcome, res.Error, busy, res.NoSession, c.want)
		}
		if last := a.methods()[len(a.got)-1]; !strings.HasPrefix(last, c.at) {
			t.Errorf("%s: after the refusal it was asked for %s", name, last)
		}
	}
}

func TestWhatAnACPAgentTells(t *testing.T) {
	t.Parallel()
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{` + u + `}}}`
	}
	res, all := readACP([]string{
		`{"jsonrpc":"2.0","id":"session/new","result":{"sessionId":"s"}}`,
		update(`"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}`),
		update(`"sessionUpdate":"plan","entries":[{"content":"look\naround","status":"pending"}]`),
		update(`"sessionUpdate":"tool_call","title":"Run make","kind":"execute","rawInput":{"command":"make test"}`),
		update(`"sessionUpdate":"tool_call_update","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ok"}},{"type":"diff","path":"a.go"}]`),
		update(`"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.25,"currency":"USD"}`),
		update(`"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.5,"currency":"USD"}`),
		update(`"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":9,"currency":"EUR"}`),
		update(`"sessionUpdate":"available_commands_update"`),
		update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."}`),
		update(`"sessionUpdate":"colour_update"`),
		"plain words",
		`{"jsonrpc":"2.0","id":"session/prompt","result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":4,"thoughtTokens":1,"cachedReadTokens":3,"cachedWriteTokens":2}}}`,
	}, 0)
	u := res.Usage
	if res.Outcome != Finished || res.Final != "Done." || res.Tools != 1 || res.Unknown != 1 || !u.TokensKnown || u.TokensIn != 15 || u.TokensOut != 5 || u.TokensCached != 3 || u.CostCents != 50 {
		t.Errorf("got %+v", res)
	}
	var told []string
	for _, e := range all {
		if e.Kind == EventTool || e.Kind == EventResult || e.Kind == EventOutput {
			told = append(told, fmt.Sprintf("%s %s %s", e.Kind, e.Text, e.Input))
		}
	}
	if want := []string{"output plan, pending: look around ", "tool execute make test", "result ok\na.go ", "output plain words "}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
}

// The id of a conversation comes on the board and into command lines.
func TestTheIDOfAConversationIsShort(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{200: 200, 300: 0, 1 << 20: 0} {
		res, all := readACP([]string{
			`{"jsonrpc":"2.0","id":"initialize","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`,
			`{"jsonrpc":"2.0","id":"session/new","result":{"sessionId":"` + strings.Repeat("s", n) + `"}}`,
			`{"jsonrpc":"2.0","id":"session/prompt","result":{"stopReason":"end_turn"}}`,
		}, 0)
		if len(res.Session) != want || slices.ContainsFunc(all, func(e Event) bool { return len(e.Session) > want }) {
			t.Errorf("of an id with %d bytes %d are kept", n, len(res.Session))
		}
	}
}

// Whatever a program says, the client asks for each thing once, and an answer of it is short.
func FuzzACP(f *testing.F) {
	a := &acpAgent{slow: true}
	d := newACP(Spec{})
	lines, _, _ := converse(d, a, d.open(""))
	f.Add(strings.Join(lines, "\n"))
	f.Add(`{"jsonrpc":"2.0","id":"session/prompt","result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"session/new","error":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"` + strings.Repeat("x", 9000) + `"}`)
	f.Add(`{"jsonrpc":"2.0","id":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,"method":"fs/read_text_file"}` + "\n{\"jsonrpc\":1}\n[]\n{")
	f.Fuzz(func(t *testing.T, said string) {
		d := newACP(Spec{Prompt: "Do it."}).(*acpDialogue)
		r := newReader(formatACP, builtin().common, readerOptions{})
		answers := []inputLine{d.open("")}
		for line := range strings.Lines(said) {
			line = strings.TrimRight(line, "\n")
			answers = append(answers, d.hear([]byte(line)).answer, d.say(Text{fmt.Sprint("t", len(answers)), "x"}))
			r.Line([]byte(line))
		}
		seen := map[string]bool{}
		for _, in := range answers {
			if in.line == nil {
				continue
			}
			if in.mark != replyMark && seen[in.mark] {
				t.Fatalf("%q was sent twice", in.mark)
			}
			if seen[in.mark] = true; in.mark == replyMark && len(in.line) > 2000 {
				t.Fatalf("an answer of %d bytes", len(in.line))
			}
			if m, ok := readRPC([]byte(strings.TrimSpace(string(in.line)))); !ok || strings.Count(string(in.line), "\n") != 1 {
				t.Fatalf("%q is no message: %+v", in.line, m)
			}
		}
		if res := r.End(Exit{Code: 1}); res.Outcome == "" || len(d.sent) > 2*len(answers) {
			t.Fatalf("got %+v after %d messages", res, len(d.sent))
		}
	})
}

func TestFiguresOfAPartOfARunAreUnknown(t *testing.T) {
	t.Parallel()
	line := `{"jsonrpc":"2.0","id":"session/prompt","result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":4}}}`
	for partial, known := range map[bool]bool{false: true, true: false} {
		a, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": {Command: []string{"x"}, Output: formatACP, PartialUsage: partial}}})
		if err != nil {
			t.Fatal(err)
		}
		r := a.Reader(Spec{})
		r.Line([]byte(line))
		if u := r.End(Exit{}).Usage; u.TokensKnown != known {
			t.Errorf("partial %v: known %v", partial, u.TokensKnown)
		}
	}
}

// codex-acp ends a turn that failed like one that ended well, and says the error as if the model had.
func TestAFailureThatIsToldAsAnAnswerIsOne(t *testing.T) {
	t.Parallel()
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{` + u + `}}}`
	}
	for text, want := range map[string]Outcome{
		`{\"error\":{\"code\":\"context_length_exceeded\"}}\n\n`:     ContextFull,
		`unexpected status 529: The server is overloaded`:            Overloaded,
		`stream disconnected before completion: Transport error\n\n`: Network,
		`it went wrong in a way that nobody knows`:                   Crashed,
	} {
		res, _ := readACP([]string{
			`{"jsonrpc":"2.0","id":"session/new","result":{"sessionId":"s"}}`,
			update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I work"}`),
			update(`"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}`),
			update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}`),
			`{"jsonrpc":"2.0","id":"session/prompt","result":{"stopReason":"end_turn"}}`,
		}, 0)
		if res.Outcome != want || res.Final != "I work" {
			t.Errorf("%s: got %s (%s), final %q; want %s", text, res.Outcome, res.Error, res.Final, want)
		}
	}
}
