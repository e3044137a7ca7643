package verbs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// people are the verbs of the command line that do what one of several verbs does: what they are given decides which.
var people = []*Verb{
	declare(Verb{
		Name: "retry", Group: "decide", Who: ByVerb, By: "planner, human", Usage: "give work that is blocked, limited or held another try",
		Help: "A BLOCKED task starts over from the integration branch; its work is saved under refs/liza/attic/ first. One that a limit has stopped goes on with its\n" +
			"work and the limits given by --limit. A claim or a review claim is freed: its work is kept, and the next agent goes on with it. A live lease needs\n" +
			"--force, which stops the holder's program first. What is kept is said.",
		Examples: []string{"liza retry task-3 --reason 'the spec says ISO 8601 now'", "liza retry task-3 --limit cost_cents=2000", "liza retry task-3 --force --reason 'wrong model'"}, Exits: append(ofPeople, 7),
	}, tryAgain, retryText),
	declare(Verb{
		Name: "approve", Group: "decide", Who: People, Usage: "let work go on that waits for you",
		Help: "Approved work may then be merged; in review.mode disabled, and where review.quorum asks for more reviewers, this approves what is READY_FOR_REVIEW.\n" +
			"Of several attempts the one that you name goes on, with your --reason; the others become SUPERSEDED, and their work is saved under refs/liza/attic/.\n" +
			"Drafts become claimable, all or none. Facts that wait are in prompts from then on, all or none.",
		Examples: []string{"liza approve task-3", "liza approve task-3 --override --reason 'the warning is about a fixture'", "liza approve task-4-2 --reason 'no new dependency'", "liza approve task-7 task-8", "liza approve fact-3"}, Exits: ofPeople,
	}, approveWhat, approveText),
	declare(Verb{
		Name: "reject", Group: "decide", Who: People, Usage: "send work that waits for you back to its coder",
		Help: "The task becomes REJECTED with your reason as the point to fix; it counts as a review cycle. Your comments (liza tell TASK --at) are points to fix as well, and\n" +
			"with them no other reason is needed. A fact moves to the archive.",
		Examples: []string{"liza reject task-3 --reason 'cli.py:12: the flag must stay'", "liza reject fact-3"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in rejection) (any, error) {
		s, err := service.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		if isFact(s, in.Task) {
			return archivedFacts{[]string{in.Task}}, service.Knowledge.RemoveFacts(ctx, []string{in.Task})
		}
		return service.Reviews.RejectMerge(ctx, verb.MergeDecision{Task: in.Task, Reason: in.Reason})
	}, func(in rejection, result any) Text {
		if done, ok := result.(board.Done); ok {
			return ofTask(done, "%s is %s", done.Task, done.Status)
		}
		return line("%s archived", in.Task)
	}),
	declare(Verb{
		Name: "add", Group: "steer", Who: ByVerb, Usage: "put a task on the board",
		Help: "TEXT says what is to be done; its first line is the title. What is left out is filled in: the id with the next free number, the spec with that of the goal.\n" +
			"Nothing is written when a gate is missed, and all gaps are named. A file has the task as YAML, with the names of state.yaml; options come before it.",
		Examples: []string{"liza add 'Say hello' --done 'hello.txt contains \"hello\"' --scope hello.txt", "liza add --file task.yaml --from disc-2"}, Exits: ofPeople,
	}, addTask, func(_ addition, done board.Done) Text { return ofTask(done, "%s is %s", done.Task, done.Status) }),
	declare(Verb{
		Name: "abandon", Group: "steer", Who: ByVerb, By: "planner, human", Usage: "drop a task, replace it, or put a discovery off",
		Help: "The task becomes ABANDONED; UNCLAIMED tasks that depend on it are BLOCKED with a question. With --by it becomes SUPERSEDED, and what depends on it depends\n" +
			"on those tasks. From BLOCKED, DRAFT, UNCLAIMED, REJECTED and INTEGRATION_FAILED. Work is saved under refs/liza/attic/ first. With --later a discovery is\n" +
			"kept, with the reason, for the next sprint.",
		Examples: []string{"liza abandon task-3 --reason 'out of scope'", "liza abandon task-3 --by task-7,task-8 --reason 'parser and writer apart'", "liza abandon disc-2 --later --reason 'cosmetic'"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner, About: "Drop a task. It becomes ABANDONED; UNCLAIMED tasks that depend on it are BLOCKED with a question. Work is saved first."},
	}, abandonWhat, abandonText),
}

type retry struct {
	Task      string         `json:"task" arg:"ID" help:"id of the task"`
	Reason    string         `json:"reason,omitempty" help:"why; the next agent reads it"`
	Limits    map[string]int `json:"limits,omitempty" option:"limit" help:"new limits of this task, such as cost_cents=2000"`
	DependsOn []string       `json:"depends_on,omitempty" option:"depends" list:"comma" help:"new dependencies of a task that starts over; an empty list is none" unset:"as before"`
	Force     bool           `json:"force,omitempty" help:"in spite of a live lease"`
}

// A retried task says what was done about it.
type retried struct {
	board.Done
	Kept string `json:"kept"` // what is kept of the work, in words
}

// tryAgain gives a task another try, as its state allows.
func tryAgain(ctx context.Context, service *verb.Service, in retry) (retried, error) {
	if err := knownLimits(in.Limits); err != nil {
		return retried{}, err
	}
	s, err := service.Board.View(ctx)
	if err != nil {
		return retried{}, err
	}
	t := s.Find(in.Task)
	switch {
	case t == nil || t.Status == blackboard.Blocked && len(in.Limits) == 0 && (t.Halt == nil || t.BlockedKind == blackboard.BlockedByIterations && in.Reason != ""):
		done, err := service.Unblock(ctx, verb.WayOut{Task: in.Task, Reason: in.Reason, DependsOn: in.DependsOn})
		kept := "nothing: there was no work"
		if done.Attic != "" {
			kept = "its work as " + done.Attic
		}
		return retried{done, kept}, err
	case in.DependsOn != nil:
		return retried{}, board.WrongUsage("liza help retry", "--depends is for a task that starts over; %s is %s", t.ID, t.Status)
	case t.Status == blackboard.Blocked:
		limits := blackboard.Settings{}
		for k, n := range in.Limits {
			limits[k] = n
		}
		done, err := service.Resubmit(ctx, t.ID, limits)
		return retried{done, "work and counters"}, err
	case len(in.Limits) > 0:
		return retried{}, board.WrongUsage("liza edit "+t.ID+" --limit KEY=VALUE", "%s is %s, and no limit has stopped it", t.ID, t.Status)
	case t.Status == blackboard.Claimed, t.Status == blackboard.ReadyForReview && t.ReviewingBy != "":
		done, err := service.Release(ctx, verb.ReleaseInput{Task: t.ID, Reason: in.Reason, Force: in.Force})
		return retried{done, "its work, for the next agent"}, err
	}
	next, why := insteadOfRetry(s, t)
	return retried{}, board.Refuse(next, "%s is %s: %s", t.ID, t.Status, why)
}

// insteadOfRetry returns the command for a task that a retry cannot help, and why.
func insteadOfRetry(s *blackboard.State, t *blackboard.Task) (next, why string) {
	switch {
	case t.Hold != nil && !t.Status.Terminal():
		return "liza resume " + t.ID, "it is on hold"
	case t.Status == blackboard.Draft:
		return "liza approve " + t.ID, "nobody may claim a draft"
	case t.Status == blackboard.Approved && t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == "":
		return transition.DecisionOn(s, t), "it waits for your approval"
	case t.Status == blackboard.Approved:
		return "liza merge " + t.ID, "it is to be merged"
	case t.Status == blackboard.Merged:
		return "liza merge --again " + t.ID, "that merges it once more if the integration branch has lost it; liza add makes a new task"
	case t.Status.Terminal():
		return "liza add TEXT", "it is over; a new task does it again"
	}
	return "liza show " + t.ID, "it waits for an agent already"
}

func retryText(_ retry, done retried) Text {
	t := ofTask(done.Done, "%s has another try (%s)", done.Task, done.Status)
	if !done.Already && done.Attic == "" { // else it is said where the work is
		t.Body += "kept: " + done.Kept + "\n"
	}
	return t
}

type approving struct {
	IDs      []string `json:"ids" arg:"ID…" help:"id of a task or of an attempt, or ids of drafts or of facts"`
	Reason   string   `json:"reason,omitempty" help:"why; needed to choose one of several attempts"`
	Override bool     `json:"override,omitempty" help:"in spite of warnings, in mode strict; needs a reason"`
}

// approveWhat lets go on what waits for a person: a merge, one of several attempts, drafts or facts.
func approveWhat(ctx context.Context, service *verb.Service, in approving) (any, error) {
	s, err := service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	facts := 0
	for _, id := range in.IDs {
		if isFact(s, id) {
			facts++
		}
	}
	first := s.Find(in.IDs[0])
	switch {
	case facts == len(in.IDs):
		done, err := service.Knowledge.ApproveFacts(ctx, in.IDs)
		return approvedFacts{Approved: in.IDs, Already: done}, err
	case facts > 0:
		return nil, board.WrongUsage("liza help approve", "approve facts apart from tasks")
	case len(in.IDs) > 1 || first != nil && first.Status == blackboard.Draft:
		return service.Finalize(ctx, in.IDs)
	case first != nil && len(transition.Rivals(s, first)) > 0 && in.Reason == "":
		return nil, board.Refuse(transition.DecisionOn(s, first), "%s is one of several attempts: say why it goes on", first.ID)
	case first != nil && first.AttemptOf != "" && in.Reason != "" && (len(transition.Rivals(s, first)) > 0 || first.Status == blackboard.Superseded):
		return service.Reviews.Pick(ctx, verb.PickInput{Task: first.ID, Reason: in.Reason})
	}
	return service.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: in.IDs[0], Reason: in.Reason, Override: in.Override})
}

