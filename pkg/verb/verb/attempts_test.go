package verb_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/seal"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/importer"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

type (
	vs = verb.Service
	bs = blackboard.State
)

// one is a verb about one task, for the table of who may do what in which status.
type one func(ctx context.Context, d *vs, task string) (any, error)

// ofTask are the verbs about one task.
var ofTask = map[string]one{
	"Hold": func(ctx context.Context, d *vs, id string) (any, error) { return d.Hold(ctx, id, "not yet") },
	"EditTask": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.EditTask(ctx, verb.TaskEdit{Task: id, Title: "Another name"})
	},
	"Unhold":      func(ctx context.Context, d *vs, id string) (any, error) { return d.Unhold(ctx, id) },
	"Finalize":    func(ctx context.Context, d *vs, id string) (any, error) { return d.Finalize(ctx, []string{id}) },
	"ClaimReview": func(ctx context.Context, d *vs, id string) (any, error) { return d.Reviews.ClaimReview(ctx, id) },
	"Submit": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Submit(ctx, verb.SubmitInput{Task: id, Summary: "It is done", Evidence: []string{"claimed.md"}})
	},
	"ApproveMerge": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: id, Reason: "it is good"})
	},
	"RejectMerge": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.RejectMerge(ctx, verb.MergeDecision{Task: id, Reason: "it is bad"})
	},
	"Block": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Block(ctx, verb.BlockInput{Task: id, Reason: "The format is not said", Questions: []string{"Which format?"}, Attempted: []string{"a guess"}})
	},
	"Intent": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Intent(ctx, id, blackboard.Intent{Intent: "Write a word", Validation: "read it", FilesToModify: []string{"claimed.md"}})
	},
	"Handoff": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Handoff(ctx, id, blackboard.Handoff{Summary: "Half of it", NextAction: "The other half"})
	},
	"Release": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Release(ctx, verb.ReleaseInput{Task: id, Reason: "Somebody else"})
	},
	"Release, by force": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Release(ctx, verb.ReleaseInput{Task: id, Reason: "Somebody else", Force: true})
	},
	"Unblock": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Unblock(ctx, verb.WayOut{Task: id, Reason: "It is text"})
	},
	"Abandon": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Abandon(ctx, verb.WayOut{Task: id, Reason: "Nobody needs it", RootCause: "a mistake"})
	},
	"Supersede": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Supersede(ctx, verb.WayOut{Task: id, Reason: "Simpler", By: []string{"unclaimed"}})
	},
	"Halt": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Halt(ctx, id, &blackboard.Halt{Kind: "cost", Limit: 5})
	},
	"RunFailed": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.RunFailed(ctx, id, "crashed", "exit code 3", "the last line")
	},
	"Deliver": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Deliver(ctx, id, blackboard.Output{Text: "42"}, "It is 42")
	},
	"Resubmit": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Resubmit(ctx, id, blackboard.Settings{"max_cost_cents": 9})
	},
	"ItemDone": func(ctx context.Context, d *vs, id string) (any, error) { return nil, d.ItemDone(ctx, id, 1, 0, "ok") },
	"Comment": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.Comment(ctx, verb.Comment{Task: id, Path: id + ".md", Line: 1, Text: "Which word?"})
	},
	"Verdict, approve": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Approve, Suggestions: []string{"two words"}, Learn: []string{"The parser reads one line at a time"}})
	},
	"Verdict, reject": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Reject, Reason: "reviewed.md:1 has no word", Findings: []*blackboard.Finding{{Severity: "error", Check: "words", File: "reviewed.md", Line: 1, Message: "no word"}, nil}})
	},
	"Verdict, replan": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.Replan, Reason: "It takes two tasks"})
	},
	"Verdict, stuck": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: verb.StuckReview, Reason: "I cannot start it"})
	},
	"Tell": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Tell(ctx, verb.TellInput{To: id, Text: "Mind the gap"})
	},
	"Anomaly": func(ctx context.Context, d *vs, id string) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "x-odd", Task: id, Details: map[string]string{"count": "many"}})
	},
}

