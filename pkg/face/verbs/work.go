package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

var (
	planner  = []blackboard.Role{blackboard.RolePlanner}
	coder    = []blackboard.Role{blackboard.RoleCoder}
	reviewer = []blackboard.Role{blackboard.RoleReviewer}
	workers  = []blackboard.Role{blackboard.RoleCoder, blackboard.RoleReviewer}

	ofPeople = []int{0, 1, 2, 3, 4, 5}
	ofAgents = []int{0, 1, 2, 3, 4, 5, 6}
)

func line(format string, args ...any) Text { return Text{Body: fmt.Sprintf(format, args...) + "\n"} }

// ofTask is the text of a verb that changes one task.
func ofTask(done board.Done, format string, args ...any) Text {
	body := fmt.Sprintf(format, args...)
	if done.Said {
		body = fmt.Sprintf("recorded for %s, which is %s: it counts when this run has ended by itself and its answer agrees; end the run now", done.Task, done.Status)
	}
	if done.Already {
		body = fmt.Sprintf("already done: %s is %s", done.Task, done.Status)
	}
	if done.Attic != "" {
		body += "; its work is kept as " + done.Attic
	}
	return Text{Body: body + "\n", Notices: done.Notices}
}

// needs refuses an option that is required and empty.
func needs(name, option, value string) error {
	if value == "" {
		return board.WrongUsage("liza help "+name, "%s needs --%s", name, option)
	}
	return nil
}

