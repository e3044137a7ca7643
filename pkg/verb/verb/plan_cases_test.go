package verb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

const tell = `{"id": "tell", "kind": "msg", "detail": "It is done", "notify": true}`

func planOf(items ...string) string {
	return `{"goal": "Words", "tasks": [` + strings.Join(items, ", ") + `]}`
}

// wantRefused applies a plan that is invalid, and wants each text in its error.
func wantRefused(t *testing.T, d *verb.Service, plan string, want ...string) {
	t.Helper()
	_, err := apply(t, d, plan)
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Exit != transition.ExitUsage {
		t.Errorf("%s: got %v, want exit 2", plan, err)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// N-03: what changes files is always reviewed: a plan cannot ask otherwise, and in no mode does
// anything get onto the branch that nobody approved.
func TestNothingIsMergedThatNobodyReviewed(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("planner-1")
	wantRefused(t, d, planOf(item("a", `, "review": false`), tell), "tasks[0].review: what changes files is always reviewed")
	wantRefused(t, d, planOf(`{"id": "a", "kind": "exec", "detail": "touch a", "writes": true, "review": false, "expect": "a is there in git ls-files", "scope": "IN: a"}`, tell), "tasks[0].review")
	for _, mode := range []string{"", "strict", "normal", "yolo", "disabled"} {
		for _, kind := range []string{"code", "exec", "skill"} {
			t.Run(mode+" "+kind, func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				p.Config.Review.Mode = mode
				verbtest.Write(t, filepath.Join(p.Project.Skills(), "writer", "skill.yaml"), "name: writer\nrun: [touch, a]\nwrites: true\n")
				before := p.Git(p.Dir, "rev-parse", "integration")
				x := map[string]string{"code": item("x", `, "type": "docs"`), "exec": `{"id": "x", "kind": "exec", "detail": "touch a", "writes": true, "expect": "the file a.txt is there", "scope": "IN: a.txt"}`,
					"skill": `{"id": "x", "kind": "skill", "skill": "writer", "expect": "the file a.txt is there"}`}[kind]
				if _, err := apply(t, p.Service("planner-1"), planOf(x, tell)); err != nil {
					t.Fatal(err)
				}
				ctx := context.Background()
				coder := p.Supervised("coder-1")
				if _, err := coder.Claim(ctx, "x"); err != nil {
					t.Fatal(err)
				}
				p.Commit("x")
				var err error
				if kind == "code" {
					_, err = coder.Submit(ctx, verb.SubmitInput{Task: "x"})
				} else {
					_, err = coder.Deliver(ctx, "x", blackboard.Output{Text: "done"}, "")
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Service("").Merges.Merger(blackboard.System).All(ctx); err != nil {
					t.Fatal(err)
				}
				if st := p.State().Task("x").Status; st != blackboard.ReadyForReview || p.Git(p.Dir, "rev-parse", "integration") != before {
					t.Errorf("x is %s and the branch at %s, was %s", st, p.Git(p.Dir, "rev-parse", "integration"), before)
				}
			})
		}
	}
}

// N-04: the closing message is claimable when all the others are over, however they ended.
func TestTheClosingMessageComesLast(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx := context.Background()
	if _, err := apply(t, p.Service("planner-1"), planOf(item("a", `, "depends_on": []`), `{"id": "b", "kind": "exec", "detail": "echo b", "depends_on": []}`, tell)); err != nil {
		t.Fatal(err)
	}
	coder := p.Supervised("coder-1")
	if _, err := p.Service("").Abandon(ctx, verb.WayOut{Task: "a", Reason: "nobody wants it"}); err != nil {
		t.Fatal(err)
	}
	if _, err := coder.Claim(ctx, "tell"); err == nil || !strings.Contains(err.Error(), "b (UNCLAIMED)") {
		t.Errorf("claimed before its time: %v", err)
	}
	if _, err := coder.Claim(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := coder.Deliver(ctx, "b", blackboard.Output{Text: "b"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := coder.Claim(ctx, "tell"); err != nil {
		t.Error(err)
	}
}

// N-06: each of the five gates is named; a draft may miss them, but is not finalized.
func TestTheGatesOfATask(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("planner-1")
	wantRefused(t, d, planOf(`{"id": "a", "detail": "Print a word", "depends_on": ["zz"], "type": "test"}`, tell), "tasks[0].spec_ref: is missing", "tasks[0].done_when: is missing",
		"tasks[0].scope: is missing", "tasks[0].depends_on: no task 'zz'", "tasks[0].legacy_tests: tests belong")
	for _, c := range []struct{ rest, want string }{
		{`, "type": "test"`, "tasks[0].legacy_tests"},
		{`, "type": "test", "legacy_tests": "the parser came without"`, ""},
		{`, "title": "Add a parser with tests"`, ""},
	} {
		p := verbtest.New(t)
		if c.want != "" {
			wantRefused(t, p.Service("planner-1"), planOf(item("a", c.rest), tell), c.want)
		} else if _, err := apply(t, p.Service("planner-1"), planOf(item("a", c.rest), tell)); err != nil {
			t.Errorf("%s: %v", c.rest, err)
		}
	}
	for _, bad := range []string{"legacy", "gates"} {
		task := blackboard.Task{ID: bad, Description: "Print a word"}
		if bad == "legacy" {
			task = blackboard.Task{ID: bad, Description: "Test it", SpecRef: "specs/vision.md", DoneWhen: "prints 42", Scope: "IN: one file", Type: "test"}
		}
		if _, err := d.AddTask(context.Background(), verb.NewTask{Task: task}); err == nil {
			t.Errorf("%s: a task that misses a gate is created", bad)
		}
		if done, err := d.AddTask(context.Background(), verb.NewTask{Task: task, Draft: true}); err != nil || done.Status != blackboard.Draft {
			t.Errorf("%s: as a draft it is %s, %v", bad, done.Status, err)
		}
		if _, err := d.Finalize(context.Background(), []string{bad}); err == nil || p.State().Task(bad).Status != blackboard.Draft {
			t.Errorf("%s: finalized: %v", bad, err)
		}
	}
}

// N-08: the decisions of a plan do what the verbs do, journal included; a bad one refuses all.
func TestDecisionsAreVerbs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	board := func(t *testing.T) (*verbtest.Place, *verb.Service) {
		t.Helper()
		p := verbtest.New(t)
		for _, id := range []string{"asked", "old", "new", "gone"} {
			p.AddTask(id)
		}
		coder := p.Service("coder-1")
		if _, err := coder.Claim(ctx, "asked"); err != nil {
			t.Fatal(err)
		}
		if _, err := coder.Block(ctx, verb.BlockInput{Task: "asked", Reason: "unclear", Questions: []string{"Which?"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Service("").AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: "half", Description: "Write half", SpecRef: "specs/vision.md", DoneWhen: "prints 42", Scope: "IN: one file", Type: "docs"}, Draft: true}); err != nil {
			t.Fatal(err)
		}
		return p, p.Service("planner-1")
	}
	told := func(p *verbtest.Place) string {
		s, lines := p.State(), ""
		for t := range s.Tasks() {
			events := []string{}
			for _, h := range t.History {
				events = append(events, string(h.Event)+" "+h.Agent+" "+h.Reason)
			}
			lines += fmt.Sprintf("%s %s %v %v %s %s\n", t.ID, t.Status, t.SupersededBy, t.Supersedes, t.RescopeReason, strings.Join(events, ", "))
		}
		log, err := os.ReadFile(p.Project.Journal())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			for _, action := range []string{"unblocked", "superseded", "abandoned", "tasks_finalized"} {
				if i := strings.Index(line, "action: "+action); i > 0 {
					entry, _, _ := strings.Cut(line[i:], ", prev: ") // tokens differ from board to board, and with them the chain
					lines += entry + "\n"
				}
			}
		}
		return lines
	}
	p, d := board(t)
	for _, err := range []error{
		second(d.Unblock(ctx, verb.WayOut{Task: "asked", Reason: "it is clear"})),
		second(d.Supersede(ctx, verb.WayOut{Task: "old", Reason: "too large", By: []string{"new"}})),
		second(d.Abandon(ctx, verb.WayOut{Task: "gone", Reason: "not wanted"})),
		second(d.Finalize(ctx, []string{"half"})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const decisions = `{"goal": "", "tasks": [], "decisions": [{"task": "asked", "do": "unblock", "reason": "it is clear"},
		{"task": "old", "do": "supersede", "reason": "too large", "by": ["new"]}, {"task": "gone", "do": "abandon", "reason": "not wanted"}, {"task": "half", "do": "finalize"}%s]}`
	q, e := board(t)
	before := verbtest.Read(t, q.Project.State())
	wantRefused(t, e, fmt.Sprintf(decisions, `, {"task": "new", "do": "unblock", "reason": "x"}`), "decisions[4] (unblock new)")
	wantRefused(t, e, fmt.Sprintf(decisions, `, {"task": "new", "do": "merge", "reason": "x"}, {"task": "new", "do": "supersede"}`), "decisions[4].do", "decisions[5].by", "decisions[5].reason")
	if verbtest.Read(t, q.Project.State()) != before {
		t.Error("a plan with a bad decision has changed the board")
	}
	if _, err := apply(t, e, fmt.Sprintf(decisions, "")); err != nil {
		t.Fatal(err)
	}
	if a, b := told(p), told(q); a != b {
		t.Errorf("by verbs:\n%s\nby decisions:\n%s", a, b)
	}
}

func second[T any](_ T, err error) error { return err }

// N-09: without any depends_on a plan is a chain, with one key a graph; what order says wins.
func TestTheOrderOfAPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ order, second, stored, want string }{
		{"", "", "sequential", "a: | b: a | c: b | tell: "},
		{"", `, "depends_on": []`, "graph", "a: | b: | c: | tell: "},
		{`"order": "graph", `, "", "graph", "a: | b: | c: | tell: "},
		{`"order": "sequential", `, `, "depends_on": []`, "sequential", "a: | b: | c: b | tell: "},
	} {
		p := verbtest.New(t)
		_, err := apply(t, p.Service("planner-1"), strings.Replace(planOf(item("a", ""), item("b", c.second), item("c", ""), tell), "{", "{"+c.order, 1))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for x := range p.State().Tasks() {
			got = append(got, x.ID+": "+strings.Join(x.DependsOn, " "))
		}
		if text := strings.Join(got, "| "); strings.ReplaceAll(text, " ", "") != strings.ReplaceAll(c.want, " ", "") || p.State().Plans[0].Order != c.stored {
			t.Errorf("%s%s gives %s, %s", c.order, c.second, text, p.State().Plans[0].Order)
		}
	}
}

// N-32: what a user may ask for; the list is looked at again before the start (see the
// supervisor's half of this case).
func TestAUsersPlan(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Policy.Callers = map[string]string{"root": "admin"}
	p.Config.Policy.UserKinds = []string{"code", "msg"}
	exec := planOf(`{"id": "x", "kind": "exec", "detail": "echo x"}`, tell)
	wantRefused(t, p.Service(""), exec, "tasks[0].kind: ada, whose role is user, may have code, msg only, not exec")
	wantRefused(t, p.Service(""), planOf(item("a", `, "limits": {"max_iterations": 99}`), tell), "tasks[0].limits: max_iterations: 99 is above the project's 10")
	if _, err := p.Service("").Tell(context.Background(), verb.TellInput{To: verb.ThePlanner, Text: "Please"}); err != nil {
		t.Fatal(err)
	}
	d := p.Service("planner-1")
	d.Board.Caller.Person = "root"
	if n := p.State().HumanNotes[0]; n.CallerRole != "user" {
		t.Errorf("the note says %s", n.CallerRole)
	}
	p.Config.Policy.Callers["ada"] = "admin"
	if _, err := apply(t, p.Service(""), exec); err != nil {
		t.Fatal(err)
	}
	s := p.State()
	if c := s.Plans[0].Caller; c.Name != "ada" || c.Role != "admin" {
		t.Errorf("the plan's caller is %+v", c)
	}
	if why := d.Board.MayStart(s, s.Task("x"), "exec"); why != "" {
		t.Error(why)
	}
	delete(p.Config.Policy.Callers, "ada")
	if why := d.Board.MayStart(s, s.Task("x"), "exec"); !strings.Contains(why, "not be done for ada") {
		t.Errorf("after the change: %q", why)
	}
}

// What is reviewed needs a criterion, and what belongs to one kind goes with that kind only; a
// person's plan gets its closing message, and is told so.
func TestTheFormOfItems(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("planner-1")
	for path, text := range map[string]string{"quiet/skill.yaml": "name: quiet\nsummary: says nothing\nrun: [\"true\"]\nargs: {times: {type: int, default: 2}, file: {type: path}}\n",
		"bare/run.sh": "echo bare\n", "dead/skill.yaml": "name: dead\nsummary: cannot be started\nrun: [./run.sh]\n", "dead/run.sh": "echo dead\n"} {
		verbtest.Write(t, filepath.Join(p.Project.Skills(), path), text)
	}
	for _, c := range []struct {
		item string
		want []string
	}{
		{`{"kind": "exec", "detail": "x", "command": " "}`, []string{"tasks[0].command"}},
		{`{"kind": "exec", "detail": "echo $(echo $(rm -rf /))"}`, []string{"tasks[0].command: denied"}},
		{`{"kind": "skill", "skill": "bare"}`, []string{"tasks[0].skill"}},
		{`{"kind": "skill", "skill": "dead"}`, []string{"tasks[0].skill", "run.sh is not executable"}},
		{`{"kind": "skill", "skill": "quiet", "args": {"times": "3", "file": "../x", "colour": "red"}}`, []string{"'times' of the skill quiet", "'file' of the skill quiet", "'colour'"}},
		{`{"kind": "exec", "detail": "x", "review": true}`, []string{"tasks[0].expect"}},
		{`{"kind": "exec", "detail": "x", "review": true, "expect": "x"}`, []string{"tasks[0].done_when: repeats"}},
		{item("a", `, "expect": "prints bye"`), []string{"tasks[0].expect: differs from done_when"}},
		{item("a", `, "model": "gpt-4"`), []string{"tasks[0].model"}},
		{item("a", `, "role": "reviewer"`), []string{"tasks[0].role"}},
		{`{"kind": "exec", "type": "msg", "detail": "x"}`, []string{"tasks[0].kind: 'exec' and type 'msg' differ"}},
		{`{"kind": "exec", "detail": "make && rm -rf ~"}`, []string{"tasks[0].command: denied"}},
		{`{"kind": "exec", "detail": "x", "timeout_seconds": 4000}`, []string{"tasks[0].timeout_seconds"}},
		{`{"kind": "msg", "detail": "x", "command": "y", "skill": "z", "writes": true}`, []string{"tasks[0].command", "tasks[0].skill", "tasks[0].writes"}},
		{item("a", `, "limits": {"cost": 1, "tokens": -1}`), []string{"'cost' is unknown", "tokens: -1"}},
		{item("a", `, "title": "`+strings.Repeat("x", 121)+`"`), []string{"tasks[0].title: has 121 bytes; 120"}},
		{item("a", `, "acceptance_criteria": [`+strings.Repeat(`"prints x", `, 20)+`"prints y"]`), []string{"tasks[0].acceptance_criteria: has 21 entries; 20"}},
		{item("a", `, "acceptance_criteria": ["`+strings.Repeat("x", 501)+`"]`), []string{"tasks[0].acceptance_criteria: entry 1 has 501 bytes; 500"}},
		{item("a", `, "acceptance_criteria": [`+strings.Repeat(`"`+strings.Repeat("x", 450)+`", `, 8)+`"`+strings.Repeat("x", 450)+`"]`), []string{"tasks[0].acceptance_criteria: has 4050 bytes; 4000"}},
		{`{"kind": "exec", "detail": "x", "timeout_seconds": 0}`, []string{"tasks[0].timeout_seconds: 0 must be 1 to 3600"}},
		{`{"kind": "exec", "detail": "x", "writes": true, "expect": "exit code 0"}`, []string{"tasks[0].scope: is missing"}},
		{`{"kind": "dance", "detail": "x"}`, []string{"tasks[0].kind: 'dance'"}},
	} {
		wantRefused(t, d, planOf(c.item, tell), c.want...)
	}
	if out, err := apply(t, p.Service(""), planOf(strings.Replace(item("a", ""), `"done_when": "prints hello"`, `"done_when": "prints hello properly"`, 1))); err != nil || !slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "final-msg was added") }) ||
		!slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, `tasks[0].done_when: "properly"`) }) {
		t.Errorf("%+v, %v", out, err)
	}
}
