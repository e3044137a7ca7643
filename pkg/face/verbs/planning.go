package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/board"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

// planning are the verbs that add work: those of planners, and those for discoveries.
var planning = []*Verb{
	declare(Verb{
		Name: "add-task", Group: "agents", Who: ByVerb, By: "planner, human", Usage: "put a task on the board", Route: "/api/add-task",
		Help: "Creates an UNCLAIMED task that passes all gates, or a DRAFT. Nothing is written when a gate is missed, and all gaps are named.\n" +
			"done_when has to be falsifiable: \"GET /users returns 200 with a JSON array\", not \"works correctly\".",
		Examples: []string{"liza add-task --id task-1 --desc 'Say hello' --spec specs/vision.md --done 'hello.txt contains \"hello\"' --scope hello.txt",
			"liza add-task --id idea --desc 'Colours' --draft"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner},
	}, func(ctx context.Context, service *verb.Service, in newTask) (board.Done, error) {
		in, err := in.withFile("add-task")
		if err != nil {
			return board.Done{}, err
		}
		given, err := in.task(service)
		if err != nil {
			return board.Done{}, err
		}
		return service.AddTask(ctx, given)
	}, func(_ newTask, done board.Done) Text { return ofTask(done, "%s is %s", done.Task, done.Status) }),
	declare(Verb{
		Name: "finalize", Group: "agents", Who: ByVerb, By: "planner, human", Usage: "make drafts claimable, all or none", Route: "/api/finalize",
		Help:     "DRAFT becomes UNCLAIMED. Every gate of every task is checked first; one gap, and none is changed.",
		Examples: []string{"liza finalize task-1 task-2", "liza --as planner-1 finalize task-3"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner},
	}, func(ctx context.Context, service *verb.Service, in finalize) (verb.Finalized, error) {
		return service.Finalize(ctx, in.Tasks)
	}, func(_ finalize, done verb.Finalized) Text {
		return Text{Body: "claimable now: " + strings.Join(done.Tasks, ", ") + "\n", Notices: done.Warnings}
	}),
	declare(Verb{
		Name: "unblock", Group: "agents", Who: ByVerb, By: "planner, human", Usage: "let a blocked task start over", Route: "/api/tasks/{task}/unblock", Without: []string{"by", "root_cause"},
		Help:     "BLOCKED becomes UNCLAIMED; the next claim starts from the integration branch. Work of the worktree is saved under refs/liza/attic/ first.",
		Examples: []string{"liza unblock task-3 --reason 'the spec says ISO 8601 now'", "liza unblock task-3 --reason 'without the cache' --depends task-1"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner},
	}, func(ctx context.Context, service *verb.Service, in verb.WayOut) (board.Done, error) {
		return service.Unblock(ctx, in)
	}, left),
	declare(Verb{
		Name: "supersede", Group: "agents", Who: ByVerb, By: "planner, human", Usage: "replace a task by others", Without: []string{"depends_on"},
		Help: "The task becomes SUPERSEDED; what depends on it depends on the replacements. From BLOCKED, DRAFT, UNCLAIMED, REJECTED and\n" +
			"INTEGRATION_FAILED. Work is saved under refs/liza/attic/ first.",
		Examples: []string{"liza supersede task-3 --by task-7,task-8 --reason 'parser and writer apart'",
			"liza supersede task-3 --by task-9 --reason 'another library' --root-cause 'libfoo has no streaming'"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner},
	}, func(ctx context.Context, service *verb.Service, in verb.WayOut) (board.Done, error) {
		if len(in.By) == 0 {
			return board.Done{}, board.WrongUsage("liza help supersede", "--by is empty: name the tasks that replace %s; `liza abandon` drops it", in.Task)
		}
		return service.Supersede(ctx, in)
	}, left),
	declare(Verb{
		Name: "discover", Group: "agents", Who: ByVerb, By: "coder, code_reviewer, human", Usage: "record something found that is not part of the task",
		Help: "Adds to discovered; changes no task. An immediate discovery wakes the planner, the others are in its next prompts until they are\n" +
			"converted or deferred.",
		Examples: []string{"liza discover 'the retry helper swallows errors' --task task-4 --severity high --urgency immediate",
			"liza discover 'docs/api.md is out of date' --task task-4 --recommend 'regenerate it'"}, Exits: ofAgents,
		Tool: &Tool{Roles: workers},
	}, func(ctx context.Context, service *verb.Service, in discovery) (verb.Discovered, error) {
		if err := needs("discover", "task", in.Task); err != nil {
			return verb.Discovered{}, err
		}
		return service.Discover(ctx, blackboard.Discovery{Description: in.Text, During: in.Task, Severity: in.Severity, Urgency: in.Urgency, Recommendation: in.Recommend})
	}, func(_ discovery, done verb.Discovered) Text { return line("recorded as %s", done.ID) }),
	declare(Verb{
		Name: "convert", Group: "agents", Who: ByVerb, By: "planner, human", Usage: "say which task came of a discovery",
		Help:     "Sets converted_to_task. The task may be an old or a new one; make it with add-task first.",
		Examples: []string{"liza convert disc-1 --task task-9", "liza convert disc-2 --task task-4 --json"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner},
	}, func(ctx context.Context, service *verb.Service, in conversion) (verb.Discovered, error) {
		if err := needs("convert", "task", in.Task); err != nil {
			return verb.Discovered{}, err
		}
		return service.Convert(ctx, in.Discovery, in.Task)
	}, func(_ conversion, done verb.Discovered) Text {
		return line("%s is %s now%s", done.ID, done.Task, already(done))
	}),
	declare(Verb{
		Name: "defer", Group: "agents", Who: ByVerb, By: "planner, human", Usage: "put a discovery off",
		Help:     "Keeps it, with the reason; it is in every planner's prompt and goes on into the next sprint.",
		Examples: []string{"liza defer disc-1 --reason 'cosmetic; next sprint'", "liza --as planner-1 defer disc-2 --reason 'needs a spec first'"}, Exits: ofAgents,
		Tool: &Tool{Roles: planner},
	}, func(ctx context.Context, service *verb.Service, in deferral) (verb.Discovered, error) {
		if err := needs("defer", "reason", in.Reason); err != nil {
			return verb.Discovered{}, err
		}
		return service.Defer(ctx, in.Discovery, in.Reason)
	}, func(_ deferral, done verb.Discovered) Text { return line("%s is deferred%s", done.ID, already(done)) }),
	declare(Verb{
		Name: "anomaly", Group: "agents", Who: ByVerb, Usage: "record what went differently than it should",
		Help: "Adds to anomalies. The circuit breaker looks at once; a pattern stops the sprint at a checkpoint. Types, who records them, and the details that\n" +
			"they need (a person may record all; a type of your own begins with x-):\n\n" + anomalyTypes("   "),
		Examples: []string{"liza anomaly --type retry_loop --task task-3 --detail count=3 --detail error_pattern='undefined: Parse'",
			"liza anomaly --type spec_ambiguity --task task-3 --detail question='may a name be empty?' --detail spec_ref=specs/vision.md#name"}, Exits: ofAgents,
		Tool: &Tool{About: "Record what went differently than it should. The circuit breaker looks at once.\n" + anomalyTypes("")},
	}, func(ctx context.Context, service *verb.Service, in verb.AnomalyInput) (verb.Recorded, error) {
		if err := needs("anomaly", "type", string(in.Type)); err != nil {
			return verb.Recorded{}, err
		}
		if err := needs("anomaly", "task", in.Task); err != nil {
			return verb.Recorded{}, err
		}
		return service.Anomaly(ctx, in)
	}, func(_ verb.AnomalyInput, done verb.Recorded) Text {
		return Text{Body: "recorded as " + done.ID + "\n", Notices: done.Notices}
	}),
}