// work are the verbs of those who work on tasks.
var work = []*Verb{
	declare(Verb{
		Name: "claim", Aliases: []string{"claim-task"}, Group: "plumbing", Who: ByVerb, Usage: "claim the named or the best claimable task, with its worktree",
		Help: "The task becomes CLAIMED by the caller, and .worktrees/ID is made on branch task/ID. Without ID exit 7 when nothing is claimable, with the\n" +
			"reason; a named task that cannot be claimed is exit 4.",
		Examples: []string{"liza --as coder-1 claim", "liza claim task-3 --as coder-1 --json"}, Exits: append(ofAgents, 7),
		Tool: &Tool{Roles: coder, Outside: true, Agents: true, About: "Take a task: UNCLAIMED becomes CLAIMED. The result has its worktree; work there, commit, and submit. Call heartbeat before the lease ends."},
	}, func(ctx context.Context, service *verb.Service, in claim) (verb.Claimed, error) {
		c, err := service.Claim(ctx, in.Task)
		return c, forAnAgent(ctx, service, err, "claim", "coder-1")
	}, claimed),
	declare(Verb{
		Name: "claim-review", Group: "plumbing", Who: ByVerb, Usage: "claim the named or the next review",
		Help:     "The caller alone may judge the task until the lease ends; its status stays READY_FOR_REVIEW.",
		Examples: []string{"liza --as code-reviewer-1 claim-review", "liza claim-review task-3 --as code-reviewer-1"}, Exits: append(ofAgents, 7),
		Tool: &Tool{Roles: reviewer, Outside: true, Agents: true, About: "Take a review. The result has the commit to judge and a worktree with it; give a verdict."},
	}, func(ctx context.Context, service *verb.Service, in claim) (verb.Claimed, error) {
		c, err := service.Reviews.ClaimReview(ctx, in.Task)
		return c, forAnAgent(ctx, service, err, "claim-review", "code-reviewer-1")
	}, claimed),
	merging,
	declare(Verb{
		Name: "heartbeat", Group: "plumbing", Who: ByVerb, Usage: "extend the caller's leases",
		Help:     "Moves the lease of the agent, and of what it has claimed, to lease_duration from now. No log entry.",
		Examples: []string{"liza heartbeat", "liza --as coder-1 heartbeat"}, Exits: ofAgents,
		Tool: &Tool{Outside: true, Agents: true},
	}, func(ctx context.Context, service *verb.Service, _ struct{}) (verb.Beat, error) {
		beat, err := service.Agents.Heartbeat(ctx)
		return beat, forAnAgent(ctx, service, err, "heartbeat", "coder-1")
	}, func(_ struct{}, beat verb.Beat) Text {
		return line("%s has its lease until %s", beat.Agent, beat.Lease)
	}),
	declare(Verb{
		Name: "register", Group: "plumbing", Who: ByVerb, Usage: "enter an agent on the board and print its token",
		Help:     "Adds agents.ID with a lease of 300 s, which heartbeats extend. What is printed can be evaluated by a shell; the token is in no file.",
		Examples: []string{"liza --as coder-1 register", "eval \"$(liza --as coder-1 register)\""}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, _ struct{}) (verb.Registered, error) {
		id, err := agentOf(service, "register")
		if err != nil {
			return verb.Registered{}, err
		}
		return service.Agents.Register(ctx, verb.RegisterInput{ID: id})
	}, func(_ struct{}, r verb.Registered) Text {
		return line("export LIZA_AGENT_ID=%s\nexport LIZA_AGENT_TOKEN=%s\n# registered until %s", r.Agent, r.Token, r.Lease)
	}),
	declare(Verb{
		Name: "unregister", Group: "plumbing", Who: ByVerb, Usage: "remove an agent from the board",
		Help: "Removes agents.ID. An agent that holds a task or a review has to release it first, and a live supervisor's entry is refused. With --force\n" +
			"both are done all the same: what it holds is released, and its work is kept.",
		Examples: []string{"liza --as coder-1 unregister", "liza --as coder-1 unregister --force"}, Exits: ofAgents,
	}, func(ctx context.Context, service *verb.Service, in unregistration) (unregistered, error) {
		id, err := agentOf(service, "unregister")
		if err != nil {
			return unregistered{}, err
		}
		return unregistered{id}, service.Agents.Unregister(ctx, id, in.Force)
	}, func(_ unregistration, out unregistered) Text { return line("%s is no longer registered", out.Agent) }),
	declare(Verb{
		Name: "intent", Group: "agents", Who: ByVerb, By: "coder", Usage: "record what will be done, before it is done",
		Help: "Adds a checkpoint to the task's history; the reviewer compares. Do it before the first commit.",
		Examples: []string{"liza intent task-3 --intent 'Add --name' --validation 'python -m pytest'",
			"liza intent task-3 --intent 'Add --name' --validation 'make test' --risk 'argparse on 3.8' --file cli.py"}, Exits: ofAgents,
		Tool: &Tool{Roles: coder},
	}, func(ctx context.Context, service *verb.Service, in intent) (board.Done, error) {
		return service.Intent(ctx, in.Task, blackboard.Intent{Intent: in.Intent, Validation: in.Validation, Assumptions: in.Assumptions, Risks: in.Risks, FilesToModify: in.Files})
	}, func(_ intent, done board.Done) Text { return ofTask(done, "the intent for %s is recorded", done.Task) }),
	declare(Verb{
		Name: "submit", Aliases: []string{"submit-for-review"}, Group: "agents", Who: ByVerb, By: "coder", Usage: "hand in a claimed task for review",
		Help: "CLAIMED becomes READY_FOR_REVIEW and the lease ends. The worktree must be clean, the commit its HEAD and more than its base, and code must\n" +
			"come with tests. All that is missing is named at once.",
		Examples: []string{"liza submit task-3 --summary 'Added --name with tests'", "liza submit task-3 --commit 4f2a91c --no-tests 'only comments changed'"}, Exits: ofAgents,
		Tool: &Tool{Roles: coder},
	}, func(ctx context.Context, service *verb.Service, in verb.SubmitInput) (verb.Submitted, error) {
		return service.Submit(ctx, in)
	}, func(_ verb.SubmitInput, done verb.Submitted) Text {
		if done.Commit == "" {
			return ofTask(done.Done, "%s is %s", done.Task, done.Status)
		}
		return ofTask(done.Done, "%s is %s at %.9s", done.Task, done.Status, done.Commit)
	}),
	declare(Verb{
		Name: "verdict", Aliases: []string{"submit-verdict"}, Group: "agents", Who: ByVerb, By: "code_reviewer", Usage: "judge what was submitted",
		Help: "approve: APPROVED, or REJECTED by the gate when a check found an error, which is said. reject: REJECTED, back to the coder. replan: BLOCKED, the\n" +
			"planner takes over. stuck: the review is given back and people are told. The verdict is about the exact commit that was submitted.",
		Examples: []string{"liza verdict task-3 approve --suggest 'name the constant'",
			"liza verdict task-3 reject --reason 'cli.py:12 prints a traceback' --finding 'error|code_quality|cli.py:12|traceback|catch ValueError'"}, Exits: ofAgents,
		Tool: &Tool{Roles: reviewer},
	}, judge, func(in verdict, done verb.Judged) Text {
		switch {
		case done.OverruledBy != "":
			return ofTask(done.Done, "%s is %s: the %s overruled the approval: %s", done.Task, done.Status, done.OverruledBy, done.OverruledWhy)
		case in.Verdict == verb.StuckReview:
			return ofTask(done.Done, "the review of %s is given back, and the task is on hold (%s)", done.Task, done.Status)
		}
		return ofTask(done.Done, "%s is %s", done.Task, done.Status)
	}),
	declare(Verb{
		Name: "block", Aliases: []string{"mark-blocked"}, Group: "agents", Who: ByVerb, By: "coder, human", Usage: "stop a task with questions",
		Help: "CLAIMED becomes BLOCKED and the questions are put to people; a person may also block what nobody works on. When it says what was attempted the\n" +
			"coder counts as failed on the task. Work in the worktree is kept.",
		Examples: []string{"liza block task-3 --reason 'the spec names two formats' --question 'ISO 8601 or RFC 2822?'",
			"liza block task-3 --reason 'tests hang' --question 'Is Redis needed?' --attempted 'mocked the client'"}, Exits: ofAgents,
		Tool: &Tool{Roles: coder},
	}, func(ctx context.Context, service *verb.Service, in verb.BlockInput) (board.Done, error) {
		return service.Block(ctx, in)
	}, func(_ verb.BlockInput, done board.Done) Text { return ofTask(done, "%s is %s", done.Task, done.Status) }),
	declare(Verb{
		Name: "handoff", Group: "agents", Who: ByVerb, By: "coder, code_reviewer", Usage: "pass half-done work on to the next run",
		Help: "For an agent whose context is nearly full: commit, hand off, end. The next run on the same claim begins with the handoff in its prompt.",
		Examples: []string{"liza handoff task-3 --summary 'parser done' --next-action 'write writer.go'",
			"liza handoff task-3 --summary 'half reviewed' --next-action 'look at cli.py' --file cli.py"}, Exits: ofAgents,
		Tool: &Tool{Roles: workers},
	}, func(ctx context.Context, service *verb.Service, in handoff) (board.Done, error) {
		return service.Handoff(ctx, in.Task, blackboard.Handoff{Summary: in.Summary, NextAction: in.NextAction, Approach: in.Approach, Blockers: in.Blockers, FilesModified: in.Files, NextSteps: in.Steps})
	}, func(_ handoff, done board.Done) Text {
		return ofTask(done, "%s is handed off; end this run now", done.Task)
	}),
}

