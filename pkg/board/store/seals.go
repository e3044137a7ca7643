package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// forgeries returns the approvals in a version that no verb made. rec is the proven record of Liza's last write, and previous
// the state of that write, if known.
func (r *rules) forgeries(v, previous *version, rec record, edited bool) []blackboard.Violation {
	k, state, _ := r.keyOf(rec, v.base)
	var sealer blackboard.Sealer
	switch {
	case state == ours:
		sealer = k
	case state != before || rec.SHA256 == "":
		return nil
	} // of a project from before there were seals an edit is compared all the same
	r.mu.Lock()
	known := r.judged
	r.mu.Unlock()
	if known.of == state && known.doc == v.doc && known.rec == rec && known.previous == previous && known.edited == edited {
		return known.found
	}
	old := previous.state()
	if state == before && old == nil {
		old = &blackboard.State{} // an approval that may be new is not sealed
	}
	found := locate(v.doc, audit.Forgeries(v.base, old, sealer, edited || state == before, rec.At))
	r.mu.Lock()
	r.judged = judgement{of: state, doc: v.doc, rec: rec, previous: previous, edited: edited, found: found}
	r.mu.Unlock()
	return found
}

// judge searches a version that Liza did not write last for forged approvals.
func (f *File) judge(v *version, rec record) (previous *version, found []blackboard.Violation) {
	if rec.of(v) {
		f.prove(rec, v)
		return nil, nil
	}
	if v.base.Revision > rec.Revision && f.wrote(v) {
		return nil, nil // this process writes it just now, or has since the record was read
	}
	if rec.SHA256 != "" {
		previous = f.written(rec)
	}
	if f.o.Seals == nil {
		return previous, nil
	}
	return previous, f.forgeries(v, previous, rec, rec.SHA256 != "" && v.base.Revision <= rec.Revision)
}

// refuseForgeries alerts about forged approvals and returns an error for the write.
func (f *File) refuseForgeries(v *version, found []blackboard.Violation) error {
	if len(found) == 0 {
		return nil
	}
	refused := &InvalidError{Path: f.o.Path, Violations: found}
	f.mu.Lock()
	told := f.told
	f.told = v.doc
	f.mu.Unlock()
	if told == v.doc {
		return refused
	}
	var texts []string
	for _, v := range found {
		texts = append(texts, v.Text())
	}
	f.o.Alert(blackboard.AlertForgedApproval, strings.Join(texts, "; "))
	return refused
}

// Forged returns the forged approvals in the file of a board as an *InvalidError, or nil. While there are any, View returns
// the state before them.
func Forged(ctx context.Context, s Store) error {
	f, ok := s.(*File)
	if !ok || ctx.Err() != nil {
		return nil
	}
	v, rec, err := f.readBoth()
	if err != nil || rec.Revision > v.base.Revision {
		return nil
	}
	if _, found := f.judge(v, rec); len(found) > 0 {
		return &InvalidError{Path: f.o.Path, Violations: found}
	}
	return nil
}

// isForgery reports whether a write was refused because of forged approvals.
func isForgery(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid) && invalid.Violations[0].Rule == "V66"
}

// seal gives the approvals of a change their seals. When the project is from before there were
// any, all that are on the board get one, and the journal says so.
func (r *rules) seal(op Op, old, after *blackboard.State, rec record, edited bool) error {
	k, state, err := r.keyOf(rec, old)
	switch {
	case state == sealsOff:
		return nil
	case state == foreign && !op.Adopt && !approvalsChanged(old, after):
		return nil
	case err != nil && !(op.Adopt && state == foreign):
		return err
	case k == nil:
		if k, err = r.makeKey(); err != nil {
			return err
		}
	}
	ids, err := after.SealApprovals(old, k, edited || op.Adopt || state == before, r.o.Seals.TreeOf, blackboard.TimeOf(r.o.Now()))
	if err != nil {
		return err
	}
	after.Integration.SealAs(old.Integration, k, edited || op.Adopt || state == before)
	if state == before || op.Adopt {
		after.Record(sealedEntry(fmt.Sprintf("approvals are sealed from now on, with key %s", k.ID), ids))
	}
	return nil
}

func sealedEntry(detail string, ids []string) blackboard.Entry {
	if len(ids) > 0 {
		detail += fmt.Sprintf("; what was on the board was sealed as it was: %s", prose.Few(ids, mostNamed))
	}
	return blackboard.Entry{Agent: blackboard.System, Action: blackboard.ActionSealed, Detail: detail}
}

// approvalsChanged reports whether a change needs a seal.
func approvalsChanged(before, after *blackboard.State) bool {
	for i, t := range after.TaskList() {
		if (i >= before.TaskCount() || t != before.TaskAt(i)) && (t.Status.NeedsSeal() || len(t.Approvals) > 0) {
			return true
		}
	}
	return false
}

// CheckSeal returns why the approval of t is not valid, or nil. tree is the tree of the review commit in git, or "" for a
// task that changes no files.
func (f *File) CheckSeal(t *blackboard.Task, tree string) error {
	rec, _ := f.record()
	return f.checkSeal(rec, t, tree)
}

func (r *rules) checkSeal(rec record, t *blackboard.Task, tree string) error {
	k, state, err := r.keyOf(rec, (&blackboard.State{}).With(t))
	switch {
	case state == sealsOff:
		return nil
	case err != nil:
		return err
	case state == before:
		return fmt.Errorf("no approval of this project has been sealed yet")
	}
	if why := t.SealFits(k); why != "" {
		return errors.New(why)
	}
	if tree != t.Seal.Tree {
		return fmt.Errorf("commit %s differs from the approved work (tree %s, approved %s)", t.ReviewCommit, tree, t.Seal.Tree)
	}
	return nil
}

// mostNamed is how many tasks a warning names.
const mostNamed = 5

// inspectSeals returns the findings of `liza validate` about seals.
func (f *File) inspectSeals(v *version, rec record) []blackboard.Violation {
	if f.o.Seals == nil {
		return nil
	}
	_, found := f.judge(v, rec)
	return f.inspectSealed(v, rec, found, rec.of(v))
}

// inspectSealed adds findings about seals to found. own means that Liza wrote v last, so that its seals were not checked
// before.
func (r *rules) inspectSealed(v *version, rec record, found []blackboard.Violation, own bool) []blackboard.Violation {
	k, state, err := r.keyOf(rec, v.base)
	if state == sealsOff {
		return nil
	}
	if own && state == ours {
		found = locate(v.doc, audit.Forgeries(v.base, v.base, k, false, ""))
	}
	warn := func(format string, args ...any) {
		found = append(found, blackboard.Violation{Rule: "V66", Severity: blackboard.SeverityWarning, Path: "tasks", Subjects: []string{"tasks"}, Message: fmt.Sprintf(format, args...)})
	}
	if state != ours && err != nil {
		warn("seals cannot be checked: %v", err)
	}
	if ids := unsealedHistory(v.base); len(ids) > 0 {
		warn("MERGED without a sealed approval, kept as history (imported, or from before approvals were sealed): %s", prose.Few(ids, mostNamed))
	}
	return found
}

// unsealedHistory lists the merged tasks that came onto the board MERGED: nobody's approval of them is
// known here.
func unsealedHistory(s *blackboard.State) (ids []string) {
	for t := range s.Tasks() {
		if t.Status == blackboard.Merged && (t.Seal == nil || t.Seal.Verdict == blackboard.SealHistory) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}
