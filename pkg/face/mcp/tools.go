package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

// Options says who is served, and with what.
type Options struct {
	Version string
	Service *verb.Service   // of the caller; nil: a run without verbs calls, and nothing is offered
	Role    blackboard.Role // of the caller; "" for a person
	Inside  bool            // the caller is in a run of an agent program: its supervisor claims, merges and keeps the leases
	Task    string          // that the caller's run is about; may be ""

	// Notes takes what people have written since the prompt of the caller's run; nil: nobody does.
	Notes func(context.Context) []string
	// Explain is what a failed command would say of an error.
	Explain func(error) Problem
	// Facts is what the board shows besides the state.
	Facts func(*blackboard.State) dashboard.Facts
	// Prompt is the text that the next run on a task would begin with, and the role that it
	// is for; _planner stands for the planner.
	Prompt func(ctx context.Context, task string) (blackboard.Role, string, error)
}

// Problem is an error as agents read it.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// tool is a verb or a view under the name that it has on the command line.
type tool struct {
	name, about string
	roles       []blackboard.Role // that are offered it; none: all
	people      bool              // offered to people: only, or besides roles that are named
	outside     bool              // not offered inside a run: there the supervisor does it
	agents      bool              // nothing for a person without an agent's id
	reads       bool              // changes nothing
	values      map[string][]any  // arguments with few possible values
	schema      func() (*jsonschema.Schema, error)
	call        func(ctx context.Context, o Options, arguments json.RawMessage) (any, error)
}

// takes makes the call of a tool from a function whose argument has the tool's schema.
func takes[In any](t tool, call func(ctx context.Context, o Options, in In) (any, error)) tool {
	t.schema = func() (*jsonschema.Schema, error) { return jsonschema.For[In](nil) }
	t.call = func(ctx context.Context, o Options, arguments json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, usage("liza help "+t.command(), "cannot read the arguments of "+t.name+": "+err.Error())
		}
		return call(ctx, o, in)
	}
	return t
}

func usage(next, message string) error {
	return &transition.Refusal{Exit: transition.ExitUsage, Next: next, Message: message}
}

// command is the command of the command line that does the same.
func (t tool) command() string { return strings.Replace(t.name, "plan-", "plan ", 1) }

// wireError is a problem where the protocol has an error of its own: one sentence, and the
// problem as its data. What the caller can mend is an error of his parameters.
func wireError(p Problem) error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: p.Message + "; next: " + p.Next}
	if p.Code == "failure" || p.Code == "invalid" || p.Code == "locked" {
		e.Code = jsonrpc.CodeInternalError
	}
	if data, err := json.Marshal(p); err == nil {
		e.Data = data
	}
	return e
}

var (
	planner  = []blackboard.Role{blackboard.RolePlanner}
	coder    = []blackboard.Role{blackboard.RoleCoder}
	reviewer = []blackboard.Role{blackboard.RoleReviewer}
	workers  = []blackboard.Role{blackboard.RoleCoder, blackboard.RoleReviewer}
)