type claim struct {
	Task string `json:"task,omitempty" arg:"[ID]" help:"id of the task" unset:"the best that can be claimed"`
}

func claimed(_ claim, c verb.Claimed) Text {
	t := Text{Notices: c.Warnings}
	for _, pair := range [][2]string{
		{"task", c.Task}, {"agent", c.Agent}, {"worktree", c.Worktree}, {"base", c.BaseCommit}, {"commit", c.Commit}, {"lease", string(c.Lease)},
	} {
		if pair[1] != "" {
			t.Body += fmt.Sprintf("%-9s %s\n", pair[0], pair[1])
		}
	}
	return t
}

// forAnAgent helps a person who forgot to say for which agent: whatever refused, the command that would do is named. A process
// inside of an agent is told so.
func forAnAgent(ctx context.Context, service *verb.Service, err error, command, who string) error {
	_, refused := errors.AsType[*transition.Refusal](err)
	if !refused || service.Board.Caller.As != "" || service.Board.Caller.AgentID != "" || service.Board.InRun(ctx) {
		return err
	}
	return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza --as " + who + " " + command,
		Message: command + " is for agents; a person says with --as for which one"}
}

type unregistration struct {
	Force bool `json:"force,omitempty" help:"in spite of a live lease and of what it holds"`
}

type unregistered struct {
	Agent string `json:"agent"`
}

// agentOf returns the agent that a command is about.
func agentOf(service *verb.Service, command string) (string, error) {
	if id := cmp.Or(service.Board.Caller.As, service.Board.Caller.AgentID); id != "" {
		return id, nil
	}
	return "", board.WrongUsage("liza --as coder-1 "+command, "%s needs to know for which agent: give --as AGENT_ID", command)
}

type intent struct {
	Task        string   `json:"task" arg:"ID" help:"id of the task"`
	Intent      string   `json:"intent" help:"what will be done"`
	Validation  string   `json:"validation" help:"how it will be checked"`
	Assumptions []string `json:"assumptions,omitempty" option:"assumption" help:"what is taken for granted"`
	Risks       []string `json:"risks,omitempty" option:"risk" help:"what may go wrong"`
	Files       []string `json:"files,omitempty" option:"file" word:"P" help:"files that will be changed"`
}

