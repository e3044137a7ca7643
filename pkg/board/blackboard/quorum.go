package blackboard

import (
	"fmt"
	"slices"
	"strings"
)

// ProgramsDifferent requires a different agent program of each reviewer.
const ProgramsDifferent = "different"

// QuorumRule requires several reviewers for a change of some paths.
type QuorumRule struct {
	Paths     []string
	Reviewers int
	Programs  string
}

// QuorumFor returns the quorum that rules require for a change of files, or nil if one reviewer is enough. If several rules
// apply, the strictest value of each field holds.
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

// Describe returns the quorum in words: "2 reviewers with different programs (auth/**)".
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

// Standing returns the approvals of the commit under review.
func (t *Task) Standing() []*Approval {
	var list []*Approval
	for _, a := range t.Approvals {
		if a.Commit != "" && a.Commit == t.ReviewCommit {
			list = append(list, a)
		}
	}
	return list
}

// Given returns the standing approvals, and those that a task without a quorum records in approved_by and merge_approval.
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

// ProgramName returns the name of an agent program without that of its account: claude of claude@work.
func ProgramName(cli string) string {
	name, _, _ := strings.Cut(cli, "@")
	return name
}

// ProgramOf returns the agent program of the agent's run on the task: of the present run, else of the latest one, else the
// program that the agent starts.
func (s *State) ProgramOf(t *Task, agent string) string {
	e := s.Agents[agent]
	if e != nil && e.Child != nil && e.Child.Task == t.ID && e.Child.CLI != "" {
		return ProgramName(e.Child.CLI)
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a.Agent == agent && a.CLI != "" {
			return ProgramName(a.CLI)
		}
	}
	if e != nil {
		return ProgramName(e.CLI)
	}
	return ""
}

// UsedPrograms returns the programs that approved the submission and cannot approve it again, because the quorum requires
// different ones.
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

// ApprovalsText returns who has approved and how many are missing, or "" if one reviewer is enough.
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

// MissingApprovals returns how many more reviewers have to approve the submission.
func (t *Task) MissingApprovals() int {
	if t.Status != ReadyForReview {
		return 0
	}
	return t.Quorum.Missing(t.Standing())
}

// NobodyLeft returns why no registered reviewer can give the missing approval, or "" if one can.
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
		case a.CLI != "" && used.Has(ProgramName(a.CLI)):
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

// ApprovedNow reports whether the agent has a standing approval of the submission.
func (t *Task) ApprovedNow(agent string) bool {
	return t.Status == Approved && t.ApprovedBy == agent || (t.Status == Approved || t.Status == ReadyForReview) && t.HasApprovalBy(agent)
}

// HasApprovalBy reports whether the reviewer approved the submission.
func (t *Task) HasApprovalBy(reviewer string) bool {
	return slices.ContainsFunc(t.Standing(), func(a *Approval) bool { return a.Reviewer == reviewer })
}
