package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

type addTaskOptions struct {
	env                           *Env
	new                           verb.NewTask
	depends                       string
	priority                      int
	criteria, files, args, limits []string
	noSpecFiles                   bool
}

func newAddTask(env *Env) *urfave.Command {
	o := &addTaskOptions{env: env}
	return &urfave.Command{
		Name: "add-task", Category: "agents", Usage: "put a task on the board (planner, human)",
		Description: "Creates an UNCLAIMED task that passes all gates, or, with --draft, a DRAFT. Nothing is written when a gate is missed, and all gaps are named.\n" +
			"done_when has to be falsifiable: \"GET /users returns 200 with a JSON array\", not \"works correctly\"." +
			examples("liza add-task --id task-1 --desc 'Say hello' --spec specs/vision.md --done 'hello.txt contains \"hello\"' --scope hello.txt",
				"liza add-task --id idea --desc 'Colours' --draft") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags:  o.flags(),
		Action: env.do(o.run),
	}
}

func (o *addTaskOptions) flags() []urfave.Flag {
	t := &o.new.Task
	return []urfave.Flag{
		text("id", "`ID`: new id of the task (required)", &t.ID),
		text("desc", "`T`: what is to be done; the first line is the title", &t.Description),
		text("spec", "`P[#a]`: spec file, with an anchor", &t.SpecRef),
		text("done", "`T`: how one sees that it is done", &t.DoneWhen),
		text("scope", "`T`: what is in, and what is out", &t.Scope),
		number("priority", "`N`: 1 is the highest", 1, &o.priority),
		text("depends", "`a,b`: tasks that must be merged first", &o.depends),
		&urfave.StringFlag{Name: "type", Value: "task", Usage: "`T`: feature, task, bug, refactor, test, docs, config, spec", Destination: &t.Type},
		&urfave.StringFlag{Name: "kind", Value: string(blackboard.CodeTask), Usage: "`K`: code, exec, msg, skill", Destination: (*string)(&t.Kind)},
		text("title", "`T`: short name", &t.Title),
		texts("criteria", "`T`: acceptance criterion", &o.criteria),
		texts("file", "`GLOB`: files that it is about, for scheduling", &o.files),
		text("role", "`R`: name of the role to use", &t.Role),
		text("model", "`R`: role whose model is used", &t.ModelRole),
		text("command", "`C`: command of an exec task", &t.Command),
		text("skill", "`S`: skill of a skill task", &t.Skill),
		texts("arg", "`k=v`: argument of the skill", &o.args),
		flag("writes", "an exec task that changes files: it is committed, reviewed and merged", &t.Writes),
		flag("review", "an exec or msg task whose result is reviewed", &t.ReviewRequired),
		flag("notify", "send the accepted result to people", &t.Notify),
		text("legacy-tests", "`WHY` tests are a task of their own", &t.LegacyTests),
		texts("limit", "`k=v`: limit of this task, such as max_iterations=3 or cost_cents=200", &o.limits),
		flag("stretch", "nice to have: into the sprint's stretch scope", &o.new.Stretch),
		flag("no-spec-files", "do not look for the spec file", &o.noSpecFiles),
		flag("draft", "create a DRAFT; gates are checked by finalize", &o.new.Draft),
	}
}

func (o *addTaskOptions) run(ctx context.Context, _ []string) error {
	if err := o.fill(); err != nil {
		return err
	}
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	d.NoSpecFiles = d.NoSpecFiles || o.noSpecFiles
	if sk, err := d.Skills().Find(o.new.Task.Skill); err == nil {
		o.new.Task.Args = sk.Typed(o.new.Task.Args)
	}
	done, err := d.AddTask(ctx, o.new)
	return o.env.showDone(done, err, "%s is %s", done.Task, done.Status)
}

func (o *addTaskOptions) fill() error {
	t := &o.new.Task
	if slices.Contains(blackboard.Kinds, t.Type) { // as in plans
		if t.Kind != blackboard.CodeTask && string(t.Kind) != t.Type {
			return usagef("liza help add-task", "--kind %s and --type %s differ", t.Kind, t.Type)
		}
		t.Kind, t.Type = blackboard.TaskKind(t.Type), "task"
	}
	if t.Kind == blackboard.CodeTask {
		t.Kind = ""
	}
	t.Priority, t.DependsOn = &o.priority, commaList(o.depends)
	t.AcceptanceCriteria, t.Files = o.criteria, o.files
	args, err := pairs("arg", o.args)
	if err != nil {
		return err
	}
	for k, v := range args {
		if t.Args == nil {
			t.Args = blackboard.Settings{}
		}
		t.Args[k] = v
	}
	limits, err := limitsOf(o.limits)
	if err != nil {
		return err
	}
	o.new.SetLimits(limits)
	return nil
}