// writing is a verb whose writes are on record: one about a task with the caller and the status in which it is usual.
func writing() []attempt {
	var list []attempt
	for _, x := range []struct{ name, as, task string }{
		{"Hold", "", "unclaimed"}, {"EditTask", "", "claimed"}, {"Unhold", "", "held"}, {"Finalize", "", "draft"}, {"ClaimReview", "code-reviewer-2", "submitted"}, {"Submit", "coder-1", "claimed"},
		{"Block", "coder-1", "claimed"}, {"Intent", "coder-1", "claimed"}, {"Handoff", "coder-1", "claimed"}, {"Release", "coder-1", "claimed"}, {"Release", "code-reviewer-1", "reviewed"},
		{"Release, by force", "", "claimed"}, {"Unblock", "", "blocked"}, {"Abandon", "", "blocked"}, {"Supersede", "", "blocked"}, {"Halt", "coder-1", "claimed"},
		{"RunFailed", "coder-1", "claimed"}, {"Comment", "", "reviewed"}, {"Verdict, approve", "code-reviewer-1", "reviewed"}, {"Verdict, reject", "code-reviewer-1", "reviewed"},
		{"Verdict, replan", "code-reviewer-1", "reviewed"}, {"Verdict, stuck", "code-reviewer-1", "reviewed"}, {"Tell", "", "claimed"}, {"Anomaly", "coder-1", "claimed"},
	} {
		call := ofTask[x.name]
		list = append(list, attempt{name: x.name, as: x.as, call: func(ctx context.Context, d *vs) (any, error) { return call(ctx, d, x.task) }})
	}
	return append(list, others...)
}

func exit(kind, text string) exitcmd.Answer { return exitcmd.Read(text, kind) }

// applies is the end of a run of that kind, whose program printed the text.
func applies(kind, agent, task, text string) func(context.Context, *vs) (any, error) {
	return func(ctx context.Context, d *vs) (any, error) {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		return outcome.Apply(ctx, d, outcome.Run{Kind: kind, Task: task, Before: outcome.MarkOf(d, s, agent, task), Answer: exit(kind, text), Answers: 2})
	}
}

func askedBy(kind, task string) func(context.Context, *vs) (any, error) {
	return func(ctx context.Context, d *vs) (any, error) {
		return outcome.Asked(ctx, d, outcome.Run{Kind: kind, Task: task}, "the agent program asked on its terminal", verb.Prompted{Type: "choice", Text: "Overwrite it?", Options: []string{"yes", "no"}})
	}
}

func unanswered(kind, task string) func(context.Context, *vs) (any, error) {
	return func(ctx context.Context, d *vs) (any, error) {
		return outcome.Unanswered(ctx, d, outcome.Run{Kind: kind, Task: task}, "no JSON in it", 3)
	}
}

func nothingNew(task string) func(context.Context, *vs) (any, error) {
	return func(ctx context.Context, d *vs) (any, error) {
		return outcome.NothingNew(ctx, d, outcome.Run{Kind: "coder", Task: task}, "nothing new since commit 1 failed in its merge: checks")
	}
}

func unable(why string) func(context.Context, *vs) (any, error) {
	return func(ctx context.Context, d *vs) (any, error) { return nil, d.Checks.Unable(ctx, "make test", why) }
}

// asksAboutMake is a board that asks about a check that cannot run, with the answer of a person if there is one.
func asksAboutMake(answer string) func(*bs) {
	return func(s *bs) {
		q := &blackboard.Question{ID: "q-9", Agent: blackboard.System, Kind: blackboard.QuestionUnable, Type: "choice", Check: "make test", Text: "Merge without it?",
			Options: blackboard.List{blackboard.AnswerGoOn, blackboard.AnswerStop}, Status: blackboard.QuestionOpen, Asked: s.Goal.Created}
		if answer != "" {
			q.Status, q.Answer, q.By, q.AnsweredAt = blackboard.QuestionAnswered, answer, "ada", s.Goal.Created
		}
		s.Questions = append(s.Questions, q)
	}
}

func canApprove(_ context.Context, d *vs) (any, error) { return nil, d.Merges.CanApprove() }

// withoutKey is a board of a project whose key is not here.
type withoutKey struct{ store.Store }

func (withoutKey) CheckSeal(*blackboard.Task, string) error {
	return &seal.NoKeyError{ID: "k-1", Folder: "the state folder"}
}

func atCheckpoint(s *bs) { s.Sprint.Status = blackboard.AtCheckpoint }
func waitsForHuman(s *bs) {
	s.Task("approved").MergeApproval = &blackboard.MergeApproval{Required: true}
}

func runsOf(agent, task string) func(*bs) {
	return func(s *bs) {
		s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: "note-1", Message: "Mind the gap", For: task, Timestamp: s.Goal.Created})
		s.Agents[agent].Child = &blackboard.Child{PID: 1, Task: task, RunID: "g-1"}
	}
}

const aPlan = `{"goal":"Measure","tasks":[{"id":"task-9","type":"docs","detail":"Write the word","expect":"task-9.md contains a word","scope":"IN: task-9.md","spec_ref":"specs/vision.md"},{"kind":"msg","detail":"Say that it is done","expect":"it says so","notify":true}]}`