// The arguments of the verbs. Names are those of plans and of state.yaml.
type (
	intentArgs struct {
		Task        string   `json:"task" jsonschema:"id of the task"`
		Intent      string   `json:"intent" jsonschema:"what will be done"`
		Validation  string   `json:"validation" jsonschema:"how it will be checked"`
		Assumptions []string `json:"assumptions,omitempty" jsonschema:"what is taken for granted"`
		Risks       []string `json:"risks,omitempty" jsonschema:"what may go wrong"`
		Files       []string `json:"files,omitempty" jsonschema:"files that will be changed"`
	}
	submitArgs struct {
		Task     string   `json:"task" jsonschema:"id of the task"`
		Commit   string   `json:"commit,omitempty" jsonschema:"commit to review; left out: HEAD of the worktree"`
		Summary  string   `json:"summary,omitempty" jsonschema:"what was done, for the reviewer"`
		NoTests  string   `json:"no_tests,omitempty" jsonschema:"why there are no tests; the reviewer judges it"`
		Evidence []string `json:"evidence,omitempty" jsonschema:"files that show it"`
	}
	verdictArgs struct {
		Task        string                `json:"task" jsonschema:"id of the task"`
		Verdict     string                `json:"verdict" jsonschema:"approve, reject, replan or stuck"`
		Reason      string                `json:"reason,omitempty" jsonschema:"file and place, defect, fix; required but for approve"`
		Findings    []*blackboard.Finding `json:"findings,omitempty" jsonschema:"severity is error, warning or info"`
		Inject      []exitcmd.PlanTask    `json:"inject,omitempty" jsonschema:"steps that the coder has to do: detail, expect; with reject"`
		Prior       []*blackboard.Prior   `json:"prior,omitempty" jsonschema:"what became of point n of the last rejection: RESOLVED, PARTIAL, STILL_PRESENT"`
		Suggestions []string              `json:"suggestions,omitempty" jsonschema:"what blocks nothing"`
		Learn       []string              `json:"learn,omitempty" jsonschema:"lasting facts about the project, 15 to 500 characters each"`
	}
	blockArgs struct {
		Task      string   `json:"task" jsonschema:"id of the task"`
		Reason    string   `json:"reason" jsonschema:"what keeps the task from going on"`
		Questions []string `json:"questions" jsonschema:"1 to 3 questions for people"`
		Attempted []string `json:"attempted,omitempty" jsonschema:"what was tried"`
	}
	handoffArgs struct {
		Task       string   `json:"task" jsonschema:"id of the task"`
		Summary    string   `json:"summary" jsonschema:"what is done"`
		NextAction string   `json:"next_action" jsonschema:"what comes next"`
		Approach   string   `json:"approach,omitempty" jsonschema:"how"`
		Blockers   string   `json:"blockers,omitempty" jsonschema:"what is in the way"`
		Files      []string `json:"files_modified,omitempty" jsonschema:"files that were changed"`
		Steps      []string `json:"next_steps,omitempty" jsonschema:"next steps, in order"`
	}
	discoverArgs struct {
		Text      string `json:"text" jsonschema:"what was found"`
		Task      string `json:"task" jsonschema:"task during which it was found"`
		Severity  string `json:"severity,omitempty" jsonschema:"critical, high, medium or low; left out: low"`
		Urgency   string `json:"urgency,omitempty" jsonschema:"immediate or deferred; left out: deferred"`
		Recommend string `json:"recommend,omitempty" jsonschema:"what should be done"`
	}
	anomalyArgs struct {
		Type    string            `json:"type" jsonschema:"what kind, such as retry_loop or spec_ambiguity; a type of your own begins with x-"`
		Task    string            `json:"task" jsonschema:"task that it is about"`
		Details map[string]string `json:"details,omitempty" jsonschema:"what happened, by name; each type needs its own"`
	}
	wayArgs struct {
		Task      string   `json:"task" jsonschema:"id of the task"`
		Reason    string   `json:"reason" jsonschema:"why"`
		By        []string `json:"by" jsonschema:"tasks that replace it"`
		RootCause string   `json:"root_cause,omitempty" jsonschema:"required after two coders failed"`
	}
	abandonArgs struct {
		Task      string `json:"task" jsonschema:"id of the task"`
		Reason    string `json:"reason" jsonschema:"why"`
		RootCause string `json:"root_cause,omitempty" jsonschema:"required after two coders failed"`
	}
	unblockArgs struct {
		Task      string    `json:"task" jsonschema:"id of the task"`
		Reason    string    `json:"reason" jsonschema:"why"`
		DependsOn *[]string `json:"depends_on,omitempty" jsonschema:"new dependencies; an empty list is none; left out: as before"`
	}
	convertArgs struct {
		Discovery string `json:"discovery" jsonschema:"id of the discovery"`
		Task      string `json:"task" jsonschema:"the task that came of it"`
	}
	deferArgs struct {
		Discovery string `json:"discovery" jsonschema:"id of the discovery"`
		Reason    string `json:"reason" jsonschema:"why"`
	}
	finalizeArgs struct {
		Tasks       []string `json:"tasks" jsonschema:"ids of drafts"`
		NoSpecFiles bool     `json:"no_spec_files,omitempty" jsonschema:"do not look for spec files"`
	}
	claimArgs struct {
		Task string `json:"task,omitempty" jsonschema:"id of the task; left out: the best that can be claimed"`
	}
	releaseArgs struct {
		Task   string `json:"task" jsonschema:"id of the task"`
		Reason string `json:"reason" jsonschema:"why"`
		Force  bool   `json:"force,omitempty" jsonschema:"also when the lease is live; for people"`
	}
	mergeArgs struct {
		Task string `json:"task,omitempty" jsonschema:"id of the task; left out: all that are approved, oldest approval first"`
	}
	orderArgs struct {
		Agent  string `json:"agent" jsonschema:"id of the agent"`
		Reason string `json:"reason,omitempty" jsonschema:"why"`
	}
	restartArgs struct {
		Agent  string `json:"agent" jsonschema:"id of the agent"`
		Reason string `json:"reason,omitempty" jsonschema:"why"`
		Task   string `json:"task,omitempty" jsonschema:"what a coder begins with; left out: the best that can be claimed"`
	}
	editArgs struct {
		Task        string `json:"task" jsonschema:"id of the task"`
		Priority    *int   `json:"priority,omitempty" jsonschema:"1 is the highest; left out: as before, as for each of the following"`
		Title       string `json:"title,omitempty" jsonschema:"short name"`
		Description string `json:"description,omitempty" jsonschema:"what is to be done"`
		DoneWhen    string `json:"done_when,omitempty" jsonschema:"how one sees that it is done"`
		Scope       string `json:"scope,omitempty" jsonschema:"what is in, and what is out"`
	}
	noteArgs struct {
		Text string `json:"text" jsonschema:"the note"`
		Task string `json:"task,omitempty" jsonschema:"task that it is for; left out: for the planner"`
		ID   string `json:"id,omitempty" jsonschema:"key of the note; a second note with the same key changes nothing"`
	}
	answerArgs struct {
		Question string `json:"question" jsonschema:"id of the question"`
		Text     string `json:"text" jsonschema:"the answer"`
	}
)