func approveText(_ approving, result any) Text {
	switch done := result.(type) {
	case approvedFacts:
		return factsApproved(done)
	case verb.Finalized:
		return Text{Body: "claimable now: " + strings.Join(done.Tasks, ", ") + "\n", Notices: done.Warnings}
	case board.Done:
		if done.Status == blackboard.Approved || done.Status == blackboard.Merged {
			return ofTask(done, "%s is %s and may be merged", done.Task, done.Status)
		}
		return ofTask(done, "%s goes on", done.Task)
	}
	return Text{}
}

// isFact reports whether id is that of a fact, be it known or not.
func isFact(s *blackboard.State, id string) bool {
	return s.Find(id) == nil && (strings.HasPrefix(id, "fact-") || slices.ContainsFunc(s.Facts, func(f *blackboard.Fact) bool { return f.ID == id }))
}

type addition struct {
	Text      string         `json:"text,omitempty" arg:"[TEXT]" help:"what is to be done"`
	ID        string         `json:"id,omitempty" word:"ID" help:"id of the task" unset:"the next free number"`
	SpecRef   string         `json:"spec_ref,omitempty" option:"spec" word:"P[#a]" help:"spec file, with an anchor: specs/vision.md#greeting" unset:"the spec of the goal"`
	DoneWhen  string         `json:"done_when,omitempty" option:"done" help:"how one sees that it is done"`
	Scope     string         `json:"scope,omitempty" help:"what is in, and what is out"`
	Priority  *int           `json:"priority,omitempty" help:"1 is the highest"`
	DependsOn []string       `json:"depends_on,omitempty" option:"depends" list:"comma" help:"tasks that must be merged first"`
	Type      string         `json:"type,omitempty" help:"feature, task, bug, refactor, test, docs, config or spec"`
	Limits    map[string]int `json:"limits,omitempty" option:"limit" help:"limits of this task, such as max_iterations=3 or cost_cents=200"`
	Attempts  int            `json:"attempts,omitempty" word:"N" help:"let N coders try apart from each other, 2 to 5; the best goes on"`
	Draft     bool           `json:"draft,omitempty" help:"create a DRAFT; liza approve makes it claimable"`
	From      string         `json:"from,omitempty" word:"DISC" help:"the discovery that the task comes of"`
	File      string         `json:"file,omitempty" file:"file" help:"YAML of a task"`
}

