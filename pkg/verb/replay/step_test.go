package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func held(t *blackboard.Task) { t.Hold = &blackboard.Hold{By: "ada", Reason: "wait"} }

func ofKind(k blackboard.TaskKind) func(*blackboard.Task) {
	return func(t *blackboard.Task) { t.Kind = k }
}

// onBoard is a service whose board has a task in each status, named for it, and what does not follow from a status.
func onBoard(t *testing.T) *verb.Service {
	t.Helper()
	var tasks []*blackboard.Task
	for _, st := range blackboard.Statuses {
		tasks = append(tasks, verbtest.Task(string(st), st))
	}
	tasks = append(tasks, verbtest.Task("live", blackboard.Claimed, verbtest.ClaimedBy("coder-1", 5)), verbtest.Task("over", blackboard.Claimed, verbtest.ClaimedBy("coder-1", -5)),
		verbtest.Task("command", blackboard.Unclaimed, ofKind(blackboard.ExecTask)), verbtest.Task("message", blackboard.Unclaimed, ofKind(blackboard.MessageTask)),
		verbtest.Task("held", blackboard.Unclaimed, held))
	d, _ := verbtest.OnMemory(t, verbtest.Board(tasks...))
	return d
}

// A simulated answer can only end a run that could have been: for each kind of agent, what is refused and what helps.
func TestWhichRunsCanHaveEnded(t *testing.T) {
	t.Parallel()
	d := onBoard(t)
	coder := map[string]string{"UNCLAIMED": "", "REJECTED": "", "INTEGRATION_FAILED": "", "over": "", "held": "",
		"live":    "4 no run of a coder can have ended: task live is claimed by coder-1 (next: liza retry live --reason T)",
		"command": "4 no run of a coder can have ended: task command is of kind exec (next: liza show command)",
		"message": "4 no run of a coder can have ended: task message is of kind msg (next: liza show message)"}
	for _, st := range []string{"DRAFT", "READY_FOR_REVIEW", "APPROVED", "BLOCKED", "MERGED", "ABANDONED", "SUPERSEDED"} {
		coder[st] = fmt.Sprintf("4 no run of a coder can have ended: task %s is %s (next: liza show %s)", st, st, st)
	}
	reviewer := map[string]string{"READY_FOR_REVIEW": ""}
	for _, st := range []string{"DRAFT", "UNCLAIMED", "REJECTED", "INTEGRATION_FAILED", "APPROVED", "BLOCKED", "MERGED", "ABANDONED", "SUPERSEDED"} {
		reviewer[st] = fmt.Sprintf("4 no run of a code_reviewer can have ended: task %s is %s (next: liza show %s)", st, st, st)
	}
	const planners = "2 the planner's runs belong to _planner: liza poststep _planner --as planner (next: liza help poststep)"
	for kind, cases := range map[role.Kind]map[string]string{role.Coder: coder, role.Reviewer: reviewer, role.Planner: {board.PlannerRuns: "", "UNCLAIMED": planners}} {
		cases["nope"] = map[bool]string{false: "4 no task 'nope' (next: liza status)", true: planners}[kind == role.Planner]
		if kind != role.Planner {
			cases[board.PlannerRuns] = planners
		}
		for task, want := range cases {
			_, err := simulator{d}.poststepFrom(context.Background(), PoststepInput{Task: task, Kind: kind})
			if got := verbtest.Advice(err); got != want {
				t.Errorf("a run of a %s on %s: %q, want %q", kind, task, got, want)
			}
		}
	}
}

// Poststep is for people, and says so to an agent before it looks at anything else.
func TestNoAgentSimulates(t *testing.T) {
	t.Parallel()
	agent := onBoard(t).With(func(s *board.Session) { s.Caller = board.Caller{As: "coder-2"} })
	_, err := Poststep(context.Background(), agent, PoststepInput{Task: "nope", Kind: role.Coder})
	if got, want := verbtest.Advice(err), "4 coder-2 may not simulate a run; human may (next: liza status)"; got != want {
		t.Errorf("as an agent: %q, want %q", got, want)
	}
}

// text is the board as one text, to see whether anything of it changed.
func text(t *testing.T, d *verb.Service) string {
	t.Helper()
	s, err := d.Board.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, s.Revision, len(s.Agents))
	for x := range s.Tasks() {
		fmt.Fprintln(&b, x.ID, x.Status, x.AssignedTo, len(x.History))
	}
	return b.String()
}

