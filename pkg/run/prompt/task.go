package prompt

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
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
	if in.Kind == Planner && planningOf(in).first() {
		return "" // the new message has it
	}
	return goal
}

// request returns the user's words, if the goal has other ones.
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

// newSpec reports whether a change is news. Times are in seconds: a change in the second in which the task was made is news.
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

// spec returns the changes of the spec, and the part of it that the task names.
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

// relatedTasks returns the tasks that the task waits for, those that wait for it, and those that it replaces.
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
		if o.ID == in.Task.ID || o.AttemptOf != "" && o.AttemptOf == in.Task.AttemptOf { // attempts do not know of each other
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

// What a reviewer judges: the submission, its checks, and what the coder meant to do.

func (in *Input) intentLead() string {
	if !in.Task.ChangesFiles() || in.State.Text("pre_execution_checkpoint") == "off" || len(in.Attempts) > 0 {
		return ""
	}
	if _, given := in.Task.LastIntent(); !given {
		return "No intent was recorded before the work."
	}
	if in.IntentLate {
		return "The intent was recorded after the first commit, not before the work."
	}
	return "The intent was recorded before the work. Was its validation done?"
}

func (in *Input) intent() string {
	h, given := in.Task.LastIntent()
	if !given || h.Checkpoint == nil {
		return ""
	}
	c := h.Checkpoint
	var l lines
	l.named("Intent", c.Intent)
	l.named("Validation", c.Validation)
	l.named("Assumptions", strings.Join(c.Assumptions, "; "))
	l.named("Risks", strings.Join(c.Risks, "; "))
	l.named("Files to modify", strings.Join(c.FilesToModify, ", "))
	return l.String()
}

// checks are the results of the deterministic checks on the submitted commit.
func (in *Input) checks() string {
	r := in.Task.Review
	if r == nil {
		return ""
	}
	var l lines
	for _, c := range r.Checks {
		if c != nil {
			l.add("- %s", checkText(in.Root, c))
			if log, is := strings.CutSuffix(c.Log, ".check-evidence.log"); is {
				dir := path.Join(in.Root, log+".evidence")
				l.add("  look at its files: those of the commit in %s/candidate, those of its base in %s/base", dir, dir)
			}
		}
	}
	for _, f := range r.Findings {
		l.add("- finding %s", findingText(f))
	}
	return l.String()
}

// output returns the submission without the diff.
func (in *Input) output() string {
	t := in.Task
	var l lines
	if o := t.LastOutcome; o != nil {
		l.named("Summary of "+cmp.Or(t.AssignedTo, "the coder"), o.Summary)
		l.named("Evidence", strings.Join(o.EvidenceFiles, ", "))
	}
	if t.NoTests != nil {
		l.named("Submitted without tests", t.NoTests.Reason)
	}
	if o := t.Output; o != nil {
		l.add("Exit code %d%s", o.ExitCode, after(", whole output in ", o.Path))
		l.add("%s", strings.TrimSpace(o.Text))
	}
	if stat := strings.Trim(in.DiffStat, "\n"); stat != "" {
		l.add("Changed files:\n%s", stat)
	}
	return l.String()
}

// diffCommand shows the diff that is under review.
func (in *Input) diffCommand() string {
	if in.From == "" {
		return "git log -p"
	}
	return "git diff " + short(in.From) + " " + short(in.To)
}

// attemptsLimit is how many bytes all attempts have that a reviewer compares.
const attemptsLimit = 16000

// attemptsLead says what is wanted of a reviewer who compares attempts. The verdict on the one that goes on is another run's.
func (in *Input) attemptsLead() string {
	if len(in.Attempts) == 0 {
		return ""
	}
	return fmt.Sprintf("%d coders did this task apart from each other, and the checks have passed on each. Do not review one of them: compare them by the criteria, and pick the one that is to go on; it is reviewed on its own afterwards. "+
		"They are in no order. End with COMPLETED and `\"review\": {\"status\": \"ok\", \"pick\": \"COMMIT\", \"reason\": \"why this one\"}`; `stuck` leaves it to a person.", len(in.Attempts))
}

func (in *Input) attempts() string {
	var l lines
	for _, a := range in.Attempts {
		l.add("Attempt %s\n%s\n\n%s", short(a.Commit), strings.Trim(a.Stat, "\n"), fitDiff(in, a.Diff, attemptsLimit/len(in.Attempts)-len(a.Stat)-200, "git show "+short(a.Commit)))
	}
	return l.String()
}

// checklist returns the steps of every review (specs/roles-and-knowledge.md#5.2).
func (in *Input) checklist() string {
	if in.Kind != Reviewer {
		return ""
	}
	t := in.Task
	var l lines
	if t.ChangesFiles() {
		l.add("- [ ] Tests: are new functions tested, and do the tests exercise `done_when` and each criterion?")
		l.add("- [ ] Patterns: does the code follow the patterns around it?")
	}
	l.add("- [ ] Security: any obvious security issue?")
	l.add("- [ ] Completeness: is every acceptance criterion met, with evidence?")
	l.add("- [ ] Spec: does it match the spec as it is now?")
	l.add("- [ ] Scope: anything outside the task?")
	if t.ChangesFiles() && in.State.Text("pre_execution_checkpoint") != "off" {
		l.add("- [ ] Intent: was the checkpoint written before the work, and was its validation done?")
	}
	if t.RejectionReason != nil {
		l.add("- [ ] Prior feedback: is each earlier point RESOLVED, PARTIAL or STILL PRESENT?")
	}
	if t.NoTests != nil {
		l.add("- [ ] No tests: accept or reject the coder's reason for submitting without tests.")
	}
	if !t.ChangesFiles() {
		l.add("A non-zero exit code is a strong sign of failure; zero alone is not proof.")
	}
	return l.String()
}

// What is known: the summary and the facts, and what a summarizer has to shorten.

// summary is the rolling summary; consolidating facts needs none of it.
func (in *Input) summary() string {
	if in.State.Goal == nil || in.Shorten != nil && in.Shorten.Facts {
		return ""
	}
	return in.State.Goal.Summary
}

// FactsIn returns the ids of the active facts in a prompt.
func FactsIn(s *blackboard.State, prompt string) []string {
	var ids []string
	for _, f := range s.ActiveFacts() {
		if line := strings.TrimSpace(factLines([]*blackboard.Fact{f})); line != "" && strings.Contains(prompt, strings.TrimPrefix(line, "- ")) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func (in *Input) facts() string { return factLines(in.active()) }

func factLines(list []*blackboard.Fact) string {
	var l lines
	for _, f := range list {
		l.add("- %s", oneLine(f.Content, 500))
	}
	return l.String()
}

// fitFacts leaves out the least recently used facts.
func (in *Input) fitFacts(text string, limit int, hint string) string {
	all := in.active()
	recent := slices.Clone(all)
	slices.SortStableFunc(recent, func(a, b *blackboard.Fact) int {
		x, _ := a.LastUsed.At()
		y, _ := b.LastUsed.At()
		return cmp.Or(y.Compare(x), cmp.Compare(b.Uses, a.Uses))
	})
	room := limit - len(marker(len(text), hint)) - 1
	kept := map[*blackboard.Fact]bool{}
	for _, f := range recent {
		n := len(factLines([]*blackboard.Fact{f})) + 1
		if n > room {
			break
		}
		room -= n
		kept[f] = true
	}
	rest := factLines(slices.DeleteFunc(all, func(f *blackboard.Fact) bool { return !kept[f] }))
	return strings.TrimPrefix(rest+"\n"+marker(len(text)-len(rest), hint), "\n")
}

func (in *Input) compress() string {
	if in.Shorten == nil {
		return ""
	}
	return in.Shorten.Text
}
