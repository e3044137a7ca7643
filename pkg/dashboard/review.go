package dashboard

import (
	"cmp"
	"fmt"

	"liza/pkg/blackboard"
)

// reviewOf is the verdict of the latest review.
func reviewOf(t *blackboard.Task) []string {
	r := t.WholeReview()
	var list []string
	if text := t.ApprovalsText(); text != "" {
		list = append(list, text)
	}
	if r == nil || r.Status == "" {
		return list
	}
	list = append(list, r.Status+after(" by ", r.By)+after(" at ", string(r.At))+after(" on ", shortCommit(r.Commit))+after(", review.mode ", string(r.Mode))+after(": ", r.Reason))
	for _, s := range r.Suggestions {
		list = append(list, "suggestion: "+s)
	}
	return list
}

// checksOf is what the checks of the submission gave.
func checksOf(t *blackboard.Task) []string {
	var list []string
	if t.Review == nil {
		return nil
	}
	for _, c := range t.WholeReview().Checks {
		list = append(list, checkLine(c))
	}
	return list
}

func checkLine(c *blackboard.Check) string {
	text := c.Name + ": " + string(c.Status)
	if c.Status == blackboard.CheckFailed {
		text += after(" (", c.Severity) + closing(c.Severity)
	}
	if c.Seconds > 0 {
		text += fmt.Sprintf(", %d s", c.Seconds)
	}
	return text + after("; ", c.Message) + after("; log: ", c.Log)
}

// findingsOf is what speaks against the work, with its places.
func findingsOf(t *blackboard.Task) []string {
	var list []string
	if t.Review == nil {
		return nil
	}
	for _, f := range t.Review.Findings {
		if f != nil {
			list = append(list, findingLine(f))
		}
	}
	return list
}

// findingLine is a finding as compilers write theirs.
func findingLine(f *blackboard.Finding) string {
	return placeOf(f) + ": " + cmp.Or(f.Severity, "warning") + after(" (", f.Check) + closing(f.Check) + ": " + f.Message + after("; fix: ", f.Fix)
}

// placeOf is file and line of a finding.
func placeOf(f *blackboard.Finding) string {
	switch {
	case f.File == "":
		return "-"
	case f.Line > 0:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

func shortCommit(commit string) string { return commit[:min(9, len(commit))] }

// ReportAnnotation is a finding of the latest review of a task, at its place in the code.
type ReportAnnotation struct {
	Task     string `json:"task"`
	Commit   string `json:"commit,omitempty"`
	Severity string `json:"severity"`
	Check    string `json:"check,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

// Place is file and line for people.
func (a ReportAnnotation) Place() string {
	return placeOf(&blackboard.Finding{File: a.File, Line: a.Line})
}

// annotationsOf are those of the latest review of a task.
func annotationsOf(t *blackboard.Task) (list []ReportAnnotation) {
	if t.Review == nil {
		return nil
	}
	for _, f := range t.Review.Findings {
		if f != nil {
			list = append(list, ReportAnnotation{Task: t.ID, Commit: t.WholeReview().Commit, Severity: cmp.Or(f.Severity, "warning"), Check: f.Check, File: f.File, Line: f.Line, Message: f.Message, Fix: f.Fix})
		}
	}
	return list
}

func closing(text string) string {
	if text == "" {
		return ""
	}
	return ")"
}