type handoff struct {
	Task       string   `json:"task" arg:"ID" help:"id of the task"`
	Summary    string   `json:"summary" help:"what is done"`
	NextAction string   `json:"next_action" help:"what comes next"`
	Approach   string   `json:"approach,omitempty" help:"how"`
	Blockers   string   `json:"blockers,omitempty" help:"what is in the way"`
	Files      []string `json:"files_modified,omitempty" option:"file" word:"P" help:"files that were changed"`
	Steps      []string `json:"next_steps,omitempty" option:"step" help:"next steps, in order"`
}

type verdict struct {
	Task        string       `json:"task" arg:"ID" help:"id of the task"`
	Verdict     verb.Verdict `json:"verdict" arg:"approve|reject|replan|stuck" values:"approve,reject,replan,stuck" help:"approve, reject, replan or stuck"`
	Reason      string       `json:"reason,omitempty" file:"reason-file" help:"file and place, defect, fix; required but for approve"`
	Findings    []finding    `json:"findings,omitempty" option:"finding" word:"'severity|check|file:line|message|fix'" help:"severity is error, warning or info"`
	Inject      []injected   `json:"inject,omitempty" word:"JSON" help:"steps that the coder has to do, {\"detail\": …, \"expect\": …}; with reject"`
	Prior       []prior      `json:"prior,omitempty" word:"N=STATE" help:"what became of point N of the last rejection: RESOLVED, PARTIAL, STILL_PRESENT"`
	Suggestions []string     `json:"suggestions,omitempty" option:"suggest" help:"what blocks nothing"`
	Learn       []string     `json:"learn,omitempty" help:"lasting facts about the project, 15 to 500 characters each"`
}

type (
	finding  struct{ blackboard.Finding }
	injected struct{ exitcmd.PlanTask }
	prior    struct{ blackboard.Prior }
)

// parse reads 'severity|check|file:line|message|fix'.
func (f *finding) parse(text string) error {
	read, err := verb.ParseFinding(text)
	if err == nil {
		f.Finding = *read
	}
	return err
}

// parse reads a JSON object; description and done_when are aliases as in plans.
func (i *injected) parse(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&i.PlanTask); err != nil {
		return board.WrongUsage("liza help verdict", "--inject must be a JSON object such as {\"detail\": \"…\", \"expect\": \"…\"}: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if problem := i.FixProblem(); problem != "" {
		return board.WrongUsage("liza help verdict", "--inject: %s", problem)
	}
	return nil
}

// parse reads N=STATE.
func (p *prior) parse(text string) error {
	n, state, ok := strings.Cut(text, "=")
	number, err := strconv.Atoi(strings.TrimSpace(n))
	state = strings.ToUpper(strings.TrimSpace(state))
	if !ok || err != nil || number < 1 || !exitcmd.LimitOf("Prior.state").Has(state) {
		return board.WrongUsage("liza help verdict", "--prior '%s' must have the form N=RESOLVED, N=PARTIAL or N=STILL_PRESENT", text)
	}
	p.Prior = blackboard.Prior{N: number, State: blackboard.PriorState(state)}
	return nil
}

func judge(ctx context.Context, service *verb.Service, in verdict) (verb.Judged, error) {
	if !slices.Contains(verb.Verdicts, string(in.Verdict)) {
		return verb.Judged{}, board.WrongUsage("liza help verdict", "verdict '%s' is unknown; it must be %s", in.Verdict, strings.Join(verb.Verdicts, ", "))
	}
	given := verb.VerdictInput{Task: in.Task, Verdict: in.Verdict, Reason: in.Reason, Suggestions: in.Suggestions, Learn: in.Learn}
	for _, f := range in.Findings {
		given.Findings = append(given.Findings, &f.Finding)
	}
	for i, x := range in.Inject {
		if problem := x.FixProblem(); problem != "" {
			return verb.Judged{}, board.WrongUsage("liza help verdict", "inject[%d]: %s", i, problem)
		}
		given.Inject = append(given.Inject, x.Fix())
	}
	for _, p := range in.Prior {
		given.Prior = append(given.Prior, &p.Prior)
	}
	return service.Reviews.Verdict(ctx, given)
}
