package blackboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// SealHistory is the verdict of a task that was already MERGED when it came onto the board, so that its approval is unknown.
const SealHistory = "history"

// A Sealer makes and checks seals.
type Sealer interface {
	Name() string // returns the id of the key
	Sign(fields ...string) string
	Fits(mac string, fields ...string) bool
}

// NeedsSeal reports whether a task with that status must have a seal.
func (s Status) NeedsSeal() bool { return s == Approved || s == Merged }

// approval returns the texts of a task that its seal covers.
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

// sealed returns the texts that the seal of one approval covers.
func (a *Approval) sealed(task string) []string {
	return []string{"approval", task, a.Reviewer, strconv.FormatBool(a.Person), a.Program, a.Commit, a.Tree, string(a.At)}
}

// SealFits returns why the seal of the approval is not valid for task, or "" if it is.
func (a *Approval) SealFits(task string, k Sealer) string {
	return sealFits(k, a.Key, a.MAC, func() []string { return a.sealed(task) })
}

// sealFits returns why mac, made with the key named key, does not seal the texts says, or "" if it is. If k is nil every seal
// is valid.
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

// SameApproval reports whether the sealed texts of two versions of a task are equal.
func (t *Task) SameApproval(old *Task) bool { return slices.Equal(old.approval(), t.approval()) }

func (t *Task) sealed() []string {
	s := t.Seal
	return append([]string{"verdict", s.Verdict, s.Generation, s.Tree, string(s.At)}, t.approval()...)
}

// SealFits returns why the seal of a task is not valid, or "" if it is. If k is nil every seal is valid.
func (t *Task) SealFits(k Sealer) string {
	s := cmp.Or(t.Seal, &Seal{})
	return sealFits(k, s.Key, s.MAC, t.sealed)
}

// sign gives the task a seal. generation is that of the reviewer's registration.
func (t *Task) sign(k Sealer, verdict, generation, tree string, at Time) {
	t.Seal = &Seal{Verdict: verdict, Generation: generation, Tree: tree, At: at, Key: k.Name()}
	t.Seal.MAC = k.Sign(t.sealed()...)
}

// SealApprovals seals each task of s that a verb brought into APPROVED or MERGED since before, or whose approval it changed.
// With all, tasks without a valid seal get one too. treeOf returns the tree of a commit. adopted are the ids of tasks sealed
// without a change by a verb.
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

// sealed returns the texts that the seal of a tip covers.
func (i *Integration) sealed() []string {
	m := i.Intent
	if m == nil {
		m = &MoveIntent{}
	}
	return []string{"integration", i.Tip, i.By, string(i.At), i.Base, m.Kind, m.Commit, m.Old, m.Base, m.From, m.Task, string(m.At), m.By}
}

// SealAs seals the tip if a verb changed it since old; nil: a new board. With all, a tip without a valid seal gets one too.
func (i *Integration) SealAs(old *Integration, k Sealer, all bool) {
	if i == nil || old != nil && i.SameTip(old) && !all || i.SealFits(k) == "" {
		return
	}
	i.Seal = &TipSeal{Key: k.Name(), MAC: k.Sign(i.sealed()...)}
}

// SameTip reports whether the sealed texts of two versions are equal.
func (i *Integration) SameTip(old *Integration) bool { return slices.Equal(old.sealed(), i.sealed()) }

// SealFits returns why the seal of the tip is not valid, or "" if it is.
func (i *Integration) SealFits(k Sealer) string {
	s := cmp.Or(i.Seal, &TipSeal{})
	return sealFits(k, s.Key, s.MAC, i.sealed)
}