// tools are the verbs (specs/cli.md#3), and those of people that a person's program needs.
func tools() []tool {
	return []tool{
		takes(tool{name: "claim", roles: coder, outside: true, agents: true, about: "Take a task: UNCLAIMED becomes CLAIMED. The result has its worktree; work there, commit, and submit. Call heartbeat before the lease ends."},
			func(ctx context.Context, o Options, in claimArgs) (any, error) { return o.Service.Claim(ctx, in.Task) }),
		takes(tool{name: "claim-review", roles: reviewer, outside: true, agents: true, about: "Take a review. The result has the commit to judge and a worktree with it; give a verdict."},
			func(ctx context.Context, o Options, in claimArgs) (any, error) {
				return o.Service.ClaimReview(ctx, in.Task)
			}),
		takes(tool{name: "heartbeat", outside: true, agents: true, about: "Extend the leases of the caller and of what it holds."},
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.Service.Heartbeat(ctx) }),
		takes(tool{name: "release", roles: workers, people: true, outside: true, about: "Give a claim or a review back. Work in the worktree is kept."},
			func(ctx context.Context, o Options, in releaseArgs) (any, error) {
				return o.Service.Release(ctx, verb.ReleaseInput{Task: in.Task, Reason: in.Reason, Force: in.Force})
			}),
		takes(tool{name: "merge", roles: reviewer, people: true, outside: true, about: "Merge what is approved into the integration branch: APPROVED becomes MERGED, or INTEGRATION_FAILED."},
			func(ctx context.Context, o Options, in mergeArgs) (any, error) {
				done, err := o.Service.Merge(ctx, in.Task)
				return map[string]any{"merges": done}, err
			}),
		takes(tool{name: "intent", roles: coder, about: "Record what will be done, before it is done. Do it before the first commit; the reviewer compares."},
			func(ctx context.Context, o Options, in intentArgs) (any, error) {
				return o.Service.Intent(ctx, in.Task, blackboard.Intent{Intent: in.Intent, Validation: in.Validation, Assumptions: in.Assumptions, Risks: in.Risks, FilesToModify: in.Files})
			}),
		takes(tool{name: "submit", roles: coder, about: "Hand in a claimed task for review: CLAIMED becomes READY_FOR_REVIEW. The worktree must be clean, and code must come with tests."},
			func(ctx context.Context, o Options, in submitArgs) (any, error) {
				return o.Service.Submit(ctx, verb.SubmitInput(in))
			}),
		takes(tool{name: "verdict", roles: reviewer, values: map[string][]any{"verdict": {"approve", "reject", "replan", "stuck"}},
			about: "Judge what was submitted. approve: APPROVED, or REJECTED by the gate when a check found an error. reject: back to the coder. replan: the planner takes over. stuck: the review is given back."}, verdict),
		takes(tool{name: "block", roles: coder, about: "Stop a task with questions for people: CLAIMED becomes BLOCKED. Work in the worktree is kept."},
			func(ctx context.Context, o Options, in blockArgs) (any, error) {
				return o.Service.Block(ctx, verb.BlockInput{Task: in.Task, ByVerb: true, Reason: in.Reason, Questions: in.Questions, Attempted: in.Attempted})
			}),
		takes(tool{name: "handoff", roles: workers, about: "Pass half-done work on to the next run when the context is nearly full. Commit first, end the run afterwards."},
			func(ctx context.Context, o Options, in handoffArgs) (any, error) {
				return o.Service.Handoff(ctx, in.Task, blackboard.Handoff{Summary: in.Summary, NextAction: in.NextAction, Approach: in.Approach, Blockers: in.Blockers, FilesModified: in.Files, NextSteps: in.Steps})
			}),
		takes(tool{name: "discover", roles: workers, about: "Record something found that is not part of the task. Changes no task.",
			values: map[string][]any{"severity": {"critical", "high", "medium", "low"}, "urgency": {"immediate", "deferred"}}},
			func(ctx context.Context, o Options, in discoverArgs) (any, error) {
				return o.Service.Discover(ctx, blackboard.Discovery{Description: in.Text, During: in.Task, Severity: cmp.Or(in.Severity, "low"), Urgency: cmp.Or(in.Urgency, "deferred"), Recommendation: in.Recommend})
			}),
		takes(tool{name: "anomaly", about: "Record what went differently than it should. The circuit breaker looks at once.\n" + anomalyTypes()},
			func(ctx context.Context, o Options, in anomalyArgs) (any, error) {
				return o.Service.Anomaly(ctx, verb.AnomalyInput{Type: blackboard.AnomalyKind(in.Type), Task: in.Task, Details: in.Details})
			}),
		takes(tool{name: "add-task", roles: planner, about: "Put a task on the board, validated before anything is written. done_when has to be falsifiable."}, addTask),
		takes(tool{name: "finalize", roles: planner, about: "Make drafts claimable, all or none: DRAFT becomes UNCLAIMED."}, finalize),
		planApply(),
		takes(tool{name: "unblock", roles: planner, about: "Let a blocked task start over: BLOCKED becomes UNCLAIMED. Work of the worktree is saved first."}, unblock),
		takes(tool{name: "supersede", roles: planner, about: "Replace a task by others; what depends on it depends on the replacements. Work is saved first."},
			func(ctx context.Context, o Options, in wayArgs) (any, error) {
				return o.Service.Supersede(ctx, verb.WayOut{Task: in.Task, Reason: in.Reason, By: in.By, RootCause: in.RootCause})
			}),
		takes(tool{name: "abandon", roles: planner, about: "Drop a task. Tasks that depend on it are blocked with a question. Work is saved first."},
			func(ctx context.Context, o Options, in abandonArgs) (any, error) {
				return o.Service.Abandon(ctx, verb.WayOut{Task: in.Task, Reason: in.Reason, RootCause: in.RootCause})
			}),
		takes(tool{name: "convert", roles: planner, about: "Say which task came of a discovery."},
			func(ctx context.Context, o Options, in convertArgs) (any, error) {
				return o.Service.Convert(ctx, in.Discovery, in.Task)
			}),
		takes(tool{name: "defer", roles: planner, about: "Put a discovery off."},
			func(ctx context.Context, o Options, in deferArgs) (any, error) {
				return o.Service.Defer(ctx, in.Discovery, in.Reason)
			}),
		takes(tool{name: "edit", people: true, about: "Change priority, title or texts of a task that is not terminal."},
			func(ctx context.Context, o Options, in editArgs) (any, error) {
				return o.Service.EditTask(ctx, verb.TaskEdit(in))
			}),
		takes(tool{name: "stop", people: true, about: "End the run of one agent and keep it from work until restart. Its work is kept, its claim goes back to the board."},
			func(ctx context.Context, o Options, in orderArgs) (any, error) {
				return o.Service.StopAgent(ctx, verb.AgentOrder{Agent: in.Agent, Reason: in.Reason})
			}),
		takes(tool{name: "restart", people: true, about: "Let a stopped agent work again, or end the run of one at work so that a new run begins."},
			func(ctx context.Context, o Options, in restartArgs) (any, error) {
				return o.Service.RestartAgent(ctx, verb.AgentOrder{Agent: in.Agent, Reason: in.Reason, Task: in.Task})
			}),
		takes(tool{name: "note", people: true, about: "Leave a note for the planner, or for a task."},
			func(ctx context.Context, o Options, in noteArgs) (any, error) {
				return o.Service.Note(ctx, verb.NoteInput{Text: in.Text, Task: in.Task, ID: in.ID})
			}),
		takes(tool{name: "answer", people: true, about: "Answer a question of an agent. The last answer unblocks a task that waits for answers only."},
			func(ctx context.Context, o Options, in answerArgs) (any, error) {
				return o.Service.Answer(ctx, in.Question, in.Text)
			}),
	}
}

