package blackboard

import (
	"fmt"
	"slices"
	"strings"
)

// ProgramsDifferent asks for another agent program of each reviewer.
const ProgramsDifferent = "different"

// QuorumRule asks for several reviewers of a change that touches a path.
type QuorumRule struct {
	Paths     []string
	Reviewers int
	Programs  string
}

// QuorumFor is what the rules ask for a change of those files, nil for the one reviewer that every change has. Of several
// rules the strictest part of each holds.
func QuorumFor(rules []QuorumRule, files []string, match func(glob, file string) bool) *Quorum {
	var q *Quorum
	for _, r := range rules {
		if r.Reviewers < 2 {
			continue
		}
		for _, glob := range r.Paths {
			if !slices.ContainsFunc(files, func(f string) bool { return match(glob, f) }) {
				continue
			}
			if q == nil {
				q = &Quorum{Programs: "any"}
			}
			q.Reviewers = max(q.Reviewers, r.Reviewers)
			if r.Programs == ProgramsDifferent {
				q.Programs = ProgramsDifferent
			}
			if !q.Paths.Has(glob) {
				q.Paths = append(q.Paths, glob)
			}
		}
	}
	return q
}

// Missing returns the number of approvals that a change with the approvals given still needs.
func (q *Quorum) Missing(given []*Approval) int {
	if q == nil {
		return 0
	}
	reviewers, programs := map[string]bool{}, map[string]bool{}
	people, unknown := 0, 0
	for _, a := range given {
		switch {
		case reviewers[a.Reviewer]:
			continue
		case a.Person:
			people++
		case a.Program == "":
			unknown = 1
		default:
			programs[a.Program] = true
		}
		reviewers[a.Reviewer] = true
	}
	n := len(reviewers)
	if q.Programs == ProgramsDifferent {
		n = people + max(len(programs), unknown) // an unknown program may be any of the known ones
	}
	return max(0, q.Reviewers-n)
}

// Describe says what is asked for: "2 reviewers with different programs (auth/**)".
func (q *Quorum) Describe() string {
	text := fmt.Sprintf("%d reviewers", q.Reviewers)
	if q.Programs == ProgramsDifferent {
		text += " with different programs"
	}
	if len(q.Paths) > 0 {
		text += " (" + strings.Join(q.Paths, ", ") + ")"
	}
	return text
}

// Standing lists the approvals of the commit under review.
func (t *Task) Standing() []*Approval {
	var list []*Approval
	for _, a := range t.Approvals {
		if a.Commit != "" && a.Commit == t.ReviewCommit {
			list = append(list, a)
		}
	}
	return list
}

// Given lists the standing approvals and, for a task that needed one approval only, that one.
func (t *Task) Given(s *State, tree string) []*Approval {
	list := t.Standing()
	add := func(a Approval) {
		if a.Reviewer != "" && !slices.ContainsFunc(list, func(b *Approval) bool { return b.Reviewer == a.Reviewer }) {
			a.Commit, a.Tree = t.ReviewCommit, tree
			list = append(list, &a)
		}
	}
	if m := t.MergeApproval; m != nil && m.Decision == GateApproved {
		add(Approval{Reviewer: m.By, Person: true, At: m.At})
	}
	switch t.ApprovedBy {
	case "", "auto", Human: // a person's is the decision above
	default:
		own := Approval{Reviewer: t.ApprovedBy}
		for h := range t.Backwards() {
			if h.Agent == t.ApprovedBy && h.Event == HistoryApproved {
				own.At, own.Person = h.Time, h.Via == Human
				break
			}
		}
		if !own.Person {
			own.Program = s.ProgramOf(t, t.ApprovedBy)
		}
		add(own)
	}
	return list
}

// ProgramOf is the program of the agent's run on the task, the newest when it is over, else the one that it starts.
func (s *State) ProgramOf(t *Task, agent string) string {
	e := s.Agents[agent]
	if e != nil && e.Child != nil && e.Child.Task == t.ID && e.Child.CLI != "" {
		return e.Child.CLI
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a.Agent == agent && a.CLI != "" {
			return a.CLI
		}
	}
	if e != nil {
		return e.CLI
	}
	return ""
}

// UsedPrograms are the programs that approved what is submitted and cannot approve it again, because other ones have to.
func (t *Task) UsedPrograms() List {
	if t.Quorum == nil || t.Quorum.Programs != ProgramsDifferent {
		return nil
	}
	var used List
	for _, a := range t.Standing() {
		if a.Program != "" && !used.Has(a.Program) {
			used = append(used, a.Program)
		}
	}
	return used
}

// ApprovalsText says who has approved and who is missing, "" when one reviewer is enough.
func (t *Task) ApprovalsText() string {
	if t.Quorum == nil && len(t.Approvals) == 0 {
		return ""
	}
	var who []string
	for _, a := range t.Standing() {
		name := a.Reviewer
		switch {
		case a.Person:
			name += " (a person)"
		case a.Program != "":
			name += " (" + a.Program + ")"
		}
		who = append(who, name)
	}
	text := "approved by nobody yet"
	if len(who) > 0 {
		text = "approved by " + strings.Join(who, ", ")
	}
	if n := t.MissingApprovals(); n > 0 {
		text += fmt.Sprintf("; %d more: it needs %s", n, t.Quorum.Describe())
		if used := t.UsedPrograms(); len(used) > 0 {
			text += ", so another one than " + strings.Join(used, " or ")
		}
	}
	return text
}

// MissingApprovals is how many more reviewers have to approve what is in review.
func (t *Task) MissingApprovals() int {
	if t.Status != ReadyForReview {
		return 0
	}
	return t.Quorum.Missing(t.Standing())
}

// NobodyLeft says why no registered reviewer can give the approval that a task misses, "" when one can.
func (s *State) NobodyLeft(t *Task) string {
	if t.MissingApprovals() == 0 || len(t.Standing()) == 0 {
		return ""
	}
	used := t.UsedPrograms()
	same := 0
	for _, id := range s.AgentIDs() {
		a := s.Agents[id]
		switch {
		case a.Role != RoleReviewer || id == t.AssignedTo || t.HasApprovalBy(id):
		case a.CLI != "" && used.Has(a.CLI):
			same++
		default:
			return ""
		}
	}
	if same > 0 {
		return fmt.Sprintf("every other reviewer runs %s", strings.Join(used, " or "))
	}
	return "there is no other reviewer"
}

// ApprovedNow reports whether an approval of the agent is among those of what is submitted.
func (t *Task) ApprovedNow(agent string) bool {
	return t.Status == Approved && t.ApprovedBy == agent || (t.Status == Approved || t.Status == ReadyForReview) && t.HasApprovalBy(agent)
}

// HasApprovalBy reports whether the reviewer approved what is submitted now.
func (t *Task) HasApprovalBy(reviewer string) bool {
	return slices.ContainsFunc(t.Standing(), func(a *Approval) bool { return a.Reviewer == reviewer })
}
