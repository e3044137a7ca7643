package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/board"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// steering are the verbs by which people steer a team.
var steering = []*Verb{
	declare(Verb{
		Name: "tell", Group: "steer", Who: ByVerb, By: "people, planner", Usage: "say something to an agent, to the planner, or about a line", Route: "/api/tell",
		Help: "The text goes to the agent that works on the task, the first way that the program has: into the running turn with the next call of a tool; with --now by\n" +
			"an interruption of a program that takes no texts, which then goes on in its conversation; with its next liza command; with its next run; and\n" +
			"when the task is over, as a proposal for another one. Each text has a receipt: queued, delivered (how), seen; `liza tell --list` shows them.\n" +
			"To `planner` it is a note that wakes the planner. With --at it is a comment on the change of the task: the coder gets it as a finding, and approved work waits for you\n" +
			"until `liza reject-merge TASK` sends it back. It changes no rule. A planner may tell the agents of tasks; they read that it is the planner's word.",
		Examples: []string{"liza tell planner 'Keep the CLI flags stable'", "liza tell task-3 'Use argparse, not optparse'", "liza tell task-3 --at hello.py:12 'the flag must stay'", "liza tell coder-1 --now 'Stop: the API has changed, read specs/api.md'", "liza tell --list"}, Exits: ofPeople,
		Tool: &Tool{Roles: planner, People: true, About: "Say something to the agent that works on a task, as yourself. It gets it in its running turn, with its next command of liza, or with its next run."},
	}, func(ctx context.Context, service *verb.Service, in verb.TellInput) (any, error) {
		if in.At == "" {
			return service.Tell(ctx, in)
		}
		if in.Now || in.After || in.List || in.ID != "" {
			return nil, board.WrongUsage("liza help tell", "--at goes with none of --now, --after, --id and --list")
		}
		path, at := cutLine(in.At)
		return service.Reviews.Comment(ctx, verb.Comment{Task: in.To, Path: path, Line: at, Text: in.Text})
	}, func(in verb.TellInput, done any) Text {
		switch done := done.(type) {
		case board.Done:
			return ofTask(done, "%s (%s) has your comment on %s", done.Task, done.Status, in.At)
		case verb.Told:
			return tellText(in, done)
		}
		return Text{}
	}),
	declare(Verb{
		Name: "pause", Group: "steer", Who: People, Usage: "let nothing new start; what runs goes on", Route: "/api/pause",
		Help: "Makes .liza/PAUSE. Within a second no supervisor claims, reviews, plans or merges any more; running agents go on.\n" +
			"On a board in a database the pause is on the board and holds on all hosts; touch .liza/PAUSE stops one of them.",
		Examples: []string{"liza pause --reason 'lunch'", "liza resume"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in pause) (sprint.Sprint, error) {
		return sprint.Pause(ctx, service, in.Reason)
	}, func(pause, sprint.Sprint) Text { return line("paused: nothing new starts\nnext: liza resume") }),
	declare(Verb{
		Name: "resume", Group: "steer", Who: People, Usage: "end a pause, a checkpoint or an abort", Route: "/api/resume",
		Help: "Removes the control files and sets the sprint IN_PROGRESS. At a checkpoint the decision is stored; REPLAN and PIVOT wake the planner\n" +
			"with the note, STOP gives the goal up.",
		Examples: []string{"liza resume", "liza resume --decision REPLAN --note 'Drop Windows'"}, Exits: append(ofPeople, 7),
	}, func(ctx context.Context, service *verb.Service, in resumption) (sprint.Sprint, error) {
		if !slices.Contains(transition.Decisions, in.Decision) {
			return sprint.Sprint{}, board.WrongUsage("liza help resume", "--decision '%s' must be one of %s", in.Decision, strings.Join(transition.Decisions, ", "))
		}
		return sprint.Resume(ctx, service, in.Decision, in.Note)
	}, func(in resumption, at sprint.Sprint) Text {
		switch {
		case in.Decision == "STOP":
			return line("the goal is given up")
		case at.Idle:
			return line("no pause any more, and no agent is there to go on\nnext: liza run")
		}
		return line("resumed")
	}),
	declare(Verb{
		Name: "abort", Group: "steer", Who: People, Usage: "stop all agents now",
		Help: "Makes .liza/ABORT: within a second agents are stopped, claims released, supervisors end. Work is kept. With --goal the goal is given up too.\n" +
			"On a board in a database it is on the board and holds on all hosts; touch .liza/ABORT stops one of them.",
		Examples: []string{"liza abort --reason 'wrong spec'", "liza abort --goal --reason 'not needed any more'"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in abort) (sprint.Sprint, error) {
		return sprint.Abort(ctx, service, in.Reason, in.Goal)
	}, func(abort, sprint.Sprint) Text {
		return line("aborted: agents are stopped, claims released, work is kept\nnext: liza resume")
	}),
	declare(Verb{
		Name: "checkpoint", Group: "steer", Who: People, Usage: "stop for people to look and decide",
		Help:     "Like pause, and the sprint is at a CHECKPOINT: a summary is written to .liza/sprint_summary.md. `liza resume` goes on.",
		Examples: []string{"liza checkpoint --message 'half time'", "liza resume --decision CONTINUE"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in checkpoint) (sprint.Sprint, error) {
		return sprint.Checkpoint(ctx, service, in.Message)
	}, func(_ checkpoint, done sprint.Sprint) Text {
		return line("at a checkpoint; the summary is %s\nnext: liza resume --decision CONTINUE", done.File)
	}),
	declare(Verb{
		Name: "stop", Group: "steer", Who: People, Usage: "end the run of one agent; it takes no work until restart", Route: "/api/agents/{agent}/stop", Without: []string{"task"},
		Help: "Within a second the agent's program is ended as by a limit: what it has written is kept, the claim goes back to the board, and others may take\n" +
			"it. The agent stays registered and takes nothing until `liza restart`, also after its supervisor began again, and on any host.",
		Examples: []string{"liza stop coder-2", "liza stop coder-2 --reason 'it rewrites the parser'"}, Exits: ofPeople,
		Tool: &Tool{People: true},
	}, func(ctx context.Context, service *verb.Service, in verb.AgentOrder) (verb.Ordered, error) {
		return service.Agents.StopAgent(ctx, in)
	}, func(_ verb.AgentOrder, done verb.Ordered) Text {
		what := "takes no work"
		if done.Task != "" {
			what = "its run ends, and " + done.Task + " goes back to the board with its work"
		}
		return line("%s is stopped: %s\nnext: liza restart %s", done.Agent, what, done.Agent)
	}),
	declare(Verb{
		Name: "restart", Group: "steer", Who: People, Usage: "let a stopped agent work again, or begin its run again", Route: "/api/agents/{agent}/restart",
		Help: "A stopped agent takes work again. One that is at work is stopped as by `liza stop` and goes on at once, with a new run.\n" +
			"--task sends a coder to another task: it begins with that one, and others leave it to this coder.",
		Examples: []string{"liza restart coder-2", "liza restart coder-2 --task task-7 --reason 'this one first'"}, Exits: append(ofPeople, 7),
		Tool: &Tool{People: true, About: "Let a stopped agent work again, or end the run of one at work so that a new run begins."},
	}, func(ctx context.Context, service *verb.Service, in verb.AgentOrder) (verb.Ordered, error) {
		return service.Agents.RestartAgent(ctx, in)
	}, func(_ verb.AgentOrder, done verb.Ordered) Text {
		what := "takes work again"
		switch {
		case done.Next != "":
			what = "begins with " + done.Next
		case done.Task != "":
			what = "its run ends and a new one begins"
		}
		return line("%s is restarted: %s\nnext: liza show %s", done.Agent, what, done.Agent)
	}),
	declare(Verb{
		Name: "hold", Group: "steer", Who: People, Usage: "let nobody pick the task; its status stays", Route: "/api/tasks/{task}/hold",
		Help:     "Sets the field hold. Nobody claims, reviews or merges the task until it is taken off.",
		Examples: []string{"liza hold task-3 --reason 'wait for the contract'", "liza unhold task-3"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in hold) (board.Done, error) {
		return service.Hold(ctx, in.Task, in.Reason)
	}, func(_ hold, done board.Done) Text { return ofTask(done, "%s is on hold (%s)", done.Task, done.Status) }),
	declare(Verb{
		Name: "unhold", Group: "steer", Who: People, Usage: "end a hold", Route: "/api/tasks/{task}/unhold", Without: []string{"reason"},
		Help:     "Clears the field hold; the task goes on from the status that it has.",
		Examples: []string{"liza unhold task-3", "liza unhold task-3 --json"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in hold) (board.Done, error) {
		return service.Unhold(ctx, in.Task)
	}, func(_ hold, done board.Done) Text {
		return ofTask(done, "%s is no longer on hold (%s)", done.Task, done.Status)
	}),
	declare(Verb{
		Name: "edit", Group: "steer", Who: People, Usage: "change a task; without one edit the state in your editor, while agents work", Route: "/api/tasks/{task}/edit",
		Help: "With a task, its priority, title, texts and limits are what the options say; what no option names stays. A run under way works with what it was\n" +
			"given; its task is read again by the next one. Without a task the command opens a copy of state.yaml in $VISUAL or $EDITOR (else vi). What you change is validated, merged with what agents changed meanwhile, and\n" +
			"written as one revision. When it breaks a rule, or somebody changed the same value, line and rule are shown and the editor opens\n" +
			"again; nothing is written until it fits. Leave the text unchanged to give up.",
		Examples: []string{"liza edit task-3 --priority 1 --title 'Parse dates first'", "EDITOR='code --wait' liza edit"}, Exits: append(ofPeople, 7),
		Tool: &Tool{People: true, About: "Change priority, title, texts or limits of a task that is not terminal. What is not named stays."},
	}, func(ctx context.Context, service *verb.Service, in verb.TaskEdit) (board.Done, error) {
		if err := knownLimits(in.Limits); err != nil {
			return board.Done{}, err
		}
		return service.EditTask(ctx, in)
	}, func(_ verb.TaskEdit, done board.Done) Text {
		return ofTask(done, "%s is changed (%s)", done.Task, done.Status)
	}),
	group(Verb{
		Name: "sprint", Group: "steer", Usage: "start the next sprint",
		Help:     "A sprint ends by itself when every task is terminal, or by `liza abort`.",
		Examples: []string{"liza sprint next", "liza report"}, Exits: ofPeople,
	}),
	declare(Verb{
		Name: "sprint next", Who: People, Usage: "close the sprint that has ended and start the next one",
		Help: "Needs a sprint that is COMPLETED or ABORTED, and that nobody works. Its terminal tasks, its figures and decisions go to .liza/archive; open\n" +
			"tasks go on in the next sprint, and so do facts, discoveries and notes. Figures and costs begin at zero. A COMPLETED goal opens again.",
		Examples: []string{"liza sprint next", "liza sprint next --planned task-4,task-7"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in nextSprint) (started, error) {
		done, err := sprint.Next(ctx, service, in.Planned)
		out := started{Started: done}
		if err != nil {
			return out, err
		}
		if s, err := service.Board.View(ctx); err == nil {
			if lag, err := service.Integration.Behind(ctx, s); err == nil && lag.Behind > 0 {
				out.lag = lag.String()
			}
		}
		return out, nil
	}, func(_ nextSprint, done started) Text {
		var b strings.Builder
		fmt.Fprintf(&b, "%s starts; %s and %s are in %s\n", done.Sprint, done.Before, prose.Count(len(done.Archived), "task"), done.File)
		if n := len(done.Planned) + len(done.Stretch); n > 0 {
			fmt.Fprintf(&b, "on go %s: planned %s", prose.Count(n, "open task"), orNone(done.Planned))
			if len(done.Stretch) > 0 {
				fmt.Fprintf(&b, "; stretch %s", strings.Join(done.Stretch, ", "))
			}
			b.WriteString("\n")
		}
		if done.lag != "" {
			fmt.Fprintf(&b, "%s; liza sync merges them\n", done.lag)
		}
		b.WriteString("next: liza run\n")
		return Text{Body: b.String()}
	}),
}

type pause struct {
	Reason string `json:"reason,omitempty" help:"why, for those who wait"`
}

type resumption struct {
	Decision string `json:"decision,omitempty" word:"D" default:"CONTINUE" help:"CONTINUE, ADJUST_SPECS, ADJUST_CONTRACTS, REPLAN, PIVOT, STOP"`
	Note     string `json:"note,omitempty" help:"for the planner and the log"`
}

type abort struct {
	Goal   bool   `json:"goal,omitempty" help:"give the goal up as well"`
	Reason string `json:"reason,omitempty" help:"why"`
}

type checkpoint struct {
	Message string `json:"message,omitempty" help:"what it is about"`
}

type hold struct {
	Task   string `json:"task" arg:"ID" help:"id of the task"`
	Reason string `json:"reason" help:"why"`
}

type nextSprint struct {
	Planned []string `json:"planned,omitempty" word:"IDS" list:"comma" help:"of open tasks that are the plan; the other open ones are stretch"`
}

// started is a sprint with a figure for people: how far the integration branch is behind.
type started struct {
	sprint.Started
	lag string
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// cutLine splits PATH:LINE; "." is the whole change. A name may end in a colon and a number: then the line has to be given as well, be it 0.
func cutLine(place string) (path string, at int) {
	if place == "." {
		return "", 0
	}
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		if at, err := strconv.Atoi(place[i+1:]); err == nil {
			return place[:i], at
		}
	}
	return place, 0
}

// tellText says where a text is, or where all are.
func tellText(in verb.TellInput, done verb.Told) Text {
	switch {
	case done.Already:
		return line("already done: text %s exists\nnext: liza tell --list", done.ID)
	case !in.List:
		return line("told as %s\n%s", done.ID, done.Reaches)
	case len(done.Texts) == 0:
		return line("no texts")
	}
	var b strings.Builder
	for _, t := range done.Texts {
		fmt.Fprintf(&b, "%-9s %-12s %-5s %s\n    %s, %s: %s\n", t.ID, cmp.Or(t.Task, "planner"), t.When, t.Where, cmp.Or(t.By, "a person"), t.At, prose.OneLine(t.Text, 100))
	}
	return Text{Body: b.String()}
}

type mergeInput struct {
	Task  string `json:"task,omitempty" arg:"[ID]" help:"id of the task" unset:"all that are approved, oldest approval first"`
	Again bool   `json:"again,omitempty" faces:"cli" help:"merge MERGED work again that the integration branch has lost"`
}

// merging is the verb merge. Its result is shown also with an error: the merges before it, or the place of the branch.
var merging = declare(Verb{
	Name: "merge", Aliases: []string{"wt-merge"}, Group: "plumbing", Who: ByVerb, Usage: "merge approved work into the integration branch", Doing: "merging and checking", Partial: true,
	Help: "APPROVED becomes MERGED. The merge is made without any checkout, checked in a throw-away worktree, and then the branch moves at once. A conflict\n" +
		"or a failing check leaves the branch as it was: INTEGRATION_FAILED, exit 1. Your checkout is never touched. Without ID: all, oldest approval first, or in trains (merge.train).\n" +
		"Merges wait while the branch is where Liza did not put it (liza integration). With --again, a person merges MERGED work once more that the\n" +
		"branch has lost; it is refused when the branch has it.",
	Examples: []string{"liza merge", "liza merge task-3 --json", "liza merge --again task-3"}, Exits: append(ofPeople, 7),
	Tool: &Tool{Roles: reviewer, People: true, Outside: true, About: "Merge what is approved into the integration branch: APPROVED becomes MERGED, or INTEGRATION_FAILED."},
}, func(ctx context.Context, service *verb.Service, in mergeInput) (any, error) {
	if in.Again {
		return mergeAgain(ctx, service, in.Task)
	}
	results, err := service.Merges.Merge(ctx, in.Task)
	_, failed := errors.AsType[*merge.FailedError](err)
	if err != nil && !failed && (in.Task != "" || len(results) == 0) {
		return nil, err // nothing was merged that could be shown
	}
	return merges{results}, err
}, func(_ mergeInput, result any) Text {
	var t Text
	switch r := result.(type) {
	case merges:
		for _, m := range r.Merges {
			t.Body += MergeLine(m) + "\n"
		}
	case merge.Result:
		t = line("%s is merged again, at %.9s%s", r.Task, r.MergeCommit, NotVerified(r.Unverified))
	}
	return t
})

type merges struct {
	Merges []merge.Result `json:"merges"`
}

func mergeAgain(ctx context.Context, service *verb.Service, id string) (any, error) {
	if id == "" {
		return nil, board.WrongUsage("liza integration", "--again needs the id of a task")
	}
	r, err := service.Merges.MergeAgain(ctx, id)
	if err != nil {
		return moved(err)
	}
	return r, nil
}

// moved returns the details of an error about a moved branch, so that they are shown with the error.
func moved(err error) (any, error) {
	if x, ok := errors.AsType[*merge.MoveError](err); ok {
		return x, err
	}
	return nil, err
}

// NotVerified names the checks of a merge that fail before and after it, or returns "".
func NotVerified(checks []string) string {
	if len(checks) == 0 {
		return ""
	}
	return ", not verified: " + strings.Join(checks, "; ")
}

// MergeLine returns the end of a merge in one line.
func MergeLine(r merge.Result) string {
	text := fmt.Sprintf("%s is %s", r.Task, r.Status)
	switch {
	case r.Already:
		text = fmt.Sprintf("already done: %s is %s", r.Task, r.Status)
	case r.Status == blackboard.Merged:
		text += fmt.Sprintf(" at %.9s", r.MergeCommit) + NotVerified(r.Unverified)
		if r.Drift > 0 {
			text += fmt.Sprintf(" (%s on the branch since its base)", prose.Count(r.Drift, "commit"))
		}
	case r.Reason != "":
		text += ": " + r.Why()
	}
	if len(r.Files) > 0 {
		text += " in " + strings.Join(r.Files, ", ")
	}
	if r.Log != "" {
		text += ", see " + r.Log
	}
	return text
}