func verdict(ctx context.Context, o Options, in verdictArgs) (any, error) {
	v := verb.VerdictInput{Task: in.Task, Verdict: verb.Verdict(in.Verdict), Reason: in.Reason, Findings: in.Findings, Prior: in.Prior, Suggestions: in.Suggestions, Learn: in.Learn}
	for i, x := range in.Inject {
		if problem := x.FixProblem(); problem != "" {
			return nil, fmt.Errorf("inject[%d]: %s", i, problem)
		}
		v.Inject = append(v.Inject, x.Fix())
	}
	return o.Service.Verdict(ctx, v)
}

func unblock(ctx context.Context, o Options, in unblockArgs) (any, error) {
	w := verb.WayOut{Task: in.Task, Reason: in.Reason}
	if in.DependsOn != nil {
		w.DependsOn = append([]string{}, *in.DependsOn...)
	}
	return o.Service.Unblock(ctx, w)
}

func finalize(ctx context.Context, o Options, in finalizeArgs) (any, error) {
	return o.service(in.NoSpecFiles).Finalize(ctx, in.Tasks)
}

// planApply has a plan as its arguments; the verb's own reader knows all its forms.
func planApply() tool {
	t := takes(tool{name: "plan-apply", roles: planner, about: "Put a whole plan on the board, all or nothing. All problems are named at once. The same plan again is refused with the code nothing."},
		func(context.Context, Options, exitcmd.Plan) (any, error) { return nil, nil })
	t.call = func(ctx context.Context, o Options, arguments json.RawMessage) (any, error) {
		p, err := exitcmd.ParsePlan(arguments)
		if err != nil {
			return nil, err
		}
		return o.Service.ApplyPlan(ctx, p)
	}
	return t
}