// newTask has the names of state.yaml. The command line has an option for what most tasks need, and a file for the rest.
type newTask struct {
	ID          string            `json:"id" word:"ID" help:"new id of the task"`
	Description string            `json:"description,omitempty" option:"desc" help:"what is to be done; the first line is the title"`
	SpecRef     string            `json:"spec_ref,omitempty" option:"spec" word:"P[#a]" help:"spec file, with an anchor: specs/vision.md#greeting"`
	DoneWhen    string            `json:"done_when,omitempty" option:"done" help:"how one sees that it is done"`
	Scope       string            `json:"scope,omitempty" help:"what is in, and what is out"`
	Priority    *int              `json:"priority,omitempty" unset:"1" help:"1 is the highest"`
	DependsOn   []string          `json:"depends_on,omitempty" option:"depends" list:"comma" help:"tasks that must be merged first"`
	Type        string            `json:"type,omitempty" unset:"task" help:"feature, task, bug, refactor, test, docs, config or spec"`
	Criteria    []string          `json:"acceptance_criteria,omitempty" option:"criteria" help:"acceptance criteria"`
	Limits      map[string]int    `json:"limits,omitempty" option:"limit" help:"limits of this task, such as max_iterations=3 or cost_cents=200"`
	Draft       bool              `json:"draft,omitempty" help:"create a DRAFT; gates are checked by finalize"`
	File        string            `json:"file,omitempty" file:"file" faces:"cli" help:"YAML of a task, with the names of state.yaml; options come before it"`
	Kind        string            `json:"kind,omitempty" unset:"code" faces:"mcp,http" help:"code, exec, msg or skill"`
	Title       string            `json:"title,omitempty" faces:"mcp,http" help:"short name"`
	Files       []string          `json:"files,omitempty" faces:"mcp,http" help:"files that it is about, as globs, for scheduling"`
	Role        string            `json:"role,omitempty" faces:"mcp,http" help:"name of the role to use"`
	Model       string            `json:"model,omitempty" faces:"mcp,http" help:"role whose model is used"`
	Command     string            `json:"command,omitempty" faces:"mcp,http" help:"command of an exec task"`
	Skill       string            `json:"skill,omitempty" faces:"mcp,http" help:"skill of a skill task"`
	Args        map[string]string `json:"args,omitempty" faces:"mcp,http" help:"arguments of the skill"`
	Writes      bool              `json:"writes,omitempty" faces:"mcp,http" help:"an exec task that changes files: it is committed, reviewed and merged"`
	Review      bool              `json:"review,omitempty" faces:"mcp,http" help:"an exec or msg task whose result is reviewed"`
	Notify      bool              `json:"notify,omitempty" faces:"mcp,http" help:"send the accepted result to people"`
	LegacyTests string            `json:"legacy_tests,omitempty" faces:"mcp,http" help:"why tests are a task of their own"`
	Attempts    int               `json:"attempts,omitempty" faces:"mcp,http" help:"let N coders try apart from each other, 2 to 5; the best goes on"`
	CLI         []string          `json:"cli,omitempty" faces:"mcp,http" help:"agent programs of its coders, PROGRAM or PROGRAM:MODEL, one for each attempt in turn"`
	Stretch     bool              `json:"stretch,omitempty" faces:"mcp,http" help:"nice to have: into the sprint's stretch scope"`

	fill bool // find a missing id and spec
}