func limitsOf(list []string) (map[string]int, error) {
	given, err := pairs("limit", list)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for k, v := range given {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n < 0 {
			return nil, usagef("liza help add-task", "--limit %s=%s must be a whole number of 0 or more", k, v)
		}
		if !slices.Contains(plan.TaskLimits, k) {
			message := "--limit: unknown limit '" + k + "'"
			if near := blackboard.Nearest(k, plan.TaskLimits); near != "" {
				message += "; nearest: " + near
			}
			return nil, usagef("liza help add-task", "%s", message)
		}
		out[k] = n
	}
	return out, nil
}

func newFinalize(env *Env) *urfave.Command {
	var noSpecFiles bool
	return &urfave.Command{
		Name: "finalize", Category: "agents", ArgsUsage: "ID…", Usage: "make drafts claimable, all or none (planner, human)",
		Description: "DRAFT becomes UNCLAIMED. Every gate of every task is checked first; one gap, and none is changed." +
			examples("liza finalize task-1 task-2", "liza finalize task-3 --no-spec-files") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{flag("no-spec-files", "do not look for spec files", &noSpecFiles)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			d.NoSpecFiles = d.NoSpecFiles || noSpecFiles
			done, err := d.Finalize(ctx, args)
			if err != nil {
				return err
			}
			if !env.JSON {
				env.Notices(done.Warnings)
			}
			return env.Print(done, "claimable now: %s\n", strings.Join(done.Tasks, ", "))
		}),
	}
}

type holdOptions struct {
	env    *Env
	reason string
}

func newHold(env *Env) *urfave.Command {
	o := &holdOptions{env: env}
	return &urfave.Command{
		Name: "hold", Category: "people", ArgsUsage: "ID", Usage: "let nobody pick the task; its status stays",
		Description: "Sets the field hold. Nobody claims, reviews or merges the task until it is taken off." +
			examples("liza hold task-3 --reason 'wait for the contract'", "liza unhold task-3") + exitsText(0, 1, 2, 3, 4, 5),
		Flags:  []urfave.Flag{text("reason", "`T` why (required)", &o.reason)},
		Action: env.onService(o.hold),
	}
}

func newUnhold(env *Env) *urfave.Command {
	o := &holdOptions{env: env}
	return &urfave.Command{
		Name: "unhold", Category: "people", ArgsUsage: "ID", Usage: "end a hold",
		Description: "Clears the field hold; the task goes on from the status that it has." +
			examples("liza unhold task-3", "liza unhold task-3 --json") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(o.unhold),
	}
}

func (o *holdOptions) hold(ctx context.Context, d *verb.Service, args []string) error {
	done, err := d.Hold(ctx, args[0], o.reason)
	return o.env.showDone(done, err, "%s is on hold (%s)", done.Task, done.Status)
}

func (o *holdOptions) unhold(ctx context.Context, d *verb.Service, args []string) error {
	done, err := d.Unhold(ctx, args[0])
	return o.env.showDone(done, err, "%s is no longer on hold (%s)", done.Task, done.Status)
}

func newRelease(env *Env) *urfave.Command {
	var in verb.ReleaseInput
	return &urfave.Command{
		Name: "release", Aliases: []string{"release-claim"}, Category: "people", ArgsUsage: "ID", Usage: "free a claim or a review claim",
		Description: "CLAIMED becomes UNCLAIMED (INTEGRATION_FAILED for a fix); a review becomes free for another reviewer. Work in the worktree is kept, and\n" +
			"the next claimer goes on with it. A live lease is refused without --force; with it the holder's agent program is stopped first." +
			examples("liza release task-3 --reason 'the terminal is gone'", "liza release task-3 --reviewer --force --reason 'wrong model'") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("coder", "free the coder's claim (the default for a CLAIMED task)", &in.Coder),
			flag("reviewer", "free the review claim (the default for READY_FOR_REVIEW)", &in.Reviewer),
			flag("force", "in spite of a live lease", &in.Force),
			text("reason", "`T` why (required)", &in.Reason),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			if in.Coder && in.Reviewer {
				return usagef("liza help release", "--coder and --reviewer exclude each other")
			}
			in.Task = args[0]
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Release(ctx, in)
			return env.showDone(done, err, "%s is free again (%s)", done.Task, done.Status)
		}),
	}
}

