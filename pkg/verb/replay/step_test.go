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

func halted(t *blackboard.Task) { t.Halt = &blackboard.Halt{Kind: "cost", Limit: 1} }

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
		verbtest.Task("halted", blackboard.Blocked, halted), verbtest.Task("command", blackboard.Unclaimed, ofKind(blackboard.ExecTask)), verbtest.Task("message", blackboard.Unclaimed, ofKind(blackboard.MessageTask)),
		verbtest.Task("held", blackboard.Unclaimed, held))
	d, _ := verbtest.OnMemory(t, verbtest.Board(tasks...))
	return d
}

// Each status calls for one kind of run, for a merge, or for somebody whose command the refusal names.
func TestWhatAStatusCallsFor(t *testing.T) {
	t.Parallel()
	d := onBoard(t)
	for task, want := range map[string]string{
		"UNCLAIMED": "coder", "REJECTED": "coder", "INTEGRATION_FAILED": "coder", "over": "coder", "READY_FOR_REVIEW": "code_reviewer", "APPROVED": "merge",
		board.PlannerRuns: "planner",
		"live":            "4 task live is claimed by coder-1 (next: liza release live --reason T)",
		"DRAFT":           "4 task DRAFT is DRAFT: no run can be started for it (next: liza finalize DRAFT)",
		"BLOCKED":         "4 task BLOCKED is BLOCKED: no run can be started for it (next: liza unblock BLOCKED --reason T)",
		"halted":          "4 task halted is BLOCKED: no run can be started for it (next: liza resubmit halted)",
		"MERGED":          "4 task MERGED is MERGED: no run can be started for it (next: liza show MERGED)",
		"ABANDONED":       "4 task ABANDONED is ABANDONED: no run can be started for it (next: liza show ABANDONED)",
		"SUPERSEDED":      "4 task SUPERSEDED is SUPERSEDED: no run can be started for it (next: liza show SUPERSEDED)",
		"liv":             "4 no task 'liv'; did you mean 'live'? (next: liza status)",
		"../x":            "4 no task '../x' (next: liza status)",
	} {
		next, err := Step(context.Background(), d, task)
		got := string(next.Kind)
		if next.Merge {
			got += "merge"
		}
		if err != nil {
			got = verbtest.Advice(err)
		}
		if got != want || next.Task != task {
			t.Errorf("the next step of %s: %q of %s, want %q", task, got, next.Task, want)
		}
	}
}

// A simulated answer can only end a run that could have been: for each kind of agent, what is refused and what helps.
func TestWhichRunsCanHaveEnded(t *testing.T) {
	t.Parallel()
	d := onBoard(t)
	coder := map[string]string{"UNCLAIMED": "", "REJECTED": "", "INTEGRATION_FAILED": "", "over": "", "held": "",
		"live":    "4 no run of a coder can have ended: task live is claimed by coder-1 (next: liza release live --reason T)",
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
			from, err := simulator{d}.poststepFrom(context.Background(), PoststepInput{Task: task, Kind: kind})
			if got := verbtest.Advice(err); got != want {
				t.Errorf("a run of a %s on %s: %q, want %q", kind, task, got, want)
			}
			if err == nil && from.epoch != 1 {
				t.Errorf("a run of a %s on %s began in epoch %d, want 1", kind, task, from.epoch)
			}
		}
	}
}

// Each of these verbs is for people, and says so to an agent before it looks at anything else.
func TestNoAgentSimulatesOrTakesBack(t *testing.T) {
	t.Parallel()
	d := onBoard(t)
	agent := d.With(func(s *board.Session) { s.Caller = board.Caller{As: "coder-2"} })
	ctx := context.Background()
	for what, call := range map[string]func() error{
		"simulate a run": func() error {
			_, err := Poststep(ctx, agent, PoststepInput{Task: "nope", Kind: role.Coder})
			return err
		},
		"simulate a run ": func() error {
			_, err := RehearsePoststep(ctx, agent, PoststepInput{Task: "nope", Kind: role.Coder})
			return err
		},
		"take a task back":   func() error { _, err := Restep(ctx, agent, "nope", "1"); return err },
		"start a task again": func() error { _, err := Rerun(ctx, agent, RerunInput{Task: "nope"}); return err },
	} {
		want := "4 coder-2 may not " + strings.TrimSpace(what) + "; human may (next: liza status)"
		if got := verbtest.Advice(call()); got != want {
			t.Errorf("%s as an agent: %q, want %q", what, got, want)
		}
	}
}

// A task that somebody works on, or that is over, is neither taken back nor started again.
func TestOnlyAnIdleTaskGoesBack(t *testing.T) {
	t.Parallel()
	d := onBoard(t)
	ctx := context.Background()
	cases := map[string]string{"nope": "4 no task 'nope' (next: liza status)", "live": "4 task live is claimed by coder-1 (next: liza release live --reason T)"}
	for _, st := range []string{"MERGED", "ABANDONED", "SUPERSEDED"} {
		cases[st] = fmt.Sprintf("4 task %s is %s, and that is final; make a new task (next: liza add-task)", st, st)
	}
	before := text(t, d)
	for task, want := range cases {
		_, err := Restep(ctx, d, task, "1")
		_, again := Rerun(ctx, d, RerunInput{Task: task})
		if back, anew := verbtest.Advice(err), verbtest.Advice(again); back != want || anew != want {
			t.Errorf("%s: restep %q, rerun %q; want %q", task, back, anew, want)
		}
	}
	for number, want := range map[string]string{"1": "2 --to 1: UNCLAIMED has no interaction yet (next: liza history UNCLAIMED)", "x": "2 --to x: UNCLAIMED has no interaction yet (next: liza history UNCLAIMED)"} {
		if _, err := Restep(ctx, d, "UNCLAIMED", number); verbtest.Advice(err) != want {
			t.Errorf("back to %s: %q, want %q", number, verbtest.Advice(err), want)
		}
	}
	if after := text(t, d); after != before {
		t.Errorf("refused, and the board changed from\n%s to\n%s", before, after)
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
		fmt.Fprintln(&b, x.ID, x.Status, x.AssignedTo, x.Epoch, len(x.History))
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
		{task: "_planer", refused: "4 no task '_planer'; did you mean '_planner'? (next: liza status)"},
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
