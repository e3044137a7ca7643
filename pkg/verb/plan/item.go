package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/exitcmd"
)

// item is one item of a plan on its way to a task. Problems name tasks[i] and the key.
type item struct {
	*planBuild
	i int
	x *exitcmd.PlanTask
}

func (b item) bad(key, format string, args ...any) {
	b.planBuild.bad("tasks[%d].%s: %s", b.i, key, fmt.Sprintf(format, args...))
}

func (b item) atMost(key, text string) {
	b.planBuild.atMost(fmt.Sprintf("tasks[%d].%s", b.i, key), text, "PlanTask."+key)
}

// same is the one value of a key and its alias.
func (b item) same(key, alias, a, c string) string {
	if a != "" && c != "" && a != c {
		b.bad(key, "differs from %s, which means the same", alias)
	}
	return cmp.Or(a, c)
}

// task makes the task of an item (specs/roles-and-knowledge.md#3.2).
func (b *planBuild) task(i int, x *exitcmd.PlanTask) *blackboard.Task {
	n := item{b, i, x}
	kind, typ := x.Kind, x.Type
	if slices.Contains(blackboard.Kinds, typ) { // Kiso's form
		if kind != "" && kind != typ {
			n.bad("kind", "'%s' and type '%s' differ", kind, typ)
		}
		kind, typ = typ, ""
	}
	if kind == "code" {
		kind = ""
	}
	id := x.ID
	if id == "" {
		id = b.freeID()
	}
	t := &blackboard.Task{ID: id, Kind: blackboard.TaskKind(kind), Type: typ, Title: x.Title, Description: n.same("detail", "description", x.Detail, x.Description),
		DoneWhen: n.same("expect", "done_when", x.Expect, x.DoneWhen), AcceptanceCriteria: x.AcceptanceCriteria, Scope: x.Scope, SpecRef: x.SpecRef, Files: x.Files,
		Priority: x.Priority, Role: x.Role, ModelRole: x.Model, Command: x.Command, Skill: x.Skill, Args: x.Args, Notify: x.Notify,
		Writes: x.Writes, Secrets: x.Secrets, LegacyTests: x.LegacyTests}
	if x.TimeoutSeconds != nil {
		t.TimeoutSeconds = *x.TimeoutSeconds
	}
	if err := b.Clean(t); err != nil {
		n.bad("detail", "%v", err)
	}
	n.sizes(t)
	for _, name := range x.CLI {
		if name, _, _ = strings.Cut(name, ":"); !b.Config.HasProgram(name) {
			n.bad("cli", "there is no agent program %s", name)
		}
	}
	n.kind(t)
	n.limits(t)
	if t.Priority == nil {
		one := 1
		t.Priority = &one
	}
	n.reviewed(t)
	FillKind(b.state, t)
	if t.KindOf() == blackboard.ExecTask && t.Command != "" {
		if err := b.MayRun(t.ID, t.Command); err != nil {
			n.bad("command", "%v", err)
		}
	}
	return t
}

func (b item) sizes(t *blackboard.Task) {
	if !blackboard.ValidTaskID(t.ID) {
		b.bad("id", "'%s' is not allowed for a task", t.ID)
	}
	b.texts(t)
	if p := t.Priority; p != nil && *p < 0 {
		b.bad("priority", "%d must be 0 or more", *p)
	}
	if why := b.RoleProblem(t); why != "" {
		key, text, _ := strings.Cut(why, ": ")
		b.bad(key, "%s", text)
	}
}

// maxCriteria is how many bytes the acceptance criteria of a task have together.
const maxCriteria = 4000

// texts checks how long the texts are (specs/roles-and-knowledge.md#2.6 and specs/roles-and-knowledge.md#3.2).
func (b item) texts(t *blackboard.Task) {
	b.atMost("title", t.Title)
	b.atMost("detail", t.Description)
	b.atMost("expect", t.DoneWhen)
	b.atMost("scope", t.Scope)
	l := exitcmd.LimitOf("PlanTask.acceptance_criteria")
	if n := len(t.AcceptanceCriteria); n > l.Items {
		b.bad("acceptance_criteria", "has %d entries; %d is the limit", n, l.Items)
	}
	total := 0
	for i, text := range t.AcceptanceCriteria {
		if total += len(text); len(text) > l.Each {
			b.bad("acceptance_criteria", "entry %d has %d bytes; %d is the limit", i+1, len(text), l.Each)
		}
	}
	if total > maxCriteria {
		b.bad("acceptance_criteria", "has %d bytes; %d is the limit", total, maxCriteria)
	}
}

