package blackboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// OneLine marks attempts as written on one line of the file.
func (Attempt) OneLine() {}

// OneLine marks seals as written on one line of the file.
func (Seal) OneLine() {}

// OneLine marks reviews as written on one line of the file, except for their findings.
func (Review) OneLine() {}

// Shorten removes fields from a finished task that only work on it needs, or that repeat other fields.
func (t *Task) Shorten() {
	t.ResolvedRole, t.SpecHash, t.ReviewSpecHash, t.Changes = nil, "", "", nil
	if o := t.LastOutcome; o != nil && (o.Summary == "" || slices.ContainsFunc(t.Attempts, func(a *Attempt) bool { return a.Summary == o.Summary })) {
		t.LastOutcome = nil
	}
	if t.Review == nil {
		return
	}
	r := *t.Review
	r.Checks = nil
	for _, c := range t.Review.Checks {
		switch {
		case c.Status == CheckPassed && c.Seconds > 0:
			r.Passed = append(r.Passed, fmt.Sprintf("%s %ds", c.Name, c.Seconds))
		case c.Status == CheckPassed:
			r.Passed = append(r.Passed, c.Name)
		case c.Status == CheckSkipped:
			r.Skipped = append(r.Skipped, c.Name)
		case c.Status == CheckExempt:
			r.Exempt = append(r.Exempt, c.Name)
		default:
			own := *c
			if own.Commit == r.Commit {
				own.Commit = ""
			}
			r.Checks = append(r.Checks, &own)
		}
	}
	if r.Commit == t.ReviewCommit {
		r.Commit = ""
	}
	if r.By == t.ApprovedBy {
		r.By = ""
	}
	t.Review = &r
}

// WholeReview returns the latest review with the fields that Shorten removed, or nil.
func (t *Task) WholeReview() *Review {
	if t.Review == nil {
		return nil
	}
	r := *t.Review
	r.Commit = cmp.Or(r.Commit, t.ReviewCommit)
	if r.Status != "" {
		r.By = cmp.Or(r.By, t.ApprovedBy)
	}
	r.Checks = nil
	for _, c := range t.Review.Checks {
		own := *c
		own.Commit = cmp.Or(c.Commit, r.Commit)
		r.Checks = append(r.Checks, &own)
	}
	for _, text := range r.Passed {
		name, took, _ := strings.Cut(text, " ")
		seconds, _ := strconv.Atoi(strings.TrimSuffix(took, "s"))
		r.Checks = append(r.Checks, &Check{Name: name, Status: CheckPassed, Seconds: seconds, Commit: r.Commit})
	}
	for _, name := range r.Skipped {
		r.Checks = append(r.Checks, &Check{Name: name, Status: CheckSkipped, Commit: r.Commit})
	}
	for _, name := range r.Exempt {
		r.Checks = append(r.Checks, &Check{Name: name, Status: CheckExempt, Commit: r.Commit})
	}
	return &r
}

// RoleName returns the role file of the latest coder run, or "" before the first.
func (t *Task) RoleName() string {
	if t.ResolvedRole != nil {
		return t.ResolvedRole.Name
	}
	for _, a := range slices.Backward(t.Attempts) {
		if a.Kind == string(RoleCoder) {
			return a.Role
		}
	}
	return ""
}

// LastSummary returns summary and time of the latest run that ended with an exit command.
func (t *Task) LastSummary() (text string, at Time) {
	if o := t.LastOutcome; o != nil {
		return o.Summary, o.At
	}
	for _, a := range slices.Backward(t.Attempts) {
		if a.Action != "" && a.Summary != "" {
			return a.Summary, a.Ended
		}
	}
	return "", ""
}