var others = []attempt{
	{name: "AddTask", call: func(ctx context.Context, d *vs) (any, error) {
		n := verb.NewTask{Task: aTask, Stretch: true}
		n.SetLimits(map[string]int{"max_iterations": 3, "max_review_cycles": 4, "max_cost_cents": 5})
		n.Task.AcceptanceCriteria = []string{"it is a word"}
		return d.AddTask(ctx, n)
	}},
	{name: "Finalize, nothing", call: func(ctx context.Context, d *vs) (any, error) { return d.Finalize(ctx, nil) }},
	{name: "Register", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.Register(ctx, verb.RegisterInput{Role: "coder", PID: 77, PIDStart: 5, Terminal: "tty1", CLI: "claude", Model: "opus", Settings: map[string]string{"a": "b"}})
	}},
	{name: "Register, without a process", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.Register(ctx, verb.RegisterInput{ID: "coder-7"})
	}},
	{name: "Unregister", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.Agents.Unregister(ctx, "planner-1", true) }},
	{name: "Unregister, one with a claim", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.Agents.Unregister(ctx, "coder-1", false) }},
	{name: "StopAgent", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.StopAgent(ctx, verb.AgentOrder{Agent: "coder-1", Reason: "It loops"})
	}},
	{name: "StopAgent, by an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.StopAgent(ctx, verb.AgentOrder{Agent: "coder-1"})
	}},
	{name: "Attach, by an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.Attach(ctx, verb.RegisterInput{ID: "coder-1"})
	}},
	{name: "Attach", call: func(ctx context.Context, d *vs) (any, error) { // which runs no program
		return d.Agents.Attach(ctx, verb.RegisterInput{ID: "coder-1"})
	}},
	{name: "RestartAgent", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.RestartAgent(ctx, verb.AgentOrder{Agent: "coder-1", Task: "unclaimed"})
	}},
	{name: "Heartbeat", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return d.Agents.Heartbeat(ctx) }},
	{name: "Heartbeat, of a person", call: func(ctx context.Context, d *vs) (any, error) { return d.Agents.Heartbeat(ctx) }},
	{name: "Anomaly, with details", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "retry_loop", Task: "claimed", Details: map[string]string{"count": " 3 ", "error_pattern": "no\x00 such file"}})
	}},
	{name: "Anomaly, no number", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "retry_loop", Task: "claimed", Details: map[string]string{"count": "-1", "error_pattern": "x"}})
	}},
	{name: "Anomaly, yes", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "trade_off", Task: "claimed", Details: map[string]string{"what": "a list", "why": "time", "debt_created": "YES"}})
	}},
	{name: "Anomaly, no", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "trade_off", Task: "claimed", Details: map[string]string{"what": "a list", "why": "time", "debt_created": "false"}})
	}},
	{name: "Anomaly, neither", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "trade_off", Task: "claimed", Details: map[string]string{"what": "a list", "why": "time", "debt_created": "some"}})
	}},
	{name: "Anomaly, names", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "hypothesis_exhaustion", Task: "claimed", Details: map[string]string{"failed_by": "coder-1, ,coder-2"}})
	}},
	{name: "Anomaly, at a breaker that tripped", as: "coder-1", board: func(s *bs) {
		s.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped, CurrentTrigger: &blackboard.BreakerTrigger{Patterns: []string{"loop", "thrash"}, ReportFile: "report.md"}}
	}, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Anomaly(ctx, verb.AnomalyInput{Type: "x-odd", Task: "claimed"})
	}},
	{name: "Answer", call: func(ctx context.Context, d *vs) (any, error) { return d.Answer(ctx, "q-1", "It is text") }},
	{name: "Answer, not the last", board: func(s *bs) {
		q := *s.Questions[0]
		q.ID = "q-2"
		s.Questions = append(s.Questions, &q)
	}, call: func(ctx context.Context, d *vs) (any, error) { return d.Answer(ctx, "q-1", "It is text") }},
	{name: "Answer, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return d.Answer(ctx, "q-1", "It is text") }},
	{name: "Answer, to no question", call: func(ctx context.Context, d *vs) (any, error) { return d.Answer(ctx, "q-9", "It is text") }},
	{name: "ApproveMerge", board: waitsForHuman, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: "approved", Reason: "it is good"})
	}},
	{name: "ApproveMerge, by a user", service: func(d *vs) {
		cfg := *d.Board.Config()
		cfg.Policy.Callers = map[string]string{"ben": "admin"}
		d.Board.Config = func() *config.Config { return &cfg }
	}, board: waitsForHuman, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: "approved", Reason: "it is good"})
	}},
	{name: "RejectMerge", board: waitsForHuman, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Reviews.RejectMerge(ctx, verb.MergeDecision{Task: "approved", Reason: "it is bad"})
	}},
	{name: "CanApprove", call: canApprove},
	{name: "CanApprove, without the key", service: func(d *vs) { d.Board.Store = withoutKey{d.Board.Store} }, call: canApprove},
	{name: "Asked, a coder", as: "coder-1", call: askedBy("coder", "claimed")},
	{name: "Asked, a reviewer", as: "code-reviewer-1", call: askedBy("code_reviewer", "reviewed")},
	{name: "Asked, a planner", as: "planner-1", call: askedBy("planner", "")},
	{name: "Unanswered, a coder", as: "coder-1", call: unanswered("coder", "claimed")},
	{name: "Unanswered, a reviewer", as: "code-reviewer-1", call: unanswered("code_reviewer", "reviewed")},
	{name: "Unanswered, a planner", as: "planner-1", board: func(s *bs) {
		s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: "note-1", Message: "Mind the gap", Timestamp: s.Goal.Created})
	}, call: unanswered("planner", "")},
	{name: "Unanswered, a planner at a checkpoint", as: "planner-1", board: atCheckpoint, call: unanswered("planner", "")},
	{name: "NothingNew", as: "coder-1", call: nothingNew("claimed")},
	{name: "NothingNew, of another's task", as: "coder-2", call: nothingNew("claimed")},
	{name: "NothingNew, of work that is not claimed", as: "coder-1", call: nothingNew("submitted")},
	{name: "Unable", as: "coder-1", call: unable("no make")},
	{name: "Unable, again", as: "coder-1", board: asksAboutMake(""), call: unable("no make")},
	{name: "Unable, and a person goes on", as: "coder-1", board: asksAboutMake(blackboard.AnswerGoOn), call: unable("no make")},
	{name: "Unable, and a person lets it wait", as: "coder-1", board: asksAboutMake(blackboard.AnswerStop), call: unable("no make")},
	{name: "Unable, it has run", as: "coder-1", board: asksAboutMake(""), call: unable("")},
	{name: "Checkpoint", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Checkpoint(ctx, d, "Look at it") }},
	{name: "Checkpoint, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Checkpoint(ctx, d, "Look at it") }},
	{name: "CheckpointUntilAnswered", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.CheckpointUntilAnswered(ctx, d, blackboard.CausePlanner, "planner stuck: no schema")
	}},
	{name: "SystemCheckpoint", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.SystemCheckpoint(ctx, d, blackboard.CauseDeadline, "The deadline has passed")
	}},
	{name: "Tell, the planner, of a coder", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Tell(ctx, verb.TellInput{To: verb.ThePlanner, Text: "Mind the gap"})
	}},
	{name: "Tell, the planner, again", board: func(s *bs) {
		s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: "note-1", Message: "Mind the gap", Timestamp: s.Goal.Created})
	}, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Tell(ctx, verb.TellInput{To: verb.ThePlanner, ID: "note-1", Text: "Mind the gap"})
	}},
	{name: "Tell, at once", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Tell(ctx, verb.TellInput{To: "claimed", Text: "Mind the gap", Now: true})
	}},
	{name: "Tell, of a coder", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Tell(ctx, verb.TellInput{To: "claimed", Text: "Mind the gap"})
	}},
	{name: "Tell, of a planner", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Tell(ctx, verb.TellInput{To: "coder-1", Text: "Mind the gap", After: true})
	}},
	{name: "TakeNotes", as: "coder-1", board: runsOf("coder-1", "claimed"), call: func(ctx context.Context, d *vs) (any, error) { return d.TakeNotes(ctx, "coder-1") }},
	{name: "TakeNotes, none", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return d.TakeNotes(ctx, "coder-1") }},
	{name: "Pause", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Pause(ctx, d, "Lunch") }},
	{name: "Pause, twice", service: func(d *vs) { ordered(d, "PAUSE") }, call: func(ctx context.Context, d *vs) (any, error) { return sprint.Pause(ctx, d, "Lunch") }},
	{name: "Pause, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Pause(ctx, d, "Lunch") }},
	{name: "Abort", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Abort(ctx, d, "Enough", false) }},
	{name: "Abort, the goal", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Abort(ctx, d, "Enough", true) }},
	{name: "Resume", board: atCheckpoint, service: func(d *vs) { ordered(d, "CHECKPOINT") }, call: func(ctx context.Context, d *vs) (any, error) { return sprint.Resume(ctx, d, "CONTINUE", "go on") }},
	{name: "Resume, STOP", board: atCheckpoint, call: func(ctx context.Context, d *vs) (any, error) { return sprint.Resume(ctx, d, "STOP", "it is over") }},
	{name: "Resume, nothing", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Resume(ctx, d, "CONTINUE", "") }},
	{name: "Discover", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Discover(ctx, blackboard.Discovery{During: "claimed", Description: "The lexer is slow", Severity: "low", Urgency: "deferred", Recommendation: "a table"})
	}},
	{name: "Convert", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) { return d.Convert(ctx, "disc-1", "unclaimed") }},
	{name: "Convert, again", as: "planner-1", board: func(s *bs) { s.Discovered[0].ConvertedToTask = "unclaimed" }, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Convert(ctx, "disc-1", "unclaimed")
	}},
	{name: "Defer", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) { return d.Defer(ctx, "disc-1", "not now") }},
	{name: "Defer, what is not there", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) { return d.Defer(ctx, "disc-9", "not now") }},
	{name: "SpecChange", call: func(ctx context.Context, d *vs) (any, error) {
		return d.SpecChange(ctx, "specs/vision.md", "It is larger", "claimed")
	}},
	{name: "SpecChange, of no file", call: func(ctx context.Context, d *vs) (any, error) {
		return d.SpecChange(ctx, "specs/none.md", "It is larger", "")
	}},
	{name: "KnownFacts", call: func(ctx context.Context, d *vs) (any, error) { return d.Knowledge.KnownFacts(ctx, true) }},
	{name: "AddFact", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.AddFact(ctx, " The server listens on a socket ", "user")
	}},
	{name: "AddFact, known", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.AddFact(ctx, "The build needs make 4 or later", "")
	}},
	{name: "AddFact, of no category", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.AddFact(ctx, "The server listens on a socket", "odd")
	}},
	{name: "AddFact, none", call: func(ctx context.Context, d *vs) (any, error) { return d.Knowledge.AddFact(ctx, "ok", "") }},
	{name: "AddFact, of a coder", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.AddFact(ctx, "The server listens on a socket", "")
	}},
	{name: "RemoveFacts", call: func(ctx context.Context, d *vs) (any, error) {
		return nil, d.Knowledge.RemoveFacts(ctx, []string{"fact-2"})
	}},
	{name: "RemoveFacts, of a coder", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return nil, d.Knowledge.RemoveFacts(ctx, []string{"fact-2"})
	}},
	{name: "ApproveFacts", board: func(s *bs) { s.Facts[1].Status = blackboard.FactPending }, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.ApproveFacts(ctx, []string{"fact-2"})
	}},
	{name: "ApproveFacts, again", call: func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.ApproveFacts(ctx, []string{"fact-2"})
	}},
	{name: "Apply, a coder is done", as: "coder-1", call: applies("coder", "coder-1", "claimed", answer("COMPLETED", "Done.", ""))},
	{name: "Apply, a coder is stuck", as: "coder-1", call: applies("coder", "coder-1", "claimed", answer("STUCK", "No name is given.", `,"blocked_questions":["Which name?"],"attempted":["a guess"]`))},
	{name: "Apply, a coder retries", as: "coder-1", call: applies("coder", "coder-1", "claimed", answer("RETRY", "The build fails.", ""))},
	{name: "Apply, a coder retries at the limit", as: "coder-1", board: func(s *bs) { s.Task("claimed").Iteration = 10 }, call: applies("coder", "coder-1", "claimed", answer("RETRY", "The build fails.", ""))},
	{name: "Apply, a coder hands off", as: "coder-1", call: applies("coder", "coder-1", "claimed", answer("RETRY", "Half.", `,"handoff":{"summary":"Half of it","next_action":"The other half","approach":"as before","blockers":"none","files_modified":["claimed.md"],"next_steps":["the rest"]}`))},
	{name: "Apply, a coder says nothing", as: "coder-1", call: applies("coder", "coder-1", "claimed", "bye")},
	{name: "Apply, a coder that talks", as: "coder-1", call: applies("coder", "coder-1", "claimed", answer("RETRY", "A. B. C. D. E.", "")+"\n"+answer("COMPLETED", "One. Two. Three. Four. Five.", ""))},
	{name: "Apply, a coder whose task is gone", as: "coder-1", call: applies("coder", "coder-1", "nothing", answer("COMPLETED", "Done.", ""))},
	{name: "Apply, a coder whose task is another's", as: "coder-2", call: applies("coder", "coder-2", "claimed", answer("COMPLETED", "Done.", ""))},
	{name: "Apply, a reviewer approves", as: "code-reviewer-1", call: applies("code_reviewer", "code-reviewer-1", "reviewed", answer("COMPLETED", "Good.", `,"review":{"status":"ok","reason":"it has a word","learn":["The parser reads one line at a time"]}`))},
	{name: "Apply, a reviewer rejects", as: "code-reviewer-1", call: applies("code_reviewer", "code-reviewer-1", "reviewed", answer("COMPLETED", "Bad.", `,"review":{"status":"needs_fix","reason":"reviewed.md:1 has no word"}`))},
	{name: "Apply, a reviewer is stuck", as: "code-reviewer-1", call: applies("code_reviewer", "code-reviewer-1", "reviewed", answer("STUCK", "I cannot start it.", ""))},
	{name: "Apply, a reviewer retries", as: "code-reviewer-1", call: applies("code_reviewer", "code-reviewer-1", "reviewed", answer("RETRY", "The tools hang.", ""))},
	{name: "Apply, a reviewer says nothing", as: "code-reviewer-1", call: applies("code_reviewer", "code-reviewer-1", "reviewed", "bye")},
	{name: "Apply, a reviewer whose task is gone", as: "code-reviewer-1", call: applies("code_reviewer", "code-reviewer-1", "nothing", answer("STUCK", "I cannot.", ""))},
	{name: "Apply, a reviewer whose task is another's", as: "code-reviewer-2", call: applies("code_reviewer", "code-reviewer-2", "reviewed", answer("STUCK", "I cannot.", ""))},
	{name: "Apply, a planner plans", as: "planner-1", call: applies("planner", "planner-1", "", answer("COMPLETED", "Planned.", `,"plan":`+aPlan))},
	{name: "Apply, a planner is stuck", as: "planner-1", call: applies("planner", "planner-1", "", answer("STUCK", "No spec.", `,"blocked_questions":["Which spec?"]`))},
	{name: "Apply, a planner retries", as: "planner-1", call: applies("planner", "planner-1", "", answer("RETRY", "Again.", ""))},
	{name: "Apply, a planner changes nothing", as: "planner-1", call: applies("planner", "planner-1", "", answer("COMPLETED", "Nothing to do.", ""))},
	{name: "Apply, a planner says nothing", as: "planner-1", call: applies("planner", "planner-1", "", "bye")},
	{name: "ApplyPlan", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) {
		p, err := exitcmd.ParsePlan([]byte(aPlan))
		if err != nil {
			return nil, err
		}
		return d.ApplyPlan(ctx, p)
	}},
	{name: "PlannerStuck", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) {
		return nil, outcome.PlannerStuck(ctx, d, "No spec\nat all")
	}},
	{name: "StopReplan", as: "planner-1", call: func(ctx context.Context, d *vs) (any, error) {
		return nil, outcome.StopReplan(ctx, d, transition.Trigger{Kind: "blocked", IDs: []string{"nothing", "blocked"}, Fingerprint: "f"}, "three plans came to nothing")
	}},
	{name: "Deliver, of a command", as: "coder-2", board: func(s *bs) { claimedBy(s, "command", "coder-2") }, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Deliver(ctx, "command", blackboard.Output{Text: "42"}, "It is 42")
	}},
	{name: "ItemDone", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.ItemDone(ctx, "claimed", 1, 0, "ok") }},
	{name: "Resubmit", board: func(s *bs) {
		s.Task("blocked").Halt = &blackboard.Halt{Kind: "cost", Limit: 5, At: s.Goal.Created}
		s.Task("blocked").BlockedKind = "limit"
	}, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Resubmit(ctx, "blocked", blackboard.Settings{"max_cost_cents": 9})
	}},
	{name: "SetSetting", call: func(ctx context.Context, d *vs) (any, error) { return d.SetSetting(ctx, "max_review_cycles", "7") }},
	{name: "SetSetting, away", board: func(s *bs) { s.Config = blackboard.Settings{"max_review_cycles": 7} }, call: func(ctx context.Context, d *vs) (any, error) { return d.SetSetting(ctx, "max_review_cycles", "null") }},
	{name: "SetSetting, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return d.SetSetting(ctx, "max_review_cycles", "7") }},
	{name: "SetSetting, unknown", call: func(ctx context.Context, d *vs) (any, error) { return d.SetSetting(ctx, "max_joy", "7") }},
	{name: "SetSetting, not YAML", call: func(ctx context.Context, d *vs) (any, error) { return d.SetSetting(ctx, "max_review_cycles", "[") }},
	{name: "History", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.Histories().History(ctx, "nothing") }},
	{name: "Known", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.Board.Histories().Known(ctx, "nothing") }},
	{name: "TellSettings", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.TellSettings(ctx, "agents.default") }},
	{name: "Condensed, a summary", as: "coder-1", call: condensed(answer("COMPLETED", "Done.", `,"summary_text":"All is well."`))},
	{name: "Condensed, nothing", as: "coder-1", call: condensed("bye")},
	{name: "Condensed, stuck", as: "coder-1", call: condensed(answer("STUCK", "I cannot.", ""))},
	{name: "CannotCondense", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return nil, d.Knowledge.CannotCondense(ctx, &verb.Condense{Facts: true}, "it crashed\nbadly")
	}},
	{name: "Warn", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		d.Board.Warn(ctx, "claimed", "odd", "what")
		return nil, nil
	}},
	{name: "PolicyDenied", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { d.PolicyDenied(ctx, "claimed", "sudo"); return nil, nil }},
	{name: "HostRefused", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		d.HostRefused(ctx, "claimed", "example.org")
		d.HostRefused(ctx, "claimed", "example.org")
		d.HostRefused(ctx, "claimed", "example.net")
		d.HostRefused(ctx, "", "example.org")
		return nil, nil
	}},
	{name: "NextGoal, nothing", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.NextGoal(ctx, d, sprint.GoalInput{Text: " "})
	}},
	{name: "NextGoal, without a reason", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More", AbandonOpen: true})
	}},
	{name: "NextGoal, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More"})
	}},
	{name: "NextGoal, without its spec", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More", Spec: "specs/none.md"})
	}},
	{name: "NextGoal, with open tasks", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More"})
	}},
	{name: "NextGoal, they are given up", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "More", AbandonOpen: true, Reason: "Enough"})
	}},
	{name: "Goals", call: func(ctx context.Context, d *vs) (any, error) { return sprint.Goals(ctx, d) }},
	{name: "ArchivedSprint", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.Histories().ArchivedSprint("sprint-9") }},
	{name: "ArchivedGoal", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.Histories().ArchivedGoal("goal-9") }},
	{name: "Import", call: func(ctx context.Context, d *vs) (any, error) {
		return importer.Import(ctx, d, []importer.Outside{{Source: "file:todo.md#1", ID: "todo", Title: "Write more", Text: "More words"}}, importer.ImportInput{})
	}},
	{name: "Import, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return importer.Import(ctx, d, nil, importer.ImportInput{})
	}},
	{name: "PersonOnly", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.Board.PersonOnly(ctx, "do that") }},
	{name: "PersonOnly, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return nil, d.Board.PersonOnly(ctx, "do that") }},
	{name: "PersonOnly, inside a run", service: func(d *vs) { d.Board.Caller.Inside = "coder-1" }, call: func(ctx context.Context, d *vs) (any, error) { return nil, d.Board.PersonOnly(ctx, "do that") }},
	{name: "ChangeOf", call: func(ctx context.Context, d *vs) (any, error) {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		base, commit, err := d.Integration.ChangeOf(ctx, s, s.Task("submitted"))
		return []string{base, commit}, err
	}},
	{name: "Proposal", call: func(ctx context.Context, d *vs) (any, error) {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		from, to, err := d.Integration.Proposal(ctx, s, s.Task("submitted"), s.Task("submitted").ReviewCommit)
		return []string{from, to}, err
	}},
	{name: "ChangeOf, of nothing", call: func(ctx context.Context, d *vs) (any, error) {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		_, _, err = d.Integration.ChangeOf(ctx, s, s.Task("unclaimed"))
		return nil, err
	}},
	{name: "MissingWork", call: func(ctx context.Context, d *vs) (any, error) { return d.Integration.MissingWork(ctx) }},
	{name: "Integration", call: func(ctx context.Context, d *vs) (any, error) {
		b, err := d.Integration.Integration(ctx)
		return b.String(), err
	}},
	{name: "Complete", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) {
		return sprint.Complete(ctx, d, transition.CompletionFacts{})
	}},
	{name: "Checkpoint, of a busy sprint", whole: true, board: busy, service: func(d *vs) {
		alerts(d, `{"open":[{"kind":"disk","subject":"here","severity":"warning","message":"nearly full"}]}`)
	}, call: func(ctx context.Context, d *vs) (any, error) { return sprint.Checkpoint(ctx, d, "Look at it") }},
	{name: "Checkpoint, after the breaker", whole: true, board: func(s *bs) {
		s.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerTripped, CurrentTrigger: &blackboard.BreakerTrigger{Patterns: []string{"loop"}, Pattern: "loop", Severity: "high", ReportFile: "report.md"}}
	}, call: func(ctx context.Context, d *vs) (any, error) { return sprint.SystemCheckpoint(ctx, d, "", "It loops") }},
	{name: "View", call: func(ctx context.Context, d *vs) (any, error) {
		_, err := d.Board.View(ctx)
		return nil, err
	}},
	{name: "SpecText", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.SpecText("specs/vision.md#top") }},
	{name: "SpecText, elsewhere", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.SpecText("../vision.md") }},
	{name: "SpecText, of git", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.SpecText(".git/config") }},
	{name: "SpecText, of a folder", call: func(ctx context.Context, d *vs) (any, error) { return d.Board.SpecText("specs") }},
	{name: "NewToken", call: func(ctx context.Context, d *vs) (any, error) {
		token, hash, err := d.Agents.NewToken()
		return []string{token, hash}, err
	}},
	{name: "NewToken, without random bytes", service: func(d *vs) { d.Board.Random = strings.NewReader("") }, call: func(ctx context.Context, d *vs) (any, error) {
		_, _, err := d.Agents.NewToken()
		return nil, err
	}},
	{name: "Register, without random bytes", service: func(d *vs) { d.Board.Random = strings.NewReader("") }, call: func(ctx context.Context, d *vs) (any, error) {
		return d.Agents.Register(ctx, verb.RegisterInput{ID: "coder-7"})
	}},
	{name: "Hold, without random bytes", as: "planner-1", service: func(d *vs) { d.Board.Random = strings.NewReader("") }, call: func(ctx context.Context, d *vs) (any, error) { return d.Hold(ctx, "unclaimed", "not yet") }},
	{name: "Of", call: func(ctx context.Context, d *vs) (any, error) {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		used, err := d.Board.Roles().Of("coder", s.Task("unclaimed"))
		return used.Role.Name, err
	}},
	{name: "Of, a role that is not there", board: func(s *bs) { s.Task("unclaimed").Role = "wizard" }, call: func(ctx context.Context, d *vs) (any, error) {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		_, err = d.Board.Roles().Of("coder", s.Task("unclaimed"))
		return nil, err
	}},
	{name: "Seal, of an agent", as: "coder-1", call: func(ctx context.Context, d *vs) (any, error) { return d.Seal(ctx, "they are right") }},
	{name: "MayRun", call: func(_ context.Context, d *vs) (any, error) { return nil, d.Board.MayRun("claimed", "make test") }},
	{name: "MayRun, what may not", call: func(_ context.Context, d *vs) (any, error) { return nil, d.Board.MayRun("claimed", "sudo rm -rf /") }},
}