// anomalyTypes lists what agents may record, with the details that are needed.
func anomalyTypes() string {
	var lines []string
	for _, kind := range blackboard.AnomalyTypes {
		who := strings.Join(kind.Reporters, ", ")
		if who != blackboard.System {
			lines = append(lines, string(kind.Name)+" ("+cmp.Or(who, "anybody")+"): "+strings.Join(kind.Details, ", "))
		}
	}
	return strings.Join(lines, "\n")
}

type addTaskArgs struct {
	ID          string            `json:"id" jsonschema:"new id of the task"`
	Description string            `json:"description,omitempty" jsonschema:"what is to be done; the first line is the title"`
	SpecRef     string            `json:"spec_ref,omitempty" jsonschema:"spec file, with an anchor: specs/vision.md#greeting"`
	DoneWhen    string            `json:"done_when,omitempty" jsonschema:"how one sees that it is done"`
	Scope       string            `json:"scope,omitempty" jsonschema:"what is in, and what is out"`
	Priority    *int              `json:"priority,omitempty" jsonschema:"1 is the highest; left out: 1"`
	DependsOn   []string          `json:"depends_on,omitempty" jsonschema:"tasks that must be merged first"`
	Type        string            `json:"type,omitempty" jsonschema:"feature, task, bug, refactor, test, docs, config or spec; left out: task"`
	Kind        string            `json:"kind,omitempty" jsonschema:"code, exec or msg; left out: code"`
	Title       string            `json:"title,omitempty" jsonschema:"short name"`
	Criteria    []string          `json:"acceptance_criteria,omitempty" jsonschema:"acceptance criteria"`
	Files       []string          `json:"files,omitempty" jsonschema:"files that it is about, as globs, for scheduling"`
	Role        string            `json:"role,omitempty" jsonschema:"name of the role to use"`
	Model       string            `json:"model,omitempty" jsonschema:"role whose model is used"`
	Command     string            `json:"command,omitempty" jsonschema:"command of an exec task"`
	Skill       string            `json:"skill,omitempty" jsonschema:"skill of a skill task"`
	Args        map[string]string `json:"args,omitempty" jsonschema:"arguments of the skill"`
	Writes      bool              `json:"writes,omitempty" jsonschema:"an exec task that changes files"`
	Review      bool              `json:"review,omitempty" jsonschema:"an exec or msg task whose result is reviewed"`
	Notify      bool              `json:"notify,omitempty" jsonschema:"send the accepted result to people"`
	LegacyTests string            `json:"legacy_tests,omitempty" jsonschema:"why tests are a task of their own"`
	Limits      map[string]int    `json:"limits,omitempty" jsonschema:"limits of this task, such as max_iterations or cost_cents"`
	Stretch     bool              `json:"stretch,omitempty" jsonschema:"nice to have: into the sprint's stretch scope"`
	NoSpecFiles bool              `json:"no_spec_files,omitempty" jsonschema:"do not look for the spec file"`
	Draft       bool              `json:"draft,omitempty" jsonschema:"create a DRAFT; gates are checked by finalize"`
}