// addTask makes a task of options, and of a file for what they do not say.
func addTask(ctx context.Context, service *verb.Service, in addition) (board.Done, error) {
	n := newTask{ID: in.ID, Description: in.Text, SpecRef: in.SpecRef, DoneWhen: in.DoneWhen, Scope: in.Scope, Priority: in.Priority, DependsOn: in.DependsOn, Type: in.Type,
		Limits: in.Limits, Attempts: in.Attempts, Draft: in.Draft, File: in.File, fill: true}
	n, err := n.withFile("add")
	if err != nil {
		return board.Done{}, err
	}
	if strings.TrimSpace(n.Description) == "" {
		return board.Done{}, board.WrongUsage("liza help add", "say what is to be done, or name a --file")
	}
	given, err := n.task(service)
	if err != nil {
		return board.Done{}, err
	}
	given.From = in.From
	return service.AddTask(ctx, given)
}

type dropping struct {
	Task      string   `json:"task" arg:"ID" help:"id of the task"`
	Reason    string   `json:"reason" help:"why"`
	RootCause string   `json:"root_cause,omitempty" help:"required after two coders failed"`
	By        []string `json:"by,omitempty" list:"comma" faces:"cli" help:"tasks that replace it"`
	Later     bool     `json:"later,omitempty" faces:"cli" help:"keep a discovery for the next sprint"`
}