func condensed(text string) func(context.Context, *vs) (any, error) {
	return func(ctx context.Context, d *vs) (any, error) {
		return d.Knowledge.Condensed(ctx, &verb.Condense{}, exit("summarizer", text))
	}
}

// claimedBy gives a task to an agent as a claim does, without a worktree.
func claimedBy(s *bs, id, agent string) {
	from := s.Task("claimed")
	t := s.Task(id)
	t.Status, t.AssignedTo, t.ClaimSeq, t.LeaseExpires, t.Iteration = blackboard.Claimed, agent, 1, from.LeaseExpires, 1
	for _, h := range from.History {
		if h.Event == blackboard.HistoryClaimed {
			own := *h
			own.Agent = agent
			t.History = append(t.History, &own)
		}
	}
	own := *s.Agents["coder-1"]
	own.CurrentTask = id
	s.Agents = maps.Clone(s.Agents)
	s.Agents[agent] = &own
}

// busy gives the sprint what a summary tells of.
func busy(s *bs) {
	at := s.Goal.Created
	s.Usage = &blackboard.Usage{CostCents: 250, Seconds: 90, TokensIn: 10, TokensOut: 4, TokensCached: 3, AgentRuns: 3, UnknownCostRuns: 1}
	s.Task("claimed").Usage = &blackboard.Usage{CostCents: 50, AgentRuns: 1}
	s.Task("blocked").Usage = &blackboard.Usage{AgentRuns: 2, UnknownCostRuns: 2}
	s.Task("held").Title = "A | B"
	old := blackboard.Time("2020-01-01T00:00:00Z")
	s.Anomalies = append(s.Anomalies, &blackboard.Anomaly{ID: "anom-1", Timestamp: at, Task: "claimed", Reporter: "coder-1", Type: "x-odd"}, &blackboard.Anomaly{ID: "anom-2", Timestamp: at, Type: "x-even"},
		&blackboard.Anomaly{ID: "anom-3", Timestamp: old, Type: "x-old"})
	s.SpecChanges = append(s.SpecChanges, &blackboard.SpecChange{Timestamp: at, Spec: "specs/vision.md", Change: "It is larger"}, &blackboard.SpecChange{Timestamp: old, Spec: "specs/vision.md", Change: "It was smaller", TriggeredBy: "ada"})
	s.Discovered = append(s.Discovered, &blackboard.Discovery{ID: "disc-2", Description: "The lexer is slow", Deferred: &blackboard.Deferred{By: "ada", At: at, Reason: "later"}},
		&blackboard.Discovery{ID: "disc-3", Description: "The linker is slow", ConvertedToTask: "unclaimed"})
	s.Sprint.Checkpoints = append(s.Sprint.Checkpoints, &blackboard.Checkpoint{N: 1, At: at, By: "ada", Message: "First", Decision: "CONTINUE", DecidedBy: "ada", DecidedAt: at})
	s.Sprint.Timeline.Deadline = "2999-01-01T00:00:00Z"
}

// alerts are those that the watcher left.
func alerts(d *vs, text string) {
	path := d.Board.Project.OpenAlerts()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		panic(err)
	}
}

// ordered makes a control file.
func ordered(d *vs, control project.Control) {
	if err := d.Board.Project.Controls().Set(control, "Tea", d.Board.Now()); err != nil {
		panic(err)
	}
}

// answer is an exit command with further keys.
func answer(action, summary, more string) string {
	return fmt.Sprintf(`{"action":%q,"evidence_files":[],"summary_for_supervisor":%q%s}`, action, summary, more)
}
