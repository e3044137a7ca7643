package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
)

// compareCommitted finds out whether a person changed the file since Liza's last write (W2; B04, B06). now is the state to
// continue from: that of the file, or of the merge of an old copy with the newer state. previous is the version that Liza
// wrote, if a person changed it and it is known.
func (f *File) compareCommitted(v *version) (now, previous *version, edited bool, rec record, err error) {
	rec, ok := f.committed()
	if rec.of(v) {
		f.prove(rec, v)
		return v, nil, false, rec, nil
	}
	if !ok || v.base.Revision > rec.Revision {
		_, found := f.judge(v, rec)
		return v, nil, false, rec, f.refuseForgeries(v, found)
	}
	if v.base.Revision == rec.Revision {
		previous, found := f.judge(v, rec)
		if err := cutOff(f.o.Path, v, previous); err != nil {
			return nil, nil, false, rec, err
		}
		return v, previous, true, rec, f.refuseForgeries(v, found)
	}
	if err := noBoard(f.o.Path, v, f.written(rec)); err != nil {
		return nil, nil, false, rec, err
	}
	m := f.mergeOld(v, rec)
	if m.err == nil {
		if err := cutOff(f.o.Path, m.result, m.theirs); err != nil {
			return nil, nil, false, rec, err
		}
		if err := f.refuseForgeries(m.result, f.forgeries(m.result, m.theirs, rec, true)); err != nil {
			return nil, nil, false, rec, err
		}
		f.o.Alert(blackboard.AlertStateWentBack, fmt.Sprintf("an edit of revision %d was put over revision %d; both were merged", v.base.Revision, rec.Revision))
		return m.result, m.theirs, true, rec, nil
	}
	f.o.Alert(blackboard.AlertStateWentBack, m.err.Error())
	return nil, nil, false, rec, m.err
}

// handEdit is the journal entry of a person's edit that a write takes in (B04).
func (f *File) handEdit(now *blackboard.State, previous *version) blackboard.Entry {
	e := blackboard.Entry{Action: blackboard.ActionEditedByHand, Detail: "state.yaml was edited by hand"}
	if previous != nil {
		e = editedByHand(compare(previous.doc, previous.base, now).names(), now)
	}
	e.Timestamp, e.Agent = blackboard.TimeOf(f.o.Now()), blackboard.Human
	f.o.Alert(blackboard.AlertHandEdit, e.Detail)
	return e
}

// putBack alerts about refused edits of statuses, and returns their journal entries. The person's text is kept.
func (f *File) putBack(v *version, refused []blackboard.Violation) ([]blackboard.Entry, error) {
	if len(refused) == 0 {
		return nil, nil
	}
	kept, err := f.keepConflict("person", v.doc.Bytes())
	if err != nil {
		return nil, err
	}
	var entries []blackboard.Entry
	for _, r := range refused {
		f.o.Alert(blackboard.AlertHandEdit, r.Text()+"; the edit is kept in "+kept)
		entries = append(entries, blackboard.Entry{Timestamp: blackboard.TimeOf(f.o.Now()), Agent: blackboard.System, Action: blackboard.ActionEditRefused, Task: r.Subjects[0], Detail: r.Text()})
	}
	return entries, nil
}

// taken returns the state after a person's edit since previous was applied as events, and the refused parts of the edit.
func (r *rules) taken(v, previous *version) (*blackboard.State, []blackboard.Violation) {
	s := v.base.Fork()
	if previous == nil {
		return s, nil
	}
	return s, transition.TakeHandEdits(s, previous.base, r.o.Now())
}

// editedByHand returns the journal entry for an edit of the named parts.
func editedByHand(names []string, now *blackboard.State) blackboard.Entry {
	e := blackboard.Entry{Action: blackboard.ActionEditedByHand, Detail: "state.yaml was edited by hand"}
	switch {
	case len(names) == 0:
		e.Detail += ": comments or layout only"
	case len(names) == 1 && now.Task(names[0]) != nil:
		e.Task = names[0]
		fallthrough
	default:
		e.Detail += ": " + prose.Few(names, mostNamed)
	}
	return e
}

