package store

import (
	"context"
	"slices"

	"liza/pkg/blackboard"
)

// View returns a copy of the state as it is now. It takes no lock. An unreadable file is
// an *InvalidError; LastValid then has a state to look at. When somebody put an old copy
// over a newer state, it is what the next write will make of both, or else the newer one. An
// edit that forges an approval does not count: the state is then the one before it.
func (f *File) View(ctx context.Context) (*blackboard.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, rec, err := f.readBoth()
	if err != nil {
		return nil, err
	}
	if rec.Revision > v.base.Revision {
		if err := f.noBoard(v, f.written(rec)); err != nil {
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
		if err := f.cutOff(v, previous); err != nil {
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
	s.ClearEntries()
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
			if err := f.cutOff(v, f.written(rec)); err != nil {
				return nil, err
			}
		} else if err := f.noBoard(v, f.written(rec)); err != nil && rec.Revision > v.base.Revision {
			return nil, err
		}
		i.Previous = f.written(rec).state().Clone()
	}
	seals := f.inspectSeals(v, rec)
	i.Decode = append(i.Decode, seals...)
	forged := slices.ContainsFunc(seals, func(v blackboard.Violation) bool { return v.Severity == blackboard.SeverityError })
	if i.Previous != nil && rec.Revision == v.base.Revision && !forged {
		s, refused := f.taken(v, f.written(rec))
		s.ClearEntries()
		i.State, i.Decode = s.Clone(), append(i.Decode, locate(v.doc, refused)...)
	}
	return i, nil
}

// readBoth reads the file and the record of the last write, without the lock. A record
// that is newer than the file because somebody wrote between the two is read again.
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

// Line is the place of a violation's path in the file, 0 if it is not known.
func (i *Inspection) Line(path string) (line, column int) { return i.doc.Line(path) }

// Locate fills in the lines and columns of violations.
func (i *Inspection) Locate(violations []blackboard.Violation) []blackboard.Violation {
	return locate(i.doc, violations)
}