// What the next run would find is shown on a copy: for whom it is, and why it could not begin now.
func TestARehearsalShowsTheNextRunAndWritesNothing(t *testing.T) {
	t.Parallel()
	waits := verbtest.Task("waits", blackboard.Unclaimed, func(t *blackboard.Task) { t.DependsOn = blackboard.List{"free"} })
	reviewed := verbtest.Task("reviewed", blackboard.ReadyForReview, func(t *blackboard.Task) { t.ReviewingBy = "code-reviewer-7"; t.ReviewLeaseExpires = verbtest.At(5) })
	d, kept := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("free", blackboard.Unclaimed), waits, verbtest.Task("live", blackboard.Claimed, verbtest.ClaimedBy("coder-7", 5)), reviewed,
		verbtest.Task("held", blackboard.Unclaimed, held), verbtest.Task("message", blackboard.Unclaimed, ofKind(blackboard.MessageTask)), verbtest.Task("command", blackboard.Unclaimed, ofKind(blackboard.ExecTask)),
		verbtest.Task("draft", blackboard.Draft), verbtest.Task("blocked", blackboard.Blocked), verbtest.Task("done", blackboard.Merged)))
	before := text(t, d)
	for _, c := range []struct {
		task, kind, agent, warning, refused string
	}{
		{task: "free", kind: "coder", agent: "coder-1"},
		{task: "waits", kind: "coder", agent: "coder-1", warning: "task waits waits for free (UNCLAIMED)"},
		{task: "held", kind: "coder", agent: "coder-1", warning: "on hold"},
		{task: "live", kind: "coder", agent: "coder-7"},
		{task: "reviewed", kind: "code_reviewer", agent: "code-reviewer-7"},
		{task: "message", kind: "messenger", agent: "coder-1"},
		{task: "command", refused: "4 task command is of kind exec: the supervisor runs it itself, there is no prompt (next: liza show command)"},
		{task: "draft", refused: "4 task draft is DRAFT: no agent is started for it (next: liza show draft)"},
		{task: "blocked", refused: "4 task blocked is BLOCKED: no agent is started for it (next: liza show blocked)"},
		{task: "done", refused: "4 task done is MERGED: no agent is started for it (next: liza show done)"},
		{task: "fre", refused: "4 no task 'fre'; did you mean 'free'? (next: liza status)"},
		{task: "planer", refused: "4 no task 'planer'; did you mean 'planner'? (next: liza status)"},
	} {
		r, err := Rehearse(context.Background(), d, c.task, transition.TriggerFacts{})
		if got := verbtest.Advice(err); got != c.refused {
			t.Errorf("%s: %q, want %q", c.task, got, c.refused)
			continue
		}
		if err != nil {
			continue
		}
		if string(r.Kind) != c.kind || r.Agent != c.agent || (r.Warning == "") != (c.warning == "") || !strings.Contains(r.Warning, c.warning) {
			t.Errorf("%s: a run of a %s as %s, warning %q; want a %s as %s, warning %q", c.task, r.Kind, r.Agent, r.Warning, c.kind, c.agent, c.warning)
		}
		if r.Task == nil || r.Kind == role.Coder && (r.Task.Status != blackboard.Claimed || r.Task.AssignedTo != c.agent) {
			t.Errorf("%s: the copy has it %s by %s, want claimed by %s", c.task, r.Task.Status, r.Task.AssignedTo, c.agent)
		}
	}
	if after := text(t, d); after != before || len(kept.Journal()) != 0 {
		t.Errorf("a rehearsal changed the board from\n%s to\n%swith entries %v", before, after, kept.Journal())
	}
}

func TestARehearsedPlannerNeedsAReason(t *testing.T) {
	t.Parallel()
	fresh, _ := verbtest.OnMemory(t, verbtest.Board())
	r, err := Rehearse(context.Background(), fresh, "_planner", transition.TriggerFacts{})
	if err != nil || r.Kind != role.Planner || r.Agent != "planner-1" || len(r.Due) == 0 || r.Due[0].Kind != transition.TriggerInitialPlanning {
		t.Errorf("an empty board: %v, %s %s because of %v; want planner-1 for the first plan", err, r.Kind, r.Agent, r.Due)
	}
	d, _ := verbtest.OnMemory(t, verbtest.Board(verbtest.Task("a", blackboard.Unclaimed)))
	if _, err = Rehearse(context.Background(), d, "_planner", transition.TriggerFacts{}); verbtest.Advice(err) != "7 there is no reason to plan, so no planner would be started (next: liza status)" {
		t.Errorf("a board with work: %v, want exit 7", err)
	}
}