// abandonWhat drops or replaces a task, or puts a discovery off.
func abandonWhat(ctx context.Context, service *verb.Service, in dropping) (any, error) {
	s, err := service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	found := slices.ContainsFunc(s.Discovered, func(d *blackboard.Discovery) bool { return d.ID == in.Task })
	switch {
	case found && !in.Later:
		return nil, board.Refuse("liza abandon "+in.Task+" --later --reason T", "%s is a discovery: it is put off with --later", in.Task)
	case in.Later && s.Find(in.Task) != nil:
		return nil, board.Refuse("liza pause "+in.Task+" --reason T", "%s is a task: a pause keeps it", in.Task)
	case in.Later:
		return service.Defer(ctx, in.Task, in.Reason)
	case in.By != nil:
		if len(in.By) == 0 {
			return nil, board.WrongUsage("liza help abandon", "--by is empty: name the tasks that replace %s", in.Task)
		}
		return service.Supersede(ctx, verb.WayOut{Task: in.Task, By: in.By, Reason: in.Reason, RootCause: in.RootCause})
	}
	return service.Abandon(ctx, verb.WayOut{Task: in.Task, Reason: in.Reason, RootCause: in.RootCause})
}

func abandonText(in dropping, result any) Text {
	switch done := result.(type) {
	case verb.Discovered:
		return line("%s is deferred%s", done.ID, already(done))
	case board.Done:
		return left(verb.WayOut{By: in.By}, done)
	}
	return Text{}
}

// pauseWhat keeps the team, or one task, from work.
func pauseWhat(ctx context.Context, service *verb.Service, in pause) (any, error) {
	switch {
	case in.Task != "" && in.Checkpoint:
		return nil, board.WrongUsage("liza help pause", "--checkpoint is for the team, not for one task")
	case in.Task != "":
		s, err := service.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		if isAgent(s, in.Task) {
			return nil, board.Refuse("liza stop "+in.Task, "%s is an agent; pause is for a task or the team", in.Task)
		}
		return service.Hold(ctx, in.Task, in.Reason)
	case in.Checkpoint:
		return sprint.Checkpoint(ctx, service, in.Reason)
	}
	return sprint.Pause(ctx, service, in.Reason)
}

func pauseText(in pause, result any) Text {
	switch done := result.(type) {
	case board.Done:
		return ofTask(done, "%s is on hold (%s)", done.Task, done.Status)
	case sprint.Sprint:
		if in.Checkpoint {
			return line("at a checkpoint; the summary is %s\nnext: liza resume --decision CONTINUE", done.File)
		}
	}
	return line("paused: nothing new starts\nnext: liza resume")
}

// isAgent reports whether id is that of an agent, be it there or not.
func isAgent(s *blackboard.State, id string) bool {
	_, _, agent := blackboard.ParseAgentID(id)
	return agent && s.Find(id) == nil
}

