package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// A ConflictError says that an edit and other writes changed the same values. Nothing was
// written.
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

// Next is the command that helps.
func (e *ConflictError) Next() string { return "liza edit" }

// Edit writes what a person made of a state: text is the edit of base, which was read as
// Text. What was written since stays. An edit that breaks a rule, anywhere, is an
// *InvalidError with the lines of text; changes of the same values are a *ConflictError.
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

// Text is the state as it stands in the file.
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

// edited makes the next version of what is there and a person's edit; nil when nothing was changed. previous is what Liza
// wrote last. An edit of a status that no verb means is refused with all the rest; inFile, as when a person saved over the
// board's file, it is put back.
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
	edit.PatchBehind("version", "revision", next.base.Revision, before.base.Revision)
	doc, err := edit.Apply()
	if err == nil {
		doc, err = compare(doc, next.base, after).apply(doc, before.base.Revision)
	}
	if err != nil {
		return nil, done, nil, err
	}
	verbs := after.Entries()
	for _, x := range refused {
		verbs = append(verbs, blackboard.Entry{Agent: blackboard.System, Action: blackboard.ActionEditRefused, Task: x.Subjects[0], Detail: x.Message})
	}
	next = &version{doc: doc, base: state(doc, nil)}
	done.Revision = next.base.Revision
	return next, done, r.complete(op, append([]blackboard.Entry{editedByHand(done.Names, next.base)}, verbs...)), nil
}

// mergeEdit makes the next version of what is there and what a person made of base.
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
		all = append(all, r.o.Validate(v.base, previous.state(), nil)...)
	}
	return slices.DeleteFunc(all, func(v blackboard.Violation) bool {
		return v.Severity != blackboard.SeverityError || !v.OnWrite
	})
}

// difference names what differs between two versions.
func difference(before, after *version) []string {
	names := compare(before.doc, before.base, after.base).names()
	return slices.DeleteFunc(names, func(name string) bool { return name == "revision" })
}
