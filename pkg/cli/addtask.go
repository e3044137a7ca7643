package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/plan"
	"liza/pkg/verb"
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