// names returns the touched parts in alphabetical order.
func (c *changes) names() []string {
	names := make([]string, 0, len(c.touched))
	for name := range c.touched {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A ConflictError is returned when an edit and other writes changed the same values. Nothing was written.
type ConflictError struct {
	Path      string
	Conflicts []yamldoc.Conflict // at least one
}

func (e *ConflictError) Error() string {
	text := fmt.Sprintf("cannot write %s: others changed it meanwhile, in the same places", short(e.Path))
	for _, c := range e.Conflicts {
		text += ";\n" + conflictText(c)
	}
	return text
}

// Next returns the next command for a person.
func (e *ConflictError) Next() string { return "liza edit" }

// Edit merges a person's edit of base, a result of Text, to text into the present state. It returns an *InvalidError with
// lines of text for an edit that breaks a rule, and a *ConflictError if others changed the same value differently since.
func (f *File) Edit(ctx context.Context, op Op, base, text []byte) (done Edited, err error) {
	if string(base) == string(text) {
		return Edited{}, nil
	}
	err = f.underLock(ctx, op, func() error {
		done, err = f.edit(op, base, text)
		return err
	})
	return done, err
}

// Text returns the content of the file.
func (f *File) Text(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := f.read()
	if err != nil {
		return nil, err
	}
	return v.doc.Bytes(), nil
}

func (f *File) edit(op Op, base, text []byte) (Edited, error) {
	read, err := f.read()
	if err != nil {
		return Edited{}, err
	}
	before, previous, _, rec, err := f.compareCommitted(read)
	if isForgery(err) { // which the edit may take back
		before, previous, err = read, f.written(rec), nil
	}
	if err != nil {
		return Edited{}, err
	}
	if previous == nil {
		previous = before
	}
	next, done, entries, err := f.edited(op, before, previous, rec, base, text, false)
	if next == nil || err != nil {
		return done, err
	}
	if err := f.repair(before.base.Revision); err != nil {
		return done, err
	}
	return done, f.commit(op, before, next, rec, entries)
}

// edited returns the next version after a person's edit of base to text, or nil if nothing changed. previous is the version
// that Liza wrote last. An edit of a status that matches no verb fails the whole edit; with inFile, for a person who saved
// over the board's file, only that status is restored.
func (r *rules) edited(op Op, before, previous *version, rec record, base, text []byte, inFile bool) (*version, Edited, []blackboard.Entry, error) {
	mine := &version{}
	if err := mine.parse(text, newReader()); err != nil {
		return nil, Edited{}, nil, r.unreadable(err)
	}
	next, done, err := r.mergeEdit(before, base, mine)
	if err != nil {
		return nil, done, nil, err
	}
	if next.base.Version != before.base.Version {
		return nil, done, nil, &VersionError{Path: r.o.Path, Version: string(next.base.Version)}
	}
	if done.Names = difference(before, next); len(done.Names) == 0 && before.doc.Is(next.doc.Bytes()) {
		return nil, Edited{}, nil, nil
	}
	if forged := r.forgeries(next, previous, rec, true); len(forged) > 0 {
		return nil, done, nil, &InvalidError{Path: r.o.Path, Violations: forged}
	}
	after, refused := r.taken(next, previous)
	if len(refused) > 0 && !inFile {
		return nil, done, nil, &InvalidError{Path: r.o.Path, Violations: locate(mine.doc, refused)}
	}
	done.Refused = refused
	if refused := r.brokenBy(before, &version{doc: next.doc, base: after}, mine); len(refused) > 0 {
		return nil, done, nil, &InvalidError{Path: r.o.Path, Violations: refused}
	}
	edit := next.doc.Edit()
	edit.Patch("revision", next.base.Revision, before.base.Revision)
	doc, err := edit.Apply()
	if err == nil {
		doc, err = compare(doc, next.base, after).apply(doc, before.base.Revision)
	}
	if err != nil {
		return nil, done, nil, err
	}
	verbs := after.Entries()
	for _, x := range refused {
		verbs = append(verbs, blackboard.Entry{Agent: blackboard.System, Action: blackboard.ActionEditRefused, Task: x.Subjects[0], Detail: x.Text()})
	}
	next = &version{doc: doc, base: state(doc, nil)}
	done.Revision = next.base.Revision
	return next, done, r.complete(op, append([]blackboard.Entry{editedByHand(done.Names, next.base)}, verbs...)), nil
}

// mergeEdit returns the next version, from before and a person's edit of base to mine.
func (r *rules) mergeEdit(before *version, base []byte, mine *version) (*version, Edited, error) {
	if before.doc.Is(base) {
		return mine, Edited{}, nil
	}
	from := &version{}
	if err := from.parse(base, newReader()); err != nil {
		return nil, Edited{}, fmt.Errorf("cannot read the state that was edited: %w", err)
	}
	m, err := yamldoc.Merge3(from.doc, mine.doc, before.doc, revisionIsTheirs)
	if err != nil {
		return nil, Edited{}, err
	}
	if len(m.Conflicts) > 0 {
		return nil, Edited{}, &ConflictError{Path: r.o.Path, Conflicts: m.Conflicts}
	}
	next := &version{}
	if err := next.parse(m.Data, newReader()); err != nil {
		return nil, Edited{}, errors.New("cannot merge the edit with what others wrote meanwhile")
	}
	return next, Edited{Notes: m.Notes}, nil
}

// brokenBy are the violations that next has and before does not, with the lines of the
// text that the person sees.
func (r *rules) brokenBy(before, next, seen *version) []blackboard.Violation {
	key := func(v blackboard.Violation) string { return v.Rule + " " + v.Path + " " + v.Message }
	old := map[string]bool{}
	for _, v := range r.violations(before, nil) {
		old[key(v)] = true
	}
	refused := slices.DeleteFunc(r.violations(next, before), func(v blackboard.Violation) bool { return old[key(v)] })
	for i := range refused {
		refused[i].Line, refused[i].Column = 0, 0
	}
	return locate(seen.doc, refused)
}

// violations are the errors of a version that concern writers.
func (r *rules) violations(v, previous *version) []blackboard.Violation {
	all := decoding(v.doc, false)
	if r.o.Validate != nil {
		all = append(all, r.o.Validate(v.base, previous.state())...)
	}
	return slices.DeleteFunc(all, func(v blackboard.Violation) bool {
		return v.Severity != blackboard.SeverityError || !v.OnWrite
	})
}

// difference returns the names of the parts that differ between two versions.
func difference(before, after *version) []string {
	names := compare(before.doc, before.base, after.base).names()
	return slices.DeleteFunc(names, func(name string) bool { return name == "revision" })
}

// mergeOld merges the file with the state that Liza wrote last, from the revision that
// the person started with. Both sides are kept when it fails.
func (f *File) mergeOld(v *version, rec record) *merged {
	f.mu.Lock()
	known := f.merged
	f.mu.Unlock()
	if known != nil && known.rec == rec && known.of.doc == v.doc {
		if known.result != nil && known.of != v { // the same content in another file
			again := *known
			again.of, again.result = v, known.result.in(v)
			return &again
		}
		return known
	}
	m := &merged{of: v, rec: rec, theirs: f.written(rec)}
	m.err = &WentBackError{Path: f.o.Path, Revision: v.base.Revision, Committed: rec.Revision}
	if m.theirs != nil {
		m.result, m.err.Conflicts = f.threeWay(v, m.theirs)
	}
	// A path that is missing tells of a copy that could not be written; without a result nothing is written over either.
	m.err.Person, _ = f.keepConflict("person", v.doc.Bytes())
	if m.theirs != nil {
		m.err.Liza, _ = f.keepConflict("liza", m.theirs.doc.Bytes())
	}
	if m.result != nil && m.err.Person != "" {
		m.err = nil
	}
	f.mu.Lock()
	f.merged = m
	f.mu.Unlock()
	return m
}

// in is the version as the content of another one's file.
func (v *version) in(file *version) *version {
	return &version{doc: v.doc, base: v.base, stamp: file.stamp, mode: file.mode, made: true}
}

// threeWay applies the changes of mine to theirs. Of several states with the revision of mine it uses the first as base that
// leads to no conflict.
func (f *File) threeWay(mine, theirs *version) (result *version, conflicts []yamldoc.Conflict) {
	all, _ := f.kept.contents(mine.base.Revision)
	for _, data := range all {
		base := &version{}
		if base.parse(data, newReader()) != nil {
			continue
		}
		m, err := yamldoc.Merge3(base.doc, mine.doc, theirs.doc, revisionIsTheirs)
		if err != nil {
			continue
		}
		if len(m.Conflicts) > 0 {
			conflicts = m.Conflicts
			continue
		}
		v := &version{}
		if v.parse(m.Data, newReader()) == nil {
			for _, n := range m.Notes {
				f.o.Alert(blackboard.AlertHandEdit, fmt.Sprintf("a merge lost a comment or an order in line %d of the edit: %s", n.Line, n.Text))
			}
			return v.in(mine), nil
		}
	}
	return nil, conflicts
}

var revisionIsTheirs = yamldoc.MergeOptions{Theirs: []string{"revision"}}

// of reports whether v is the version that Liza wrote last. A trustworthy stamp spares the comparison of all bytes.
func (r record) of(v *version) bool {
	if r.SHA256 == "" {
		return false
	}
	if v.still && v.stamp == r.Stamp && r.Stamp.Mtime != r.Stamp.Ctime {
		return true
	}
	return r.SHA256 == hexSum(v.sum())
}

func hexSum(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

// committed reads the record; a missing or broken one, and one that the project's key did not
// sign, is not a record but for the name of its key.
func (f *File) committed() (record, bool) {
	r, ok := f.record()
	k, state, _ := f.keyOf(r, nil)
	if !ok || state != ours {
		return r, ok
	}
	f.mu.Lock()
	fits := f.fitting == r // every look at the board asks
	f.mu.Unlock()
	if !fits && (r.Key != k.ID || !k.Fits(r.MAC, r.signed()...)) {
		return record{Key: r.Key}, false
	}
	f.mu.Lock()
	f.fitting = r
	f.mu.Unlock()
	return r, true
}

// record reads the record as it stands in the file.
func (f *File) record() (record, bool) {
	f.mu.Lock()
	known := f.recorded
	f.mu.Unlock()
	stamp, err := safefile.StampOf(f.committedPath())
	settled := err == nil && stamp.Settled(time.Now())
	if settled && known.stamp == stamp {
		return known.record, true
	}
	var r record
	data, err := safefile.Read(f.committedPath())
	if err != nil || json.Unmarshal(data, &r) != nil || r.SHA256 == "" {
		return record{}, false
	}
	if settled { // later bytes than these have another stamp
		f.mu.Lock()
		f.recorded.stamp, f.recorded.record = stamp, r
		f.mu.Unlock()
	}
	return r, true
}

// note signs a record and writes it.
func (f *File) note(rec record) {
	if k, state, _ := f.keyOf(rec, nil); state == ours {
		rec.Key = k.ID
		rec.MAC = k.Sign(rec.signed()...)
	}
	data, _ := json.Marshal(rec)
	if safefile.MakeFolder(f.kept.dir, 0o755) == nil {
		_ = safefile.Replace(f.committedPath(), append(data, '\n'), 0o644)
	}
}

// put replaces a file. After a power loss there is the old content or the new one, never a part.
func put(path string, data []byte) error {
	temp := fmt.Sprintf("%s.tmp-%d", path, os.Getpid())
	err := os.WriteFile(temp, data, 0o644)
	if err == nil {
		err = safefile.Sync(temp)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

func sumOf(data []byte) string { return hexSum(sha256.Sum256(data)) }

// prove remembers a version that a record of a write is of. Readers are some writes behind, and prove older ones again.
func (f *File) prove(rec record, v *version) {
	f.mu.Lock()
	if !slices.ContainsFunc(f.proven[:], func(k known) bool { return k.sha256 == rec.SHA256 }) {
		copy(f.proven[1:], f.proven[:])
		f.proven[0] = known{rec.SHA256, v}
	}
	f.mu.Unlock()
}

// wrote reports whether a version is one of those that this process wrote last.
func (f *File) wrote(v *version) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.coming != nil && f.coming.doc == v.doc || slices.ContainsFunc(f.proven[:], func(k known) bool { return k.version != nil && k.version.doc == v.doc })
}

// keepConflict stores one side of a conflict, once, and returns its path. A side that cannot be stored must not be
// overwritten.
func (f *File) keepConflict(side string, data []byte) (string, error) {
	old, _ := filepath.Glob(filepath.Join(f.lizaDir(), "conflict-*-"+side+".yaml"))
	for _, path := range old {
		if kept, err := safefile.Read(path); err == nil && string(kept) == string(data) {
			return path, nil
		}
	}
	path := filepath.Join(f.lizaDir(), fmt.Sprintf("conflict-%s-%s.yaml", f.o.Now().UTC().Format(stampFormat), side))
	for n := 2; slices.Contains(old, path); n++ {
		path = filepath.Join(f.lizaDir(), fmt.Sprintf("conflict-%s-%d-%s.yaml", f.o.Now().UTC().Format(stampFormat), n, side))
	}
	err := safefile.MakeFolder(f.lizaDir(), 0o755)
	if err == nil {
		err = put(path, data)
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the present content of %s: %w", short(f.o.Path), err)
	}
	return path, nil
}

// settle records the write (W10). The state is on disk already, so the record may fail or be an older one after a loss of power:
// the next writer accepts a state with a higher revision than the record's.
func (f *File) settle(v *version, chain chainEnd, key string, journal history.Link) {
	f.keep(v)
	rec := record{Revision: v.base.Revision, SHA256: hexSum(v.sum()), At: blackboard.TimeOf(f.o.Now()), Stamp: v.stamp, Chain: chain, Key: key, Journal: journal}
	f.prove(rec, v)
	synced := make(chan struct{})
	go func() { // the file system makes both durable at once
		defer close(synced)
		_ = f.kept.sync(chain)
	}()
	f.note(rec)
	<-synced
}

// written returns the version that Liza wrote last, or nil if no snapshot has it.
func (f *File) written(rec record) *version {
	f.mu.Lock()
	proven := f.proven
	f.mu.Unlock()
	for _, k := range proven {
		if k.version != nil && k.sha256 == rec.SHA256 {
			return k.version
		}
	}
	all, _ := f.kept.contents(rec.Revision)
	for _, data := range all {
		v := &version{}
		if sumOf(data) == rec.SHA256 && v.parse(data, newReader()) == nil {
			f.prove(rec, v)
			return v
		}
	}
	return nil
}