func addTask(ctx context.Context, o Options, in addTaskArgs) (any, error) {
	one := 1
	t := blackboard.Task{ID: in.ID, Description: in.Description, SpecRef: in.SpecRef, DoneWhen: in.DoneWhen, Scope: in.Scope, Priority: in.Priority, DependsOn: in.DependsOn,
		Type: cmp.Or(in.Type, "task"), Kind: blackboard.TaskKind(in.Kind), Title: in.Title, AcceptanceCriteria: in.Criteria, Files: in.Files, Role: in.Role, ModelRole: in.Model, Command: in.Command,
		Skill: in.Skill, Writes: in.Writes, ReviewRequired: in.Review, Notify: in.Notify, LegacyTests: in.LegacyTests}
	if t.Priority == nil {
		t.Priority = &one
	}
	if t.Kind == blackboard.CodeTask {
		t.Kind = ""
	}
	if t.DependsOn == nil {
		t.DependsOn = blackboard.List{}
	}
	for k, v := range in.Args {
		if t.Args == nil {
			t.Args = blackboard.Settings{}
		}
		t.Args[k] = v
	}
	for k, n := range in.Limits {
		if !slices.Contains(plan.TaskLimits, k) || n < 0 {
			return nil, usage("liza help add-task", "limits."+k+" must be a whole number of 0 or more, for one of "+strings.Join(plan.TaskLimits, ", "))
		}
	}
	n := verb.NewTask{Task: t, Stretch: in.Stretch, Draft: in.Draft}
	n.SetLimits(in.Limits)
	return o.service(in.NoSpecFiles).AddTask(ctx, n)
}