func (n newTask) fromPage() any {
	n.fill = true
	return n
}

// withFile adds what the file of a task has and n does not say.
func (n newTask) withFile(name string) (newTask, error) {
	var given map[string]any
	err := yaml.Unmarshal([]byte(n.File), &given)
	if err != nil || len(given) == 0 {
		return n, badFile(name, err)
	}
	object, err := json.Marshal(given)
	if err != nil {
		return n, badFile(name, err)
	}
	read, err := (&Verb{input: reflect.TypeFor[newTask]()}).Decode(MCP, object, nil)
	if err != nil {
		return n, badFile(name, err)
	}
	all := read.(newTask)
	said, to := reflect.ValueOf(n), reflect.ValueOf(&all).Elem()
	for i := range said.NumField() {
		if f := said.Field(i); !f.IsZero() && to.Field(i).CanSet() {
			to.Field(i).Set(f)
		}
	}
	all.fill = n.fill
	return all, nil
}

func badFile(name string, err error) error {
	if err == nil {
		return nil
	}
	return board.WrongUsage("liza help "+name, "--file is no task: %v", err)
}

func (n newTask) task(service *verb.Service) (verb.NewTask, error) {
	n.Type, n.Kind, n.Priority = cmp.Or(n.Type, "task"), cmp.Or(n.Kind, string(blackboard.CodeTask)), cmp.Or(n.Priority, new(1))
	kind := blackboard.TaskKind(n.Kind)
	if slices.Contains(blackboard.Kinds, n.Type) { // as in plans
		if kind != blackboard.CodeTask && n.Kind != n.Type {
			return verb.NewTask{}, board.WrongUsage("liza help add-task", "kind %s and type %s differ", n.Kind, n.Type)
		}
		kind, n.Type = blackboard.TaskKind(n.Type), "task"
	}
	if kind == blackboard.CodeTask {
		kind = ""
	}
	t := blackboard.Task{ID: n.ID, Description: n.Description, SpecRef: n.SpecRef, DoneWhen: n.DoneWhen, Scope: n.Scope, Priority: n.Priority, DependsOn: append(blackboard.List{}, n.DependsOn...),
		Type: n.Type, Kind: kind, Title: n.Title, AcceptanceCriteria: n.Criteria, Files: n.Files, Role: n.Role, ModelRole: n.Model, Command: n.Command, Skill: n.Skill,
		Writes: n.Writes, ReviewRequired: n.Review, Notify: n.Notify, LegacyTests: n.LegacyTests}
	if len(n.Args) > 0 {
		t.Args = blackboard.Settings{}
		for k, v := range n.Args {
			t.Args[k] = v
		}
	}
	if sk, err := service.Board.Skills().Find(n.Skill); err == nil {
		t.Args = sk.Typed(t.Args)
	}
	if err := knownLimits(n.Limits); err != nil {
		return verb.NewTask{}, err
	}
	given := verb.NewTask{Task: t, Stretch: n.Stretch, Draft: n.Draft, Fill: n.fill, Attempts: n.Attempts, CLI: n.CLI}
	given.SetLimits(n.Limits)
	return given, nil
}

