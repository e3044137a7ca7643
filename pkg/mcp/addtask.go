package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/plan"
	"liza/pkg/verb"
)

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
