package transition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// boardStart is when the boards of these tests begin.
var boardStart = time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)

// board is a state with registered agents, on which tests let events happen.
type board struct {
	*blackboard.State
	t   testing.TB
	now time.Time
}

// newBoard has a goal, a sprint, and the agents that are named, IDLE.
func newBoard(t testing.TB, agents ...string) *board {
	t.Helper()
	b := &board{t: t, now: boardStart, State: &blackboard.State{
		Version: "1", Revision: 1,
		Goal:   &blackboard.Goal{ID: "goal-1", Description: "Greeting CLI", SpecRef: "specs/vision.md", Created: blackboard.TimeOf(boardStart), Status: blackboard.InProgress},
		Agents: map[string]*blackboard.Agent{},
		Sprint: &blackboard.Sprint{ID: "sprint-1", GoalRef: "goal-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: blackboard.TimeOf(boardStart)}},
		Config: blackboard.Settings{},
	}}
	for _, id := range agents {
		b.register(id)
	}
	return b
}

// team is a board with two of each role that has a choice.
func team(t testing.TB) *board {
	t.Helper()
	return newBoard(t, "planner-1", "coder-1", "coder-2", "code-reviewer-1", "code-reviewer-2")
}

// register enters an agent that is ready and runs a program with a token of its own.
func (b *board) register(id string) {
	b.t.Helper()
	entry := &blackboard.Agent{Generation: fmt.Sprintf("g-%s-%d", id, len(b.State.Entries())), TokenHash: "sha256:registration-" + id, Host: "devbox", BootID: "boot", PID: 100 + len(b.Agents), PIDStart: 7}
	b.must(Register(b.State, id, entry, person, b.now))
	b.must(SetReady(b.State, supervisorOf(id), "claude", "", b.now))
	b.must(Spawned(b.State, supervisorOf(id), blackboard.Child{PID: 4711, Run: 1, TokenHash: "sha256:run-" + id}, b.now))
}

// The actors of the tests.
var (
	person = Actor{ID: blackboard.Human, Name: "ada"}
	system = SystemActor(blackboard.ProcessFacts{})
)

func supervisorOf(id string) Actor { return Actor{ID: id, TokenHash: "sha256:registration-" + id} }
func programOf(id string) Actor    { return Actor{ID: id, TokenHash: "sha256:run-" + id} }

// personAs is a person who acts for an agent with --as.
func personAs(id string) Actor {
	return Actor{ID: id, Name: "ada", Via: true, Register: &blackboard.Agent{Generation: "g-as-" + id, TokenHash: "sha256:as-" + id}}
}

func (b *board) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("the event is refused: %v", err)
	}
}

// after lets time go on.
func (b *board) after(d time.Duration) { b.now = b.now.Add(d) }

// codeTask is a task that passes every gate.
func codeTask(id string, deps ...string) *blackboard.Task {
	return &blackboard.Task{ID: id, Description: "Add a greeting of " + id, SpecRef: "specs/vision.md#" + id, DoneWhen: "hello prints 'Hello, " + id + "!'",
		Scope: "IN: the greeting. OUT: localisation", DependsOn: deps}
}

// plainTask is a task of another kind than code, as the verbs fill it in.
func plainTask(id string, kind blackboard.TaskKind) *blackboard.Task {
	return &blackboard.Task{ID: id, Kind: kind, Description: "Say hello", SpecRef: "specs/vision.md", DoneWhen: "message delivered", Scope: "no code changes"}
}

// create puts a task on the board, UNCLAIMED.
func (b *board) create(task *blackboard.Task) *blackboard.Task {
	b.t.Helper()
	b.must(Create(b.State, task, false, supervisorOf("planner-1"), Input{}, b.now))
	return task
}

// add creates a code task.
func (b *board) add(id string, deps ...string) *blackboard.Task {
	b.t.Helper()
	return b.create(codeTask(id, deps...))
}

// commitOf makes an object name out of a number.
func commitOf(n int) string { return fmt.Sprintf("%040x", n) }

var integrationHead = commitOf(1)

// claimed are the facts of a claim with a worktree made from scratch.
func claimed(id string) Input {
	return Input{Claim: &ClaimFacts{Base: integrationHead, Worktree: ".worktrees/" + id, Fresh: true}}
}

// kept are the facts of a claim that goes on in the worktree.
func kept(id string) Input {
	in := claimed(id)
	in.Claim.Fresh = false
	return in
}