// knownLimits refuses limits that a task cannot have.
func knownLimits(limits map[string]int) error {
	for k, n := range limits {
		if n < 0 {
			return board.WrongUsage("liza help add-task", "--limit %s=%d must be a whole number of 0 or more", k, n)
		}
		if !slices.Contains(plan.TaskLimits, k) {
			message := "--limit: unknown limit '" + k + "'"
			if near := blackboard.Nearest(k, plan.TaskLimits); near != "" {
				message += "; nearest: " + near
			}
			return board.WrongUsage("liza help add-task", "%s", message)
		}
	}
	return nil
}

type finalize struct {
	Tasks []string `json:"tasks" arg:"ID…" help:"ids of drafts"`
}

// left is the text of a verb by which a task leaves its status.
func left(in verb.WayOut, done board.Done) Text {
	if len(in.By) > 0 {
		return ofTask(done, "%s is %s by %s", done.Task, done.Status, strings.Join(in.By, ", "))
	}
	return ofTask(done, "%s is %s", done.Task, done.Status)
}

type discovery struct {
	Text      string `json:"text" arg:"TEXT" help:"what was found"`
	Task      string `json:"task" word:"ID" help:"task during which it was found"`
	Severity  string `json:"severity,omitempty" word:"S" values:"critical,high,medium,low" default:"low" help:"critical, high, medium or low"`
	Urgency   string `json:"urgency,omitempty" word:"U" values:"immediate,deferred" default:"deferred" help:"immediate or deferred"`
	Recommend string `json:"recommend,omitempty" help:"what should be done"`
}

type conversion struct {
	Discovery string `json:"discovery" arg:"DISC" help:"id of the discovery"`
	Task      string `json:"task" word:"ID" help:"the task that came of it"`
}

type deferral struct {
	Discovery string `json:"discovery" arg:"DISC" help:"id of the discovery"`
	Reason    string `json:"reason" help:"why"`
}

func already(d verb.Discovered) string {
	if d.Already {
		return " (already done)"
	}
	return ""
}

// anomalyTypes lists the types that agents record, with their required details.
func anomalyTypes(indent string) string {
	var lines []string
	for _, kind := range blackboard.AnomalyTypes {
		who := strings.Join(kind.Reporters, ", ")
		switch who {
		case blackboard.System:
			continue // Liza records it itself
		case "":
			who = "anybody"
		}
		lines = append(lines, indent+string(kind.Name)+" ("+who+"): "+strings.Join(kind.Details, ", "))
	}
	return strings.Join(lines, "\n")
}