// kind checks what belongs to one kind only.
func (b item) kind(t *blackboard.Task) {
	kind := t.KindOf()
	if !slices.Contains(blackboard.Kinds, string(kind)) {
		b.bad("kind", "'%s' must be code, exec, msg or skill", t.Kind)
		return
	}
	if !MayUse(b.Config, b.Caller, kind) {
		b.bad("kind", "%s, whose role is user, may have %s only, not %s (policy.user_kinds)", b.Caller.Name, strings.Join(b.Config.Policy.UserKinds, ", "), kind)
	}
	only := func(key string, given bool, kinds ...string) {
		if given && !slices.Contains(kinds, string(kind)) {
			b.bad(key, "goes with kind %s only, not with %s", strings.Join(kinds, " or "), kind)
		}
	}
	only("command", b.x.Command != "", "exec")
	only("skill", b.x.Skill != "", "skill")
	only("args", len(b.x.Args) > 0, "skill")
	only("secrets", len(b.x.Secrets) > 0, "skill")
	only("writes", b.x.Writes && kind != blackboard.CodeTask, "exec", "skill")
	only("timeout_seconds", b.x.TimeoutSeconds != nil, "exec", "skill")
	l := exitcmd.LimitOf("PlanTask.timeout_seconds")
	if n := b.x.TimeoutSeconds; n != nil && (*n < l.Least || *n > l.Most) {
		b.bad("timeout_seconds", "%d must be %d to %d", *n, l.Least, l.Most)
	}
	if kind == blackboard.SkillTask {
		b.skill(t)
	}
	if kind == blackboard.CodeTask {
		t.Writes = false // it always does
	}
}

// skill checks the task against the manifest of its skill, and fills in what is left out.
func (b item) skill(t *blackboard.Task) {
	if t.Skill == "" {
		b.bad("skill", "is missing")
		return
	}
	s, err := b.library().Find(t.Skill)
	if err != nil {
		b.bad("skill", "%v", err)
		return
	}
	args, problems := s.Fill(t.Args)
	for _, p := range problems {
		b.bad("args", "%s", p)
	}
	for _, name := range t.Secrets {
		if !slices.Contains(s.Secrets, name) {
			b.bad("secrets", "the skill %s does not declare '%s'", s.Name, name)
		}
	}
	t.Writes = t.Writes || s.Writes
	if len(args) > 0 {
		t.Args = args
	}
	if len(t.Secrets) == 0 {
		t.Secrets = s.Secrets
	}
	if t.TimeoutSeconds == 0 {
		t.TimeoutSeconds = s.TimeoutSeconds
	}
	if t.Description == "" {
		text, err := json.Marshal(args)
		if err == nil {
			t.Description = fmt.Sprintf("skill %s with %s", s.Name, text)
		}
	}
	if t.Writes && t.Scope == "" {
		t.Scope = "IN: what the skill " + s.Name + " changes with these arguments"
	}
}

// reviewed decides whether a reviewer judges the result; what changes files always is.
func (b item) reviewed(t *blackboard.Task) {
	asked := b.x.Review != nil && *b.x.Review
	if t.ChangesFiles() && b.x.Review != nil && !asked {
		b.bad("review", "what changes files is always reviewed")
	}
	t.ReviewRequired = t.KindOf() != blackboard.CodeTask && (asked || t.Writes)
	if t.ReviewRequired && strings.TrimSpace(t.DoneWhen) == "" {
		b.bad("expect", "is required for what is reviewed: say what a reviewer can see")
	}
}

// limits takes over the limits of the task. A user's must not be above the project's.
func (b item) limits(t *blackboard.Task) {
	rest := blackboard.Settings{}
	for _, k := range slices.Sorted(maps.Keys(b.x.Limits)) {
		v := b.x.Limits[k]
		most := b.state.Int(k)
		if k == "max_iterations" {
			most = b.state.Int("max_coder_iterations")
		}
		switch {
		case !slices.Contains(TaskLimits, k):
			b.bad("limits", "'%s' is unknown; there are: %s", k, strings.Join(TaskLimits, ", "))
		case v < 0:
			b.bad("limits", "%s: %d must be 0 or more", k, v)
		case b.Caller.Role == "user" && most > 0 && (v > most || v == 0):
			b.bad("limits", "%s: %d is above the project's %d; that takes the role admin, and %s is user", k, v, most, b.Caller.Name)
		}
		switch k {
		case "max_iterations":
			t.MaxIterations = v
		case "max_review_cycles":
			t.MaxReviewCycles = v
		default:
			rest[k] = v
		}
	}
	if len(rest) > 0 {
		t.Limits = rest
	}
}

// gates are the planner's own checks of a task that is not a draft (specs/roles-and-knowledge.md#3.3).
func (b item) gates(t *blackboard.Task) {
	for _, gap := range t.Gates() {
		key := gap.Field
		switch {
		case key == "done_when" && gap.Wrong == "" && t.KindOf() != blackboard.CodeTask:
			continue // reviewed has told it
		case key == "description" && b.x.Description == "":
			key = "detail"
		}
		b.bad(key, "%s", cmp.Or(gap.Wrong, "is missing"))
	}
	if t.SpecRef != "" && b.Input.SpecExists != nil && !b.Input.SpecExists(t.SpecRef) {
		b.bad("spec_ref", "the spec file %s does not exist in the project", cmp.Or(strings.SplitN(t.SpecRef, "#", 2)[0], "''"))
	}
	for _, doubt := range Doubts(t) {
		b.warnings = append(b.warnings, fmt.Sprintf("tasks[%d].%s", b.i, strings.TrimPrefix(doubt, t.ID+": ")))
	}
}
