package prompt

import (
	"cmp"
	"path"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/transition"
)

// goalOf is the goal of the plan that the task belongs to, or that is in force; else the
// goal as the person wrote it.
func (in *Input) goalOf() (goal string, plan *blackboard.Plan) {
	id := ""
	if in.State.Goal != nil {
		goal, id = in.State.Goal.Description, in.State.Goal.PlanID
	}
	if in.Task != nil && in.Task.Plan != "" {
		id = in.Task.Plan
	}
	if p := transition.Plan(in.State, id); p != nil && strings.TrimSpace(p.Goal) != "" {
		return p.Goal, p
	}
	return goal, nil
}

func (in *Input) goal() string {
	goal, _ := in.goalOf()
	if in.Kind == Planner && in.firstPlanning() {
		return "" // the new message has it
	}
	return goal
}

// request is what the user wrote, when the goal says it in other words.
func (in *Input) request() string {
	goal, plan := in.goalOf()
	words := ""
	switch {
	case plan != nil && plan.Request != "":
		words = plan.Request
	case in.State.Goal != nil:
		words = in.State.Goal.Description
	}
	if strings.TrimSpace(words) == strings.TrimSpace(goal) {
		return ""
	}
	return words
}

func (in *Input) task() string {
	t := in.Task
	description := strings.TrimSpace(t.Description)
	if in.shows("Description", description) {
		description = ""
	}
	if in.Kind == Messenger {
		return description
	}
	var l lines
	l.add("%s (%s, kind %s)", t.ID, cmp.Or(t.Type, "task"), t.KindOf())
	if in.State.ImportOf(t.ID) == nil { // that of an import is in its fenced description
		l.named("Title", t.Title)
	}
	if description != "" {
		l.add("\n%s\n", description)
	}
	l.named("Scope", t.Scope)
	l.named("Files", strings.Join(t.Files, ", "))
	l.named("Command", t.Command)
	l.named("Why tests only", t.LegacyTests)
	return l.String()
}

// criteria are numbered; done_when is always the first.
func (in *Input) criteria() string {
	var l lines
	n := 0
	for _, c := range append([]string{in.Task.DoneWhen}, in.Task.AcceptanceCriteria...) {
		if c = strings.TrimSpace(c); c != "" {
			n++
			l.add("%d. %s", n, c)
		}
	}
	return l.String()
}

// specPath is the spec of the task, or of the goal, with its anchor.
func (in *Input) specPath() string {
	switch {
	case in.Task != nil:
		return in.Task.SpecRef
	case in.State.Goal != nil:
		return in.State.Goal.SpecRef
	}
	return ""
}

// specLead names the spec.
func (in *Input) specLead() string {
	ref := in.specPath()
	if ref == "" {
		return ""
	}
	var l lines
	l.add("%s", ref)
	if strings.TrimSpace(in.SpecText) == "" {
		l.add("There is no such file, or it is empty: what is said here is all there is to go by.")
	}
	if t := in.Task; t != nil && in.Kind == Reviewer && t.SpecHash != "" && t.ReviewSpecHash != "" && t.SpecHash != t.ReviewSpecHash {
		l.add("The file changed after the task was claimed (%s at the claim, %s now): judge by what it says now.", shortHash(t.SpecHash), shortHash(t.ReviewSpecHash))
	}
	return l.String()
}

// newSpec reports whether a change is news. Times have seconds: one in which the task was made
// too is told.
func (in *Input) newSpec(c *blackboard.SpecChange) bool {
	since := in.specSince()
	return later(c.Timestamp, since) || in.Task != nil && c.Timestamp == since
}

// shortHash is the beginning of a hash, enough to tell two apart.
func shortHash(hash string) string {
	kind, digits, ok := strings.Cut(hash, ":")
	if !ok {
		return hash
	}
	return kind + ":" + digits[:min(len(digits), 12)]
}

// specSince is when the task was made; for a planner, its last run.
func (in *Input) specSince() blackboard.Time {
	switch {
	case in.Task != nil:
		return in.Task.Created
	case in.State.Planner != nil && in.State.Planner.LastRun != nil:
		return in.State.Planner.LastRun.At
	}
	return ""
}

// file is the path of a spec reference.
func file(ref string) string {
	ref, _, _ = strings.Cut(ref, "#")
	return path.Clean(ref)
}

// later reports whether a is after b; a time that cannot be read is.
func later(a, b blackboard.Time) bool {
	at, ok := a.At()
	bt, known := b.At()
	return !ok || !known || at.After(bt)
}

// spec is what changed in the spec, and the part of it that the task names.
func (in *Input) spec() string {
	ref := in.specPath()
	var l lines
	for _, c := range in.State.SpecChanges {
		if ref != "" && file(c.Spec) == file(ref) && in.newSpec(c) {
			l.add("Changed: %s", oneLine(c.Spec+": "+c.Change, 500))
		}
	}
	return strings.TrimSpace(l.String() + "\n\n" + strings.Trim(prose.Section(in.SpecText, ref), "\n"))
}

// relatedTasks are what the task waits for, what waits for it, and what it replaces.
func (in *Input) relatedTasks() string {
	t := in.Task
	var l lines
	for _, id := range t.DependsOn {
		if d := in.State.Task(id); d != nil {
			l.add("- depends on %s (%s) %s%s", d.ID, d.Status, d.TitleText(), after(": ", lastSummary(d)))
		}
	}
	for o := range in.State.Tasks() {
		if o.DependsOn.Has(t.ID) && !o.Status.Terminal() {
			l.add("- needed by %s %s", o.ID, o.TitleText())
		}
	}
	for _, id := range t.Supersedes {
		if o := in.State.Task(id); o != nil {
			l.add("- replaces %s %s%s%s", o.ID, o.TitleText(), after(": ", oneLine(o.RescopeReason, 500)), after("; root cause: ", oneLine(o.RootCause, 500)))
		}
	}
	return l.String()
}

func lastSummary(t *blackboard.Task) string {
	text, _ := t.LastSummary()
	return oneLine(text, 300)
}

// sessionContext names the other tasks in work, so that two coders stay out of each
// other's files.
func (in *Input) sessionContext() string {
	var l lines
	for o := range in.State.Tasks() {
		if o.ID == in.Task.ID {
			continue
		}
		switch o.Status {
		case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Approved:
			files := []string(o.Files)
			if len(files) == 0 {
				files = in.Changed[o.ID]
			}
			files = files[:min(10, len(files))]
			l.add("- %s (%s, %s) %s%s", o.ID, o.Status, cmp.Or(o.AssignedTo, "nobody"), o.TitleText(), after("; files: ", strings.Join(files, ", ")))
		}
	}
	return l.String()
}

// shows reports whether the role's text has a text of the task in it already, so that it
// need not be there twice. What a template hides is shown all the same.
func (in *Input) shows(field, text string) bool {
	text, _ = clean(text)
	return text != "" && in.Role.Uses(field) && strings.Contains(in.rendered, text)
}

func (in *Input) firstPlanning() bool {
	for _, t := range in.Triggers {
		if t.Kind == transition.TriggerInitialPlanning {
			return true
		}
	}
	return false
}
