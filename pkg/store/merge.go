package store

import (
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

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

// threeWay puts what mine changed into theirs. Of several states with the revision of mine
// it takes the first that leads to no conflict.
func (f *File) threeWay(mine, theirs *version) (result *version, conflicts []yamldoc.Conflict) {
	all, _ := f.contents(mine.base.Revision)
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
				f.o.Alert(blackboard.AlertHandEdit, fmt.Sprintf("a merge could not keep what is in line %d of the edit (%s): %s", n.Line, n.Path, n.Text))
			}
			return v.in(mine), nil
		}
	}
	return nil, conflicts
}

var revisionIsTheirs = yamldoc.MergeOptions{Theirs: []string{"revision"}}
