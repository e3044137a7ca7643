package dashboard

import (
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// story is a sprint of two hours in which most went well: what a report, a timeline and figures are made of.
func story() (*blackboard.State, []history.UsageLine) {
	s := &blackboard.State{Revision: 210, Goal: &blackboard.Goal{ID: "goal-1", Status: blackboard.InProgress, Description: "A greeting command with options, languages and tests\nThe vision is in specs/vision.md; the command stays a single shell script."},
		Sprint: &blackboard.Sprint{ID: "sprint-3", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: ago(128)},
			Checkpoints: []*blackboard.Checkpoint{{N: 1, At: ago(70), By: "ada", Message: "Are two languages enough?", Decision: "CONTINUE", DecidedBy: "ada"}}},
		Agents: map[string]*blackboard.Agent{
			"coder-1":         {Role: blackboard.RoleCoder, Status: blackboard.AgentWorking, CurrentTask: "usage", LeaseExpires: ago(-20), Child: &blackboard.Child{Task: "usage", Started: ago(6), Sandbox: "closed"}},
			"coder-2":         {Role: blackboard.RoleCoder, Status: blackboard.AgentWaiting, LeaseExpires: ago(-20)},
			"code-reviewer-1": {Role: blackboard.RoleReviewer, Status: blackboard.AgentWaiting, LeaseExpires: ago(-20)},
			"planner-1":       {Role: blackboard.RolePlanner, Status: blackboard.AgentWaiting, LeaseExpires: ago(-20)},
		},
		Discovered: []*blackboard.Discovery{{ID: "disc-1", By: "coder-2", During: "name", Severity: "medium", Description: "The test runner stops at the first failing file."}},
	}
	var runs []history.UsageLine
	run := func(agent, kind, task string, end, minutes int, cost float64, outcome string) {
		c := blackboard.AmountOf(cost)
		in, out := minutes*9000, minutes*700
		runs = append(runs, history.UsageLine{At: ago(end), Agent: agent, Kind: kind, Task: task, Seconds: minutes * 60, CostCents: &c, TokensIn: &in, TokensOut: &out, Outcome: outcome})
	}
	run("planner-1", "planner", "", 124, 4, 21, "finished")
	task := func(id, title, coder string, begin, work, review int, back string, deps ...string) {
		t := &blackboard.Task{ID: id, Title: title, Status: blackboard.Merged, AssignedTo: coder, Iteration: 1, DependsOn: deps, MergeCommit: fmt.Sprintf("%x0c0ffee5eed1234567890abcdef1234567890abc", len(id)),
			LastOutcome: &blackboard.LastOutcome{Summary: title + " works, with a test."}, Usage: &blackboard.Usage{}}
		add := func(minutes int, event blackboard.HistoryEvent, agent, reason string) {
			t.History = append(t.History, &blackboard.HistoryEntry{Time: ago(minutes), Event: event, Agent: agent, Reason: reason})
		}
		add(125, "created", "planner-1", "")
		add(124, "finalized", "planner-1", "")
		at := begin
		round := func(verdict, reason string) {
			add(at, "claimed", coder, "")
			at -= work
			run(coder, "coder", id, at, work, float64(work)*4.5, "finished")
			add(at, "ready_for_review", coder, "")
			add(at, "review_claimed", "code-reviewer-1", "")
			at -= review
			run("code-reviewer-1", "code_reviewer", id, at, review, float64(review)*2.5, "finished")
			add(at, blackboard.HistoryEvent(verdict), "code-reviewer-1", reason)
			t.Usage.Seconds += 60 * (work + review)
			t.Usage.CostCents += blackboard.AmountOf(float64(work)*4.5 + float64(review)*2.5)
			t.Usage.AgentRuns += 2
		}
		if back != "" {
			round("rejected", back)
			t.ReviewCyclesTotal, t.Iteration = 1, 2
			at--
		}
		round("approved", "")
		add(at, "merged", "system", "")
		s.AddTasks(t)
	}
	task("greet", "Print a greeting", "coder-1", 122, 12, 4, "")
	task("name", "Greet somebody by name", "coder-2", 104, 11, 5, "greet.sh:8 --name without a name loops for ever: refuse it with exit code 2 and add a test for it", "greet")
	task("shout", "Shout the greeting", "coder-1", 104, 9, 3, "", "greet")
	task("german", "Greet in German", "coder-1", 88, 7, 3, "", "greet")
	task("french", "Greet in French", "coder-1", 74, 8, 3, "", "greet")
	open := func(t *blackboard.Task) { s.AddTasks(t) }
	open(&blackboard.Task{ID: "languages", Title: "Greet in other languages", Status: blackboard.Superseded, SupersededBy: blackboard.List{"german", "french"}, RescopeReason: "the vision names two languages; each is a task of its own", History: past(100, "superseded", "planner-1")})
	open(&blackboard.Task{ID: "usage", Title: "Show every option in the README", Status: blackboard.Claimed, AssignedTo: "coder-1", DependsOn: blackboard.List{"name", "shout", "german", "french"}, History: past(6, "claimed", "coder-1")})
	open(&blackboard.Task{ID: "windows", Title: "Run on Windows", Status: blackboard.Blocked, BlockedKind: "question", BlockedReason: "the vision does not say whether Windows is meant", AssignedTo: "coder-2", DependsOn: blackboard.List{"greet"},
		BlockedQuestions: blackboard.List{"Is Windows meant?"}, History: past(40, "blocked", "coder-2")})
	open(&blackboard.Task{ID: "tell", Title: "Tell what was done", Kind: "msg", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"usage"}, History: past(124, "finalized", "planner-1")})
	run("coder-2", "coder", "windows", 40, 6, 24, "finished")
	s.Usage = &blackboard.Usage{}
	for _, r := range runs {
		s.Usage.CostCents, s.Usage.AgentRuns, s.Usage.Seconds = s.Usage.CostCents.Plus(*r.CostCents), s.Usage.AgentRuns+1, s.Usage.Seconds+r.Seconds
	}
	return s, runs
}
