package verb_test

import (
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// ofRun are the verbs as a process in the run of an agent calls them: with the token of the run.
func ofRun(t *testing.T, p *verbtest.Place, agent, task string) *verb.Service {
	t.Helper()
	p.Must(nil, p.Service("").Board.Update(t.Context(), "test", func(s *blackboard.State, _ transition.Actor) error {
		s.Agents[agent].Child = &blackboard.Child{PID: 1, Run: 1, Task: task, TokenHash: board.HashToken("run"), Started: blackboard.TimeOf(p.Service("").Board.Now())}
		return nil
	}))
	d := p.Service("")
	return d.With(func(s *board.Session) { s.Caller = board.Caller{AgentID: agent, Token: "run"} })
}

// A verb inside a run is recorded, when it would be allowed, and changes nothing else: the end of the run decides.
func TestAVerbOfARunIsRecorded(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.Must(p.Supervised("coder-1").Claim(t.Context(), "task-1"))
	run := ofRun(t, p, "coder-1", "task-1")
	if _, err := run.Submit(t.Context(), verb.SubmitInput{Task: "task-1"}); !board.IsRefusal(err) || len(p.State().Agents["coder-1"].Said) != 0 {
		t.Errorf("a submission without a commit gives %v, recorded %d", err, len(p.State().Agents["coder-1"].Said))
	}
	p.Commit("task-1")
	for range 2 { // the second time it replaces what was said
		if done, err := run.Submit(t.Context(), verb.SubmitInput{Task: "task-1", Summary: "Done."}); err != nil || !done.Said || done.Status != blackboard.Claimed {
			t.Errorf("submit gives %+v, %v", done, err)
		}
	}
	done, err := run.Block(t.Context(), verb.BlockInput{Task: "task-1", Reason: "the spec names two formats", Questions: []string{"Which?"}})
	if s := p.State(); err != nil || !done.Said || s.Task("task-1").Status != blackboard.Claimed || len(s.Agents["coder-1"].Said) != 2 || len(s.Questions) != 0 {
		t.Errorf("block gives %+v, %v; task-1 is %s, recorded %+v", done, err, s.Task("task-1").Status, s.Agents["coder-1"].Said)
	}
	p.Must(nil, p.Service("").Board.Update(t.Context(), "test", func(s *blackboard.State, _ transition.Actor) error {
		s.Agents["coder-1"].Child, s.Agents["coder-1"].Said = nil, nil
		return nil
	}))
	p.Must(p.Service("coder-1").Submit(t.Context(), verb.SubmitInput{Task: "task-1"}))

	p.Must(p.Supervised("code-reviewer-1").Reviews.ClaimReview(t.Context(), "task-1"))
	judge := ofRun(t, p, "code-reviewer-1", "task-1")
	judged, err := judge.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: verb.Approve})
	if s := p.State(); err != nil || !judged.Said || s.Task("task-1").Status != blackboard.ReadyForReview || s.Task("task-1").ApprovedBy != "" || len(s.Agents["code-reviewer-1"].Said) != 1 {
		t.Errorf("approve gives %+v, %v; task-1 is %s", judged, err, s.Task("task-1").Status)
	}
	if _, err := judge.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: verb.Reject, Reason: "bad"}); !board.IsRefusal(err) || len(p.State().Agents["code-reviewer-1"].Said) != 1 {
		t.Errorf("a rejection without a place gives %v", err)
	}
}