// submitted are the facts of a clean submission.
func submitted(id, commit string) Input {
	return Input{Submission: &SubmissionFacts{Exists: true, Branch: "task/" + id, Head: commit, Commit: commit, Named: commit,
		BaseIsAncestor: true, HasFixOnto: true, SourcesChanged: 1, TestsChanged: 1}}
}

// reviewed are the facts of an approval: nothing moved since the submission.
func (b *board) reviewed(id string) Input {
	in := Input{Review: &ReviewFacts{}}
	if t := b.Task(id); t != nil {
		in.Review = &ReviewFacts{BranchTip: t.ReviewCommit, Head: t.ReviewCommit}
	}
	return in
}

// mergeable are the facts of a merge that succeeded.
func mergeable(commit string) Input {
	return Input{Merge: &MergeFacts{Tip: integrationHead, Candidate: commit, Old: integrationHead, By: blackboard.System, Contained: true, Commit: commit}}
}

// The steps of a task's life, each done by whom it belongs to.

func (b *board) claim(id, coder string) *blackboard.Task {
	b.t.Helper()
	b.must(Claim(b.State, id, supervisorOf(coder), claimed(id), b.now))
	return b.Task(id)
}

func (b *board) submit(id string, n int) *blackboard.Task {
	b.t.Helper()
	b.must(Submit(b.State, id, programOf(b.Task(id).AssignedTo), submitted(id, commitOf(n)), b.now))
	return b.Task(id)
}

func (b *board) claimReview(id, reviewer string) *blackboard.Task {
	b.t.Helper()
	b.must(ClaimReview(b.State, id, supervisorOf(reviewer), Input{}, b.now))
	return b.Task(id)
}

func (b *board) approve(id string) *blackboard.Task {
	b.t.Helper()
	overruled, err := Approve(b.State, id, programOf(b.Task(id).ReviewingBy), b.reviewed(id), b.now)
	b.must(err)
	if overruled != "" {
		b.t.Fatalf("the approval of %s is overruled: %s", id, overruled)
	}
	return b.Task(id)
}

func (b *board) reject(id, reason string) *blackboard.Task {
	b.t.Helper()
	b.must(Reject(b.State, id, programOf(b.Task(id).ReviewingBy), Input{Reason: reason}, b.now))
	return b.Task(id)
}

func (b *board) merge(id string) *blackboard.Task {
	b.t.Helper()
	b.must(FinishMerge(b.State, id, system, mergeable(commitOf(900)), b.now))
	return b.Task(id)
}

// ready brings a task of coder-1 to READY_FOR_REVIEW.
func (b *board) ready(id string, n int) *blackboard.Task {
	b.t.Helper()
	b.add(id)
	b.claim(id, "coder-1")
	return b.submit(id, n)
}

// rejected brings a task of coder-1 to REJECTED.
func (b *board) rejected(id string, n int) *blackboard.Task {
	b.t.Helper()
	b.ready(id, n)
	b.claimReview(id, "code-reviewer-1")
	return b.reject(id, "greeting.go:1 misses the name")
}

// done brings a task of coder-1 to MERGED.
func (b *board) done(id string, n int) *blackboard.Task {
	b.t.Helper()
	b.ready(id, n)
	b.claimReview(id, "code-reviewer-1")
	b.approve(id)
	return b.merge(id)
}

// failed brings a task of coder-1 to INTEGRATION_FAILED.
func (b *board) failed(id string, n int) *blackboard.Task {
	b.t.Helper()
	b.ready(id, n)
	b.claimReview(id, "code-reviewer-1")
	b.approve(id)
	b.must(FailIntegration(b.State, id, system, Input{Merge: &MergeFacts{Reason: "conflict", Files: blackboard.List{"a.go"}}}, b.now))
	return b.Task(id)
}

// blocked brings a task of coder-1 to BLOCKED with a question.
func (b *board) blocked(id string) *blackboard.Task {
	b.t.Helper()
	b.add(id)
	b.claim(id, "coder-1")
	b.must(Block(b.State, id, programOf("coder-1"), Input{Reason: "the spec is silent", Questions: blackboard.List{"Is Windows in scope?"}}, b.now))
	return b.Task(id)
}

