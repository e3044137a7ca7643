package verbs_test

import (
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/verbs"
	"liza/pkg/verb/verb/verbtest"
)

// called calls a verb, as a person or as an agent, and returns what it says, or its error.
func called(p *verbtest.Place, as, name, in string) (string, error) {
	p.TB.Helper()
	v := verbs.Find(name)
	input, err := v.Decode(verbs.CLI, []byte(in), nil)
	p.Must(nil, err)
	result, err := v.Run(p.TB.Context(), p.Service(as), input)
	if err != nil {
		return "", err
	}
	return v.Say(input, result).Body, nil
}

// What a verb of people cannot help is refused with the command that does.
func TestARefusalNamesTheRightCommand(t *testing.T) {
	t.Parallel()
	p := busy(t)
	twice(p)
	for _, c := range []struct{ verb, in, next string }{
		{"retry", `{"task": "unclaimed", "reason": "r"}`, "liza show unclaimed"},
		{"retry", `{"task": "held", "reason": "r"}`, "liza resume held"},
		{"retry", `{"task": "draft", "reason": "r"}`, "liza approve draft"},
		{"retry", `{"task": "approved", "reason": "r"}`, "liza merge approved"},
		{"retry", `{"task": "rejected", "reason": "r"}`, "liza show rejected"},
		{"retry", `{"task": "claimed", "reason": "r"}`, "liza retry claimed --force --reason T"},
		{"retry", `{"task": "claimed", "limits": {"cost_cents": 9}}`, "liza edit claimed --limit KEY=VALUE"},
		{"retry", `{"task": "claimed", "depends_on": []}`, "liza help retry"},
		{"retry", `{"task": "blocked", "limits": {"cost_cents": 9}}`, "liza retry blocked --reason T"},
		{"retry", `{"task": "nothing", "reason": "r"}`, "liza status"},
		{"approve", `{"ids": ["fact-1", "draft"]}`, "liza help approve"},
		{"approve", `{"ids": ["twice"]}`, "liza approve twice --reason TEXT"},
		{"abandon", `{"task": "disc-1", "reason": "r"}`, "liza abandon disc-1 --later --reason T"},
		{"abandon", `{"task": "unclaimed", "reason": "r", "later": true}`, "liza pause unclaimed --reason T"},
		{"abandon", `{"task": "unclaimed", "reason": "r", "by": []}`, "liza help abandon"},
		{"pause", `{"task": "coder-1"}`, "liza stop coder-1"},
		{"pause", `{"task": "unclaimed", "checkpoint": true}`, "liza help pause"},
		{"resume", `{"name": "held", "planned": []}`, "liza help resume"},
		{"resume", `{"name": "coder-1", "decision": "STOP"}`, "liza help resume"},
		{"resume", `{"task": "unclaimed"}`, "liza help resume"},
		{"stop", `{}`, "liza help stop"},
		{"stop", `{"agent": "coder-1", "all": true}`, "liza help stop"},
		{"stop", `{"agent": "coder-1", "goal": true}`, "liza help stop"},
		{"sync", `{"accept": true, "restore": true}`, "liza help sync"},
		{"sync", `{"reason": "r"}`, "liza help sync"},
		{"sync", `{"accept": true, "from": "main"}`, "liza help sync"},
		{"facts", `{"add": "The build needs ninja", "rm": ["fact-1"]}`, "liza help facts"},
		{"add", `{}`, "liza help add"},
		{"retry", `{"task": "blocked"}`, "liza help retry"},
		{"add", `{"text": "x"}`, "liza help add"},
		{"abandon", `{"task": "disc-1", "later": true}`, "liza help abandon"},
		{"add", `{"file": "[1]"}`, "liza help add"},
		{"add", `{"file": "{colour: blue}"}`, "liza help add"},
		{"add", `{"text": "Write it", "id": "n", "done_when": "n.md has a word", "scope": "n.md", "type": "docs", "from": "disc-9"}`, "liza status"},
	} {
		before := p.State().Revision
		_, err := called(p, "", c.verb, c.in)
		r, ok := errors.AsType[*transition.Refusal](err)
		if !ok || r.Next != c.next {
			t.Errorf("%s %s answers %v (%+v), want next: %s", c.verb, c.in, err, r, c.next)
		}
		if p.State().Revision != before {
			t.Errorf("%s %s has changed the board", c.verb, c.in)
		}
	}
}

// A task of options alone gets what is left out, a task of a file what the options do not say.
func TestATaskIsAddedFromOptionsAndAFile(t *testing.T) {
	t.Parallel()
	p := busy(t)
	text, err := called(p, "", "add", `{"text": "Write it", "done_when": "n.md has a word", "scope": "n.md", "type": "docs", "from": "disc-1"}`)
	if err != nil || !strings.Contains(text, "task-1 is UNCLAIMED") {
		t.Errorf("it answers %q, %v", text, err)
	}
	s := p.State()
	if s.Discovered[0].ConvertedToTask != "task-1" || s.Find("task-1").SpecRef != s.Goal.SpecRef {
		t.Errorf("%+v comes of %+v", s.Find("task-1"), s.Discovered[0])
	}
	if _, err := called(p, "", "add", `{"text": "Write more", "id": "more", "file": "{id: less, done_when: more.md is there, scope: more.md, type: docs, priority: 3, kind: exec, command: make, writes: true}"}`); err != nil {
		t.Error(err)
	}
	if x := p.State().Find("more"); x == nil || x.Command != "make" || !x.Writes || *x.Priority != 3 || x.Description != "Write more" || x.Kind != blackboard.ExecTask {
		t.Errorf("it is %+v", x)
	}
}

// Another try says what is kept.
func TestAnotherTrySaysWhatIsKept(t *testing.T) {
	t.Parallel()
	p := busy(t)
	for in, want := range map[string]string{
		`{"task": "blocked", "reason": "r"}`:                "its work is kept as refs/liza/attic/blocked/1",
		`{"task": "claimed", "reason": "r", "force": true}`: "kept: its work, for the next agent",
	} {
		if text, err := called(p, "", "retry", in); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s answers %q, %v; want %q", in, text, err, want)
		}
	}
	p.Must(p.Service("coder-1").Claim(t.Context(), "unclaimed"))
	if _, err := called(p, "coder-1", "retry", `{"task": "blocked", "reason": "r"}`); err == nil {
		t.Error("a coder gives work another try")
	}
}
