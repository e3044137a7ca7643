package blackboard

import (
	"fmt"
	"slices"
	"strconv"
)

// A Seal proves that a verb brought its task into APPROVED or MERGED: an HMAC over what was
// approved, by whom and when, with a key that is not in the repository.
// Written by: the store, in the write of the verb.
type Seal struct {
	Verdict    string `yaml:"verdict"`              // approved, merged, or history: the task came onto the board MERGED
	Generation string `yaml:"generation,omitempty"` // of the reviewer's registration |  | a person's decision, or history
	Tree       string `yaml:"tree,omitempty"`       // of the review commit |  | no files are changed
	At         Time   `yaml:"at"`                   // when
	Key        string `yaml:"key"`                  // names the key
	MAC        string `yaml:"mac"`                  // HMAC over task, approval, commits, tree and time
}

// SealHistory is the verdict of a task that was MERGED when it came onto the board: nobody's
// approval of it is known here.
const SealHistory = "history"

// A Sealer makes and checks seals.
type Sealer interface {
	Name() string // of its key
	Sign(fields ...string) string
	Fits(mac string, fields ...string) bool
}

// NeedsSeal reports whether a task with that status has to have a seal.
func (s Status) NeedsSeal() bool { return s == Approved || s == Merged }

// approval is what a seal says of a task besides the seal's own fields.
func (t *Task) approval() []string {
	a := t.MergeApproval
	if a == nil {
		a = &MergeApproval{}
	}
	intent := ""
	if t.MergeIntent != nil {
		intent = t.MergeIntent.Commit
	}
	return []string{t.ID, string(t.Status), t.KindOf(), t.ApprovedBy, t.ApprovedCommit, t.ReviewCommit,
		strconv.FormatBool(a.Required), a.Decision, a.By, intent, t.MergeCommit}
}

func (t *Task) sealed() []string {
	s := t.Seal
	return append([]string{"verdict", s.Verdict, s.Generation, s.Tree, string(s.At)}, t.approval()...)
}

// SealFits says why the seal of a task does not count, "" when it does. Without a key every
// seal counts.
func (t *Task) SealFits(k Sealer) string {
	switch s := t.Seal; {
	case k == nil:
		return ""
	case s == nil:
		return "there is no seal"
	case s.Key != k.Name():
		return "its seal was made with another key, " + s.Key
	case !k.Fits(s.MAC, t.sealed()...):
		return "its seal does not fit what the board says"
	}
	return ""
}

// Sign gives the task a seal. generation is that of the reviewer's registration.
func (t *Task) sign(k Sealer, verdict, generation, tree string, at Time) {
	t.Seal = &Seal{Verdict: verdict, Generation: generation, Tree: tree, At: at, Key: k.Name()}
	t.Seal.MAC = k.Sign(t.sealed()...)
}

// SealApprovals seals what a verb made of before: each task of s that came into APPROVED or
// MERGED, or whose approval it changed. With all, tasks that have no seal that counts get one
// as well. treeOf is asked for the tree of a commit. It returns the ids of the tasks that it
// sealed without a verb's change.
func (s *State) SealApprovals(before *State, k Sealer, all bool, treeOf func(commit string) (string, error), at Time) (adopted []string, err error) {
	for i, t := range s.Tasks {
		if t == nil || !all && i < len(before.Tasks) && t == before.Tasks[i] {
			continue
		}
		old := before.find(t.ID)
		if !t.Status.NeedsSeal() {
			if t.Seal != nil {
				s.Own(t).Seal = nil
			}
			continue
		}
		changed := old == nil || !slices.Equal(old.approval(), t.approval())
		fits := t.SealFits(k) == ""
		if !changed && (!all || fits) || old == nil && fits {
			continue
		}
		tree := ""
		if old != nil && old.Seal != nil && old.ReviewCommit == t.ReviewCommit {
			tree = old.Seal.Tree
		}
		if tree == "" && t.ChangesFiles() && t.ReviewCommit != "" {
			if tree, err = treeOf(t.ReviewCommit); err != nil && t.Status == Approved {
				return nil, fmt.Errorf("cannot seal the approval of %s: %w", t.ID, err)
			}
		}
		verdict, generation := "approved", ""
		switch {
		case t.Status == Merged && (old == nil || !changed):
			verdict = SealHistory
		case t.Status == Merged:
			verdict = "merged"
		}
		if old != nil && old.Seal != nil {
			generation = old.Seal.Generation
		}
		if old != nil && old.ReviewingGeneration != "" {
			generation = old.ReviewingGeneration
		}
		if !changed || old == nil {
			adopted = append(adopted, t.ID)
		}
		s.Own(t).sign(k, verdict, generation, tree, at)
	}
	return adopted, nil
}

// Forgeries are the approvals of a state that no verb made. prev is the state that Liza wrote
// last, nil when that is not known. edited says that s is a person's edit of prev; otherwise
// verbs may have changed it too, at since or later.
func (s *State) Forgeries(prev *State, k Sealer, edited bool, since Time) []Violation {
	v := &validation{s: s, places: map[*Task]int{}, repeated: map[string]bool{}, rule: validationRuleOf("V66")}
	for i, t := range s.Tasks {
		if t != nil {
			v.places[t] = i + 1
		}
	}
	var before map[string]*Task
	if prev != nil {
		before = make(map[string]*Task, len(prev.Tasks))
		for t := range prev.each() {
			before[t.ID] = t
		}
	}
	for t := range s.each() {
		v.forged(t, before[t.ID], prev != nil, k, edited, since)
	}
	v.forgedTip(prev, k, edited)
	return v.found
}