// The ways out of BLOCKED; supersede and abandon also out of other statuses.
type wayOptions struct {
	env         *Env
	in          verb.WayOut
	by, depends string
}

func newUnblock(env *Env) *urfave.Command {
	o := &wayOptions{env: env}
	return &urfave.Command{
		Name: "unblock", Category: "agents", ArgsUsage: "ID", Usage: "let a blocked task start over (planner, human)",
		Description: "BLOCKED becomes UNCLAIMED; the next claim starts from the integration branch. Work of the worktree is saved under refs/liza/attic/ first." +
			examples("liza unblock task-3 --reason 'the spec says ISO 8601 now'", "liza unblock task-3 --reason 'without the cache' --depends task-1") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T` why (required)", &o.in.Reason),
			text("depends", "`a,b`: new dependencies; '' is none", &o.depends),
		},
		Action: func(ctx context.Context, c *urfave.Command) error {
			if c.IsSet("depends") {
				o.in.DependsOn = commaList(o.depends)
			}
			return env.do(o.unblock)(ctx, c)
		},
	}
}

func newSupersede(env *Env) *urfave.Command {
	o := &wayOptions{env: env}
	return &urfave.Command{
		Name: "supersede", Category: "agents", ArgsUsage: "ID", Usage: "replace a task by others (planner, human)",
		Description: "The task becomes SUPERSEDED; what depends on it depends on the replacements. From BLOCKED, DRAFT, UNCLAIMED, REJECTED and\n" +
			"INTEGRATION_FAILED. Work is saved under refs/liza/attic/ first." +
			examples("liza supersede task-3 --by task-7,task-8 --reason 'parser and writer apart'",
				"liza supersede task-3 --by task-9 --reason 'another library' --root-cause 'libfoo has no streaming'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("by", "`a,b`: tasks that replace it (required)", &o.by),
			text("reason", "`T` why (required)", &o.in.Reason),
			text("root-cause", "`T`: required after two coders failed", &o.in.RootCause),
		},
		Action: env.do(o.supersede),
	}
}

func newAbandon(env *Env) *urfave.Command {
	o := &wayOptions{env: env}
	return &urfave.Command{
		Name: "abandon", Category: "agents", ArgsUsage: "ID", Usage: "drop a task (planner, human)",
		Description: "The task becomes ABANDONED; UNCLAIMED tasks that depend on it are BLOCKED with a question. From BLOCKED, DRAFT, UNCLAIMED, REJECTED and\n" +
			"INTEGRATION_FAILED. Work is saved under refs/liza/attic/ first." +
			examples("liza abandon task-3 --reason 'out of scope'", "liza abandon task-3 --reason 'dead end' --root-cause 'the API has no such call'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T` why (required)", &o.in.Reason),
			text("root-cause", "`T`: required after two coders failed", &o.in.RootCause),
		},
		Action: env.do(o.abandon),
	}
}

func (o *wayOptions) unblock(ctx context.Context, args []string) error {
	return o.leave(ctx, args[0], (*verb.Service).Unblock)
}

func (o *wayOptions) supersede(ctx context.Context, args []string) error {
	o.in.By = commaList(o.by)
	if len(o.in.By) == 0 {
		return usagef("liza help supersede", "--by is empty: name the tasks that replace %s; `liza abandon` drops it", args[0])
	}
	return o.leave(ctx, args[0], (*verb.Service).Supersede)
}

func (o *wayOptions) abandon(ctx context.Context, args []string) error {
	return o.leave(ctx, args[0], (*verb.Service).Abandon)
}

func (o *wayOptions) leave(ctx context.Context, id string, way func(*verb.Service, context.Context, verb.WayOut) (verb.Done, error)) error {
	o.in.Task = id
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := way(d, ctx, o.in)
	line := fmt.Sprintf("%s is %s", done.Task, done.Status)
	if len(o.in.By) > 0 {
		line += " by " + strings.Join(o.in.By, ", ")
	}
	return o.env.showDone(done, err, "%s", line)
}
