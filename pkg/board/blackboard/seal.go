package blackboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

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
	says := []string{t.ID, string(t.Status), string(t.KindOf()), t.ApprovedBy, t.ApprovedCommit, t.ReviewCommit,
		strconv.FormatBool(a.Required), string(a.Decision), a.By, intent, t.MergeCommit}
	for _, x := range t.Approvals {
		says = append(says, x.sealed(t.ID)...)
	}
	return says
}

// sealed is what the seal of one approval says.
func (a *Approval) sealed(task string) []string {
	return []string{"approval", task, a.Reviewer, strconv.FormatBool(a.Person), a.Program, a.Commit, a.Tree, string(a.At)}
}

// SealFits says why the seal of an approval of that task does not count, "" when it does.
func (a *Approval) SealFits(task string, k Sealer) string {
	return sealFits(k, a.Key, a.MAC, func() []string { return a.sealed(task) })
}

// sealFits says why a seal does not count for what it says, "" when it does. Without a key every seal counts.
func sealFits(k Sealer, key, mac string, says func() []string) string {
	switch {
	case k == nil:
		return ""
	case mac == "":
		return "there is no seal"
	case key != k.Name():
		return "its seal was made with another key, " + key
	case !k.Fits(mac, says()...):
		return "its seal does not fit what the board says"
	}
	return ""
}

// HasApproval reports whether a task has that approval, with its seal.
func (t *Task) HasApproval(a *Approval) bool {
	return t != nil && slices.ContainsFunc(t.Approvals, func(b *Approval) bool {
		return a.MAC == b.MAC && a.Key == b.Key && slices.Equal(a.sealed(""), b.sealed(""))
	})
}

// sealEach seals the approvals that a verb made of before; with all, also those whose seal does not count.
func (s *State) sealEach(t, before *Task, k Sealer, all bool) *Task {
	for i, a := range t.Approvals {
		if a.SealFits(t.ID, k) == "" || !all && before.HasApproval(a) {
			continue
		}
		t = s.Writable(t)
		a = t.Approvals[i]
		a.Key, a.MAC = k.Name(), k.Sign(a.sealed(t.ID)...)
	}
	return t
}

// SameApproval reports whether a task says the same of its approval as another version of it.
func (t *Task) SameApproval(old *Task) bool { return slices.Equal(old.approval(), t.approval()) }

func (t *Task) sealed() []string {
	s := t.Seal
	return append([]string{"verdict", s.Verdict, s.Generation, s.Tree, string(s.At)}, t.approval()...)
}

// SealFits says why the seal of a task does not count, "" when it does. Without a key every
// seal counts.
func (t *Task) SealFits(k Sealer) string {
	s := cmp.Or(t.Seal, &Seal{})
	return sealFits(k, s.Key, s.MAC, t.sealed)
}

// sign gives the task a seal. generation is that of the reviewer's registration.
func (t *Task) sign(k Sealer, verdict, generation, tree string, at Time) {
	t.Seal = &Seal{Verdict: verdict, Generation: generation, Tree: tree, At: at, Key: k.Name()}
	t.Seal.MAC = k.Sign(t.sealed()...)
}

// SealApprovals seals what a verb made of before: each task of s that came into APPROVED or
// MERGED, or whose approval it changed. With all, tasks that have no seal that counts get one
// as well. treeOf is asked for the tree of a commit. It returns the ids of the tasks that it
// sealed without a verb's change.
func (s *State) SealApprovals(before *State, k Sealer, all bool, treeOf func(commit string) (string, error), at Time) (adopted []string, err error) {
	for i, t := range s.tasks {
		if !all && i < len(before.tasks) && t == before.tasks[i] {
			continue
		}
		old := before.Find(t.ID)
		t = s.sealEach(t, old, k, all)
		if !t.Status.NeedsSeal() {
			if t.Seal != nil {
				s.Writable(t).Seal = nil
			}
			continue
		}
		changed := old == nil || !t.SameApproval(old)
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
		s.Writable(t).sign(k, verdict, generation, tree, at)
	}
	return adopted, nil
}

// sealed is what the seal of a tip says.
func (i *Integration) sealed() []string {
	m := i.Intent
	if m == nil {
		m = &MoveIntent{}
	}
	return []string{"integration", i.Tip, i.By, string(i.At), i.Base, m.Kind, m.Commit, m.Old, m.Base, m.From, m.Task, string(m.At), m.By}
}

// SealAs seals where a verb left the branch. old is the integration that the verb changed, nil for a new
// board. With all, a tip whose seal does not count gets one as well.
func (i *Integration) SealAs(old *Integration, k Sealer, all bool) {
	if i == nil || old != nil && i.SameTip(old) && !all || i.SealFits(k) == "" {
		return
	}
	i.Seal = &TipSeal{Key: k.Name(), MAC: k.Sign(i.sealed()...)}
}

// SameTip reports whether the branch was left in the same way as another version says.
func (i *Integration) SameTip(old *Integration) bool { return slices.Equal(old.sealed(), i.sealed()) }

// SealFits says why the seal of the tip does not count, "" when it does.
func (i *Integration) SealFits(k Sealer) string {
	s := cmp.Or(i.Seal, &TipSeal{})
	return sealFits(k, s.Key, s.MAC, i.sealed)
}
