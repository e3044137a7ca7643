package prompt

import (
	"cmp"
	"strings"
)

// What a reviewer judges: the submission, its checks, and what the coder meant to do.

func (in *Input) intentLead() string {
	if !in.Task.ChangesFiles() || in.State.Text("pre_execution_checkpoint") == "off" {
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
			l.add("- %s", in.checkText(c))
		}
	}
	for _, f := range r.Findings {
		l.add("- finding %s", findingText(f))
	}
	return l.String()
}

// output is what was handed in, but for the diff.
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

func (in *Input) diff() string { return in.Diff }

// diffCommand shows the diff that is under review.
func (in *Input) diffCommand() string {
	if in.From == "" {
		return "git log -p"
	}
	return "git diff " + short(in.From) + " " + short(in.To)
}

// checklist is what every review goes through (specs/roles-and-knowledge.md#5.2).
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