// resumeWhat lets the team, a task or an agent go on.
func resumeWhat(ctx context.Context, service *verb.Service, in resumption) (any, error) {
	if !slices.Contains(transition.Decisions, in.Decision) {
		return nil, board.WrongUsage("liza help resume", "--decision '%s' must be one of %s", in.Decision, strings.Join(transition.Decisions, ", "))
	}
	s, err := service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	tripped := s.CircuitBreaker != nil && s.CircuitBreaker.Status == blackboard.BreakerTripped
	of := "the team"
	switch {
	case in.Name != "" && isAgent(s, in.Name):
		of = "an agent"
	case in.Name != "":
		of = "a task"
	}
	for _, option := range []struct {
		name, of string
		given    bool
	}{{"--task", "an agent", in.Task != ""}, {"--planned", "the team", in.Planned != nil}, {"--decision", "the team", in.Decision != "CONTINUE"}} {
		if option.given && option.of != of {
			return nil, board.WrongUsage("liza help resume", "%s is for %s", option.name, option.of)
		}
	}
	switch {
	case of == "an agent":
		return service.Agents.RestartAgent(ctx, verb.AgentOrder{Agent: in.Name, Task: in.Task, Reason: in.Note})
	case of == "a task":
		return service.Unhold(ctx, in.Name)
	case in.Planned != nil, in.Decision == "CONTINUE" && s.Sprint != nil && s.Sprint.Status == blackboard.Completed && len(service.Board.Orders(s)) == 0 && !tripped:
		return nextSprint(ctx, service, in.Planned)
	}
	return sprint.Resume(ctx, service, in.Decision, in.Note)
}

// nextSprint starts the next sprint, and says how far the integration branch is behind.
func nextSprint(ctx context.Context, service *verb.Service, planned []string) (any, error) {
	done, err := sprint.Next(ctx, service, planned)
	if err != nil {
		return nil, err
	}
	out := started{Started: done}
	if s, err := service.Board.View(ctx); err == nil {
		if lag, err := service.Integration.Behind(ctx, s); err == nil && lag.Behind > 0 {
			out.lag = lag.String()
		}
	}
	return out, nil
}

func resumeText(in resumption, result any) Text {
	switch done := result.(type) {
	case verb.Ordered:
		return restartText(done)
	case board.Done:
		return ofTask(done, "%s is no longer on hold (%s)", done.Task, done.Status)
	case started:
		return sprintText(done)
	case sprint.Sprint:
		text := "resumed"
		switch {
		case in.Decision == "STOP":
			text = "the goal is given up"
		case done.Idle:
			text = "no pause any more, and no agent is there to go on\nnext: liza run"
		}
		if done.Acknowledged != "" {
			text = fmt.Sprintf("the circuit breaker is acknowledged up to %s\n%s", done.Acknowledged, text)
		}
		return line("%s", text)
	}
	return Text{}
}

// stopWhat ends the run of an agent, or everything.
func stopWhat(ctx context.Context, service *verb.Service, in stopping) (any, error) {
	switch {
	case in.All == (in.Agent != ""):
		return nil, board.WrongUsage("liza help stop", "name an agent, or give --all for the whole team")
	case in.All:
		return sprint.Abort(ctx, service, in.Reason, in.Goal)
	case in.Goal:
		return nil, board.WrongUsage("liza help stop", "--goal needs --all")
	}
	return service.Agents.StopAgent(ctx, verb.AgentOrder{Agent: in.Agent, Reason: in.Reason})
}

func stopText(_ stopping, result any) Text {
	done, one := result.(verb.Ordered)
	if !one {
		return line("aborted: agents are stopped, claims released, work is kept\nnext: liza resume")
	}
	what := "takes no work"
	if done.Task != "" {
		what = "its run ends, and " + done.Task + " goes back to the board with its work"
	}
	return line("%s is stopped: %s\nnext: liza resume %s", done.Agent, what, done.Agent)
}

// syncWhat brings the base branch in, or decides about a tip of the integration branch that Liza did not make.
func syncWhat(ctx context.Context, service *verb.Service, in syncInput) (any, error) {
	decides := in.Accept || in.Restore
	switch {
	case in.Accept && in.Restore:
		return nil, board.WrongUsage("liza help sync", "--accept and --restore exclude each other")
	case decides && (in.From != "" || in.DryRun):
		return nil, board.WrongUsage("liza help sync", "--accept and --restore go without --from and --dry-run")
	case in.Reason != "" && !decides:
		return nil, board.WrongUsage("liza help sync", "--reason goes with --accept or --restore")
	case in.Accept:
		return standing(service.Merges.AcceptIntegration(ctx, in.Reason))
	case in.Restore:
		return standing(service.Merges.RestoreIntegration(ctx, in.Reason))
	}
	r, err := service.Merges.Sync(ctx, in.From, in.DryRun)
	if err != nil {
		return moved(err)
	}
	return r, nil
}

// standing leaves out the state of the branch when there is an error: it is not shown then.
func standing(b integration.Standing, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}