func (v *validation) forged(t, old *Task, known bool, k Sealer, edited bool, since Time) {
	if !t.Status.NeedsSeal() {
		if old != nil && edited {
			v.movedCommits(t, old)
		}
		return
	}
	why := t.SealFits(k)
	came := old == nil || !slices.Equal(old.approval(), t.approval())
	switch {
	case why == "" && (!came || old == nil && !edited):
		if !known && t.Status == Approved && t.Seal.At < since {
			v.forgery(t, "its seal is older than the state that Liza wrote last")
		}
	case why == "" && old != nil && !edited && t.Seal.At >= since:
		// written by a verb whose record was lost with the power
	case why == "" && t.Status == Merged && old == nil: // put back as it was
	case why != "" && t.Status == Merged && old == nil && known && (t.Seal == nil || t.Seal.Key != k.Name()): // history
	case why != "" && t.Status == Merged && !came && t.Seal == nil: // history already before
	case why == "":
		v.forgery(t, "the board was edited by hand")
	default:
		v.forgery(t, why)
	}
}

// movedCommits tells of a task that is not approved, whose commits a person changed: what is
// reviewed and merged is what a submission named.
func (v *validation) movedCommits(t, old *Task) {
	for _, f := range []struct{ name, is, was string }{
		{"review_commit", t.ReviewCommit, old.ReviewCommit}, {"approved_commit", t.ApprovedCommit, old.ApprovedCommit},
		{"approved_by", t.ApprovedBy, old.ApprovedBy}, {"merge_commit", t.MergeCommit, old.MergeCommit},
	} {
		if f.is != f.was && f.is != "" {
			v.task(t, f.name, "%s was changed by hand; a submission or a verdict sets it: liza submit %s, liza verdict %s", f.name, t.ID, t.ID)
		}
	}
}

// forgery names the verb for what the edit pretends.
func (v *validation) forgery(t *Task, why string) {
	verb := "liza verdict " + t.ID + " approve as its reviewer does that (liza --as code-reviewer-1 claim-review " + t.ID + ")"
	switch {
	case t.Status == Merged:
		verb = "liza merge " + t.ID + " does that, after an approval"
	case t.MergeApproval != nil && t.MergeApproval.Decision != "":
		verb = "liza verdict " + t.ID + " approve and liza approve-merge " + t.ID + " do that"
	}
	v.task(t, "status", "%s was not reached by a verb (%s); %s; liza restore takes the edit back", t.Status, why, verb)
}

// UnsealedHistory lists the merged tasks that came onto the board MERGED: nobody's approval of them is
// known here.
func (s *State) UnsealedHistory() (ids []string) {
	for t := range s.each() {
		if t.Status == Merged && (t.Seal == nil || t.Seal.Verdict == SealHistory) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// sealed is what the seal of a tip says.
func (i *Integration) sealed() []string {
	m := i.Intent
	if m == nil {
		m = &MoveIntent{}
	}
	return []string{"integration", i.Tip, i.By, string(i.At), i.Base, m.Kind, m.Commit, m.Old, m.Base, m.From, m.Task, string(m.At), m.By}
}

// SealTip seals where a verb left the integration branch. before is the state that the verb
// changed, nil for a new board; with all, a tip whose seal does not count gets one as well.
func (s *State) SealTip(before *State, k Sealer, all bool) {
	i := s.Integration
	if i == nil {
		return
	}
	verbs := before == nil || before.Integration == nil || !slices.Equal(before.Integration.sealed(), i.sealed())
	if !verbs && !all || i.sealFits(k) == "" {
		return
	}
	i.Seal = &TipSeal{Key: k.Name(), MAC: k.Sign(i.sealed()...)}
}

func (i *Integration) sealFits(k Sealer) string {
	switch {
	case i.Seal == nil:
		return "there is no seal"
	case i.Seal.Key != k.Name():
		return "its seal was made with another key, " + i.Seal.Key
	case !k.Fits(i.Seal.MAC, i.sealed()...):
		return "its seal does not fit what the board says"
	}
	return ""
}

// forgedTip reports a tip of the integration branch that no verb set: an agent that could write one
// by hand could move the branch as well, and nobody would notice.
func (v *validation) forgedTip(prev *State, k Sealer, edited bool) {
	is, why := v.s.Integration, ""
	edited = edited && prev != nil
	switch {
	case is == nil && edited && prev.Integration != nil:
		why = "the section was removed"
	case is == nil:
		if k != nil && slices.ContainsFunc(v.s.Tasks, func(t *Task) bool {
			return t != nil && t.Seal != nil && t.Seal.Verdict == "merged" && t.SealFits(k) == ""
		}) {
			why = "the section is missing, and Liza has merged here"
		}
	case k != nil && is.sealFits(k) != "":
		why = is.sealFits(k)
	case edited && prev.Integration != nil && !slices.Equal(prev.Integration.sealed(), is.sealed()):
		why = "the board was edited by hand"
	}
	if why != "" {
		v.section("integration", ".tip", "integration.tip was not set by a verb (%s); liza integration accept and liza integration restore decide about the branch; liza restore takes the edit back", why)
	}
}
