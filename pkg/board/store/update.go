package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// Update is a write as specs/protocol.md#1.2 defines it. It returns a *LockedError, an *InvalidError, a *WentBackError, a
// *VersionError, or the error of change.
func (f *File) Update(ctx context.Context, op Op, change func(*blackboard.State) error) error {
	// Counted from the first unreadable look, not from the call: waiting for the lock is not the editor's time.
	patience := time.Time{}
	for {
		err := f.locked(ctx, op, change)
		var invalid *InvalidError
		var syntax *yamldoc.SyntaxError
		if !errors.As(err, &invalid) || !errors.As(err, &syntax) {
			return err
		}
		// An editor may be in the middle of saving: look again for a while, without the lock.
		if patience.IsZero() {
			patience = time.Now().Add(settleTime)
		}
		if !f.settled(ctx, patience) {
			return err
		}
	}
}

// settled waits until the file can be read again. It gives up at the time given.
func (f *File) settled(ctx context.Context, until time.Time) bool {
	tick := time.NewTicker(settleStep)
	defer tick.Stop()
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if _, err := f.read(); err == nil {
			return true
		}
	}
	return false
}

// locked writes, again and again while editors get in between.
func (f *File) locked(ctx context.Context, op Op, change func(*blackboard.State) error) error {
	return f.underLock(ctx, op, func() error { return f.write(ctx, op, change) })
}

// write makes one attempt, W2 to W10, under the lock.
func (f *File) write(ctx context.Context, op Op, change func(*blackboard.State) error) error {
	if info, err := os.Lstat(f.o.Path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("cannot write %s: it is a symbolic link", short(f.o.Path))
	}
	read, err := f.read()
	if err != nil {
		return err
	}
	before, previous, edited, rec, err := f.compareCommitted(read)
	if op.Adopt && isForgery(err) {
		before, previous, edited, err = read, f.written(rec), rec.SHA256 != "", nil
	}
	if err != nil {
		return err
	}
	f.o.At("W2")
	// Before the change is tried: entries of a writer that was killed would be taken for this one's.
	if err := f.repair(before.base.Revision); err != nil {
		return err
	}
	f.o.At("W3")
	after := before.base.Fork()
	var refused []blackboard.Violation
	if edited && previous != nil && !op.Adopt {
		refused = transition.TakeHandEdits(after, previous.base, f.o.Now())
	}
	changes, entries, err := f.applied(ctx, op, before, after, rec, edited, change)
	if changes == nil || err != nil {
		return err
	}
	if edited {
		entries = append([]blackboard.Entry{f.handEdit(before.base, previous)}, entries...)
	}
	putBack, err := f.putBack(before, refused)
	if err != nil {
		return err
	}
	entries = append(entries, putBack...)
	next, err := f.validated(before, previous.state(), after, changes)
	if err != nil {
		return err
	}
	if err := op.runAhead(before.doc, before.base, after); err != nil {
		return err
	}
	return f.commit(op, before, next, rec, entries)
}

// applied runs change on after, a fork of before, and returns the differences, or nil if there are none.
func (r *rules) applied(ctx context.Context, op Op, before *version, after *blackboard.State, rec record, edited bool, change func(*blackboard.State) error) (*changes, []blackboard.Entry, error) {
	// On a fork: what change has altered before it refused is dropped with it.
	if err := change(after); errors.Is(err, ErrUnchanged) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	// The last moment at which it can be stopped without leaving anything behind.
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("cannot write %s: %w", short(r.o.Path), err)
	}
	if r.o.Mask != nil {
		after.Mask(before.base, r.o.Mask)
	}
	after.Version, after.Revision = before.base.Version, before.base.Revision // not theirs to change
	if err := r.seal(op, before.base, after, rec, edited); err != nil {
		return nil, nil, err
	}
	if r.o.Strict {
		r.proveUntouched(before)
	}
	r.o.At("W4")
	changes := compare(before.doc, before.base, after)
	entries := r.complete(op, after.Entries())
	if changes.none() && len(entries) == 0 {
		return nil, nil, nil
	}
	return changes, entries, nil
}