// refused asserts that an event is refused with that guard and exit code, in a sentence
// that contains text, with a command that helps, and without a trace.
func (b *board) refused(guard string, exit Exit, text string, event func() error) *Refusal {
	b.t.Helper()
	before := b.State.Clone()
	err := event()
	if diff := difference(before, b.State); diff != "" {
		b.t.Errorf("a refused event changed the state: %s", diff)
	}
	var r *Refusal
	if !errors.As(err, &r) {
		b.t.Fatalf("the event gives %v, want a refusal by %s", err, guard)
	}
	if r.Guard != guard || r.Exit != exit || !strings.Contains(r.Message, text) {
		b.t.Errorf("refused by %s with exit %d: %q\nwant %s with exit %d: …%s…", r.Guard, r.Exit, r.Message, guard, exit, text)
	}
	checkRefusal(b.t, r)
	return r
}

// already asserts that an event is answered as done already, without a trace.
func (b *board) already(what string, event func() error) {
	b.t.Helper()
	before := b.State.Clone()
	if err := event(); !IsAlreadyDone(err) {
		b.t.Errorf("%s again gives %v, want already done", what, err)
	}
	if diff := difference(before, b.State); diff != "" {
		b.t.Errorf("%s again changed the state: %s", what, diff)
	}
}

// valid asserts that a writer would accept the state.
func (b *board) valid() {
	b.t.Helper()
	if v := writeErrors(b.State, b.now); len(v) > 0 {
		b.t.Fatalf("the state is not valid: %v", v)
	}
}

func writeErrors(s *blackboard.State, now time.Time) []blackboard.Violation {
	var errs []blackboard.Violation
	for _, v := range audit.Validate(s, nil, audit.Evidence{Now: now, Write: true}) {
		if v.Severity == blackboard.SeverityError && v.OnWrite {
			errs = append(errs, v)
		}
	}
	return errs
}

// status asserts the status of a task.
func (b *board) status(id string, want blackboard.Status) *blackboard.Task {
	b.t.Helper()
	t := b.Task(id)
	if t.Status != want {
		b.t.Fatalf("task %s is %s, want %s", id, t.Status, want)
	}
	return t
}

// events lists the names of a task's history.
func events(t *blackboard.Task) []string {
	var names []string
	for _, h := range t.History {
		names = append(names, string(h.Event))
	}
	return names
}

// actions lists the journal actions for a task, all for "".
func actions(s *blackboard.State, task string) []string {
	var names []string
	for _, e := range s.Entries() {
		if task == "" || e.Task == task {
			names = append(names, string(e.Action))
		}
	}
	return names
}

func wantList(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(append([]string{}, got...), append([]string{}, want...)) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// difference says what two states differ in, "" for nothing.
func difference(a, b *blackboard.State) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		if name := x.Type().Field(i).Name; name == "entries" {
			if !reflect.DeepEqual(a.Entries(), b.Entries()) {
				return fmt.Sprintf("entries %v, then %v", a.Entries(), b.Entries())
			}
		} else if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return "section " + name
		}
	}
	return "something"
}

// commands are those of cli.md, the contract of the command line.
var commands = strings.Fields(`init run status show log validate watch top serve graph report metrics usage pause resume stop
	tell answer approve reject retry add sync restore edit config roles facts spec-change poststep
	replay gc doctor demo mcp version completion add-task finalize plan intent submit verdict block unblock supersede
	abandon handoff discover convert defer anomaly claim claim-review merge heartbeat register unregister scripted-agent`)

// checkRefusal asserts what every refusal has: a sentence, and a command that exists.
func checkRefusal(t testing.TB, r *Refusal) {
	t.Helper()
	if strings.TrimSpace(r.Message) == "" || strings.HasSuffix(r.Message, ".") || strings.Contains(r.Message, "%!") || strings.Contains(r.Message, "  ") {
		t.Errorf("the message of %s is not a sentence: %q", r.Guard, r.Message)
	}
	words := strings.Fields(r.Next)
	switch {
	case len(words) < 2:
		t.Errorf("%s (%s) names no next command: %q", r.Guard, r.Message, r.Next)
	case words[0] == "git":
	case words[0] != "liza":
		t.Errorf("%s (%s): next is not a command: %q", r.Guard, r.Message, r.Next)
	case words[1] == "help":
		if len(words) != 3 || !blackboard.List(commands).Has(words[2]) {
			t.Errorf("%s (%s): next asks for help about an unknown command: %q", r.Guard, r.Message, r.Next)
		}
	case !blackboard.List(commands).Has(words[1]):
		t.Errorf("%s (%s): next is an unknown command: %q", r.Guard, r.Message, r.Next)
	}
}

// plainWords are words of the protocol without their type.
func plainWords[W ~string](list []W) []string {
	var words []string
	for _, w := range list {
		words = append(words, string(w))
	}
	return words
}