// service is the caller's, perhaps one that looks for no spec files.
func (o Options) service(noSpecFiles bool) *verb.Service {
	if !noSpecFiles {
		return o.Service
	}
	d := *o.Service
	d.NoSpecFiles = true
	return &d
}

// views are the read views as tools, for programs that read no resources.
func views() []tool {
	return []tool{
		takes(tool{name: "status", reads: true, about: "The board on one screen: goal, sprint, counts, tasks, agents, and what waits for a person."},
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.board(ctx) }),
		takes(tool{name: "show", reads: true, about: "One task, agent, question, plan or discovery, whole."},
			func(ctx context.Context, o Options, in showArgs) (any, error) { return o.entry(ctx, in.ID) }),
		takes(tool{name: "log", reads: true, about: "What happened: the newest entries of the journal, oldest first."},
			func(_ context.Context, o Options, in logArgs) (any, error) {
				f := history.Filter{Last: newest, Task: in.Task, Agent: in.Agent, Action: blackboard.Action(in.Action)}
				if in.Last != nil {
					f.Last = *in.Last
				}
				return o.log(f)
			}),
		takes(tool{name: "questions", reads: true, about: "The open questions of agents, oldest first."},
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.questions(ctx) }),
	}
}

// newest is how many entries of the journal are shown when nobody says how many.
const newest = 50

type showArgs struct {
	ID string `json:"id" jsonschema:"id of what to show"`
}

type logArgs struct {
	Last   *int   `json:"last,omitempty" jsonschema:"how many entries; 0 is all; left out: 50"`
	Task   string `json:"task,omitempty" jsonschema:"entries of this task only"`
	Agent  string `json:"agent,omitempty" jsonschema:"entries by this agent, by human or by system only"`
	Action string `json:"action,omitempty" jsonschema:"entries of this action only, such as claimed or merged"`
}

func (o Options) board(ctx context.Context) (dashboard.View, error) {
	s, err := o.Service.View(ctx)
	if err != nil {
		return dashboard.View{}, err
	}
	return dashboard.Build(s, o.Facts(s)), nil
}

// entry is what `liza show ID --json` has as its result.
func (o Options) entry(ctx context.Context, id string) (map[string]any, error) {
	s, err := o.Service.View(ctx)
	if err != nil {
		return nil, err
	}
	if entry, what, ok := dashboard.Find(s, id); ok {
		return map[string]any{"kind": what, what: dashboard.Plain(entry)}, nil
	}
	t, sprint, err := o.Service.ArchivedTask(id)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: "nothing on the board has the id '" + id + "'"}
	}
	return map[string]any{"kind": "task", "task": dashboard.Plain(t), "archived": sprint}, nil
}

func (o Options) log(f history.Filter) (map[string]any, error) {
	if f.Last < 0 {
		return nil, usage("liza help log", "last must not be negative")
	}
	entries, err := history.Journal{Path: o.Service.Project.Journal()}.Read(f)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, e := range entries {
		list = append(list, dashboard.Plain(e))
	}
	return map[string]any{"entries": list}, nil
}

func (o Options) questions(ctx context.Context) (map[string]any, error) {
	s, err := o.Service.View(ctx)
	if err != nil {
		return nil, err
	}
	open := []*blackboard.Question{}
	for _, q := range s.Questions {
		if q != nil && q.Status == blackboard.QuestionOpen {
			open = append(open, q)
		}
	}
	return map[string]any{"questions": dashboard.Plain(open)}, nil
}