// commit makes a version the state, W5 to W10. before is the version in the file.
func (f *File) commit(op Op, before, next *version, rec record, entries []blackboard.Entry) error {
	f.o.At("W5")
	journal, err := f.append(op, next.base.Revision-1, rec, entries)
	if err != nil {
		return err
	}
	f.o.At("W6")
	summed := make(chan struct{})
	go func() { // while the disk is busy
		defer close(summed)
		next.sum()
	}()
	chain, err := f.replace(before, next, rec)
	<-summed
	if err != nil {
		return err
	}
	f.settle(next, f.kept.extend(chain, before, next), rec.Key, journal)
	f.o.At("W10")
	_ = f.journal.Rotate(entries) // the change is made; what could not be moved stays where it is
	return nil
}

// repair makes the journal fit the state, and removes temporary files of killed writers (W3).
func (f *File) repair(revision int) error {
	if err := safefile.Sweep(f.o.Path); err != nil {
		return err
	}
	repaired, err := f.journal.Repair(revision, f.o.Now())
	if err != nil {
		return err
	}
	if repaired.Any() {
		f.o.Alert(blackboard.AlertJournalRepaired, repaired.String())
	}
	if repaired.Ahead > 0 {
		f.o.Alert(blackboard.AlertStateWentBack, repaired.String())
	}
	return nil
}

// validated returns the next version of the file. It refuses one with a violation in a part that the change touches, or with
// a new violation elsewhere (W5).
func (r *rules) validated(before *version, previous, after *blackboard.State, changes *changes) (*version, error) {
	var refused []blackboard.Violation
	for _, v := range decoding(before.doc, false) {
		if v.Rule == "V03" && changes.edited[v.Subjects[0]] {
			refused = append(refused, v) // a person's text is where the section should be
		}
	}
	if len(refused) > 0 {
		return nil, &InvalidError{Path: r.o.Path, Violations: refused}
	}
	after.Revision++
	after.TakeEntries(0)
	doc, err := changes.apply(before.doc, before.base.Revision)
	if err != nil {
		return nil, err
	}
	for _, v := range decoding(doc, false) {
		if v.Severity == blackboard.SeverityError && changes.concerns(v) {
			refused = append(refused, v)
		}
	}
	refused = append(refused, r.newOrTouched(before.base, previous, after, changes)...)
	if len(refused) > 0 {
		return nil, &InvalidError{Path: r.o.Path, Violations: locate(before.doc, refused)}
	}
	return &version{doc: doc, base: state(doc, before.base)}, nil
}

// newOrTouched returns the violations for which a write is refused. An older violation in an untouched part is not among
// them.
func (r *rules) newOrTouched(before, previous, after *blackboard.State, changes *changes) []blackboard.Violation {
	if r.o.Validate == nil {
		return nil
	}
	if previous != nil { // a person may have changed anything
		return r.refused(before, previous, after, changes)
	}
	refused := r.refused(before, before, after, changes)
	if r.o.Strict {
		r.proveSame(refused, r.refused(before, before, after.Clone(), changes))
	}
	return refused
}

func (r *rules) refused(before, previous, after *blackboard.State, changes *changes) []blackboard.Violation {
	var refused, elsewhere []blackboard.Violation
	for _, v := range r.o.Validate(after, previous) {
		switch {
		case v.Severity != blackboard.SeverityError || !v.OnWrite:
		case changes.concerns(v):
			refused = append(refused, v)
		default:
			elsewhere = append(elsewhere, v)
		}
	}
	if len(elsewhere) == 0 {
		return refused
	}
	// Only when something is broken elsewhere: the second look is at every task, whatever the first one left out.
	if previous == before {
		previous = nil
	}
	old := map[string]bool{}
	for _, v := range r.o.Validate(before, previous) {
		old[v.Rule+" "+v.Path+" "+v.Message] = true
	}
	for _, v := range elsewhere {
		if !old[v.Rule+" "+v.Path+" "+v.Message] {
			refused = append(refused, v)
		}
	}
	return refused
}

// replace puts the next version in the place of the one that was read, unless that is
// no longer there (W7 to W9), and gives the old one to the snapshots when they need it.
func (f *File) replace(before, next *version, rec record) (chainEnd, error) {
	staged, err := safefile.StageFrom(f.o.Path, next.doc, next.doc.Size(), before.mode)
	if err != nil {
		return chainEnd{}, err
	}
	f.o.At("W7")
	// An editor does not know the lock: what it saved since the file was read would be lost. The caller reads again and repeats the change.
	if f.moved(before) {
		staged.Discard()
		return chainEnd{}, errMoved
	}
	f.o.At("W8")
	chain := f.kept.chainFor(before, rec, f.o.Path)
	next.mode = before.mode
	f.mu.Lock()
	// Before the rename: a reader that sees the new file at once finds here what it means, instead of reading all of it.
	f.coming = next
	f.mu.Unlock()
	if next.stamp, err = staged.CommitStamp(); err != nil {
		return chainEnd{}, err
	}
	next.still = next.stamp.Settled(time.Now())
	f.o.At("W9")
	return chain, nil
}

// moved reports whether the file is another than the one that was read.
func (f *File) moved(from *version) bool {
	now, err := safefile.StampOf(f.o.Path)
	if err != nil {
		return from.stamp != (safefile.Stamp{}) || !errors.Is(err, fs.ErrNotExist)
	}
	return now != from.stamp
}

// View returns a copy of the present state. It takes no lock. For an unreadable file it returns an *InvalidError; LastValid
// then has a state for views. If an old copy was put over a newer state, the result is the merge that the next write will
// make, or else the newer state. If an edit forges an approval, the result is the state before that edit.
func (f *File) View(ctx context.Context) (*blackboard.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, rec, err := f.readBoth()
	if err != nil {
		return nil, err
	}
	if rec.Revision > v.base.Revision {
		if err := noBoard(f.o.Path, v, f.written(rec)); err != nil {
			return nil, err
		}
		if m := f.mergeOld(v, rec); m.err == nil {
			v = m.result
		} else if m.theirs != nil {
			v = m.theirs
		}
	}
	previous, found := f.judge(v, rec)
	if v.base.Revision <= rec.Revision { // else a writer has come further than its record
		if err := cutOff(f.o.Path, v, previous); err != nil {
			return nil, err
		}
	}
	if len(found) > 0 && previous == nil {
		return nil, &InvalidError{Path: f.o.Path, Violations: found}
	}
	if len(found) > 0 {
		v, previous = previous, nil
	}
	if v.base.Revision > rec.Revision {
		previous = nil
	}
	s, _ := f.taken(v, previous)
	s.TakeEntries(0)
	return s, nil
}

// Inspect reads the state for validation.
func (f *File) Inspect(ctx context.Context) (*Inspection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, rec, err := f.readBoth()
	if err != nil {
		return nil, err
	}
	i := &Inspection{State: v.base.Clone(), Decode: decoding(v.doc, true), Missing: missing(v.doc), doc: v.doc}
	if rec.SHA256 != "" && !rec.of(v) {
		if rec.Revision == v.base.Revision {
			if err := cutOff(f.o.Path, v, f.written(rec)); err != nil {
				return nil, err
			}
		} else if err := noBoard(f.o.Path, v, f.written(rec)); err != nil && rec.Revision > v.base.Revision {
			return nil, err
		}
		i.Previous = f.written(rec).state().Clone()
	}
	seals := f.inspectSeals(v, rec)
	i.Decode = append(i.Decode, seals...)
	forged := slices.ContainsFunc(seals, func(v blackboard.Violation) bool { return v.Severity == blackboard.SeverityError })
	if i.Previous != nil && rec.Revision == v.base.Revision && !forged {
		s, refused := f.taken(v, f.written(rec))
		s.TakeEntries(0)
		i.State, i.Decode = s.Clone(), append(i.Decode, locate(v.doc, refused)...)
	}
	return i, nil
}

// readBoth reads the file and the record of the last write, without the lock. It reads again if a write in between made the
// record newer than the file.
func (f *File) readBoth() (v *version, rec record, err error) {
	for range maxMoves {
		if v, err = f.read(); err != nil {
			return nil, record{}, err
		}
		rec, _ = f.committed()
		if rec.Revision <= v.base.Revision || rec.of(v) {
			return v, rec, nil
		}
		now, err := f.read()
		if err != nil || now.doc == v.doc {
			return v, rec, err
		}
	}
	return v, record{}, nil
}

// Line returns the line and column of a violation's path in the file, or 0.
func (i *Inspection) Line(path string) (line, column int) { return i.doc.Line(path) }

// Locate returns violations with their lines and columns.
func (i *Inspection) Locate(violations []blackboard.Violation) []blackboard.Violation {
	return locate(i.doc, violations)
}
