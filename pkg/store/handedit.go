package store

import (
	"fmt"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/transition"
)

// compareCommitted looks whether a person changed the file since Liza wrote it (W2; B04,
// B06). now is the state to go on from: the file's, or what became of an old copy and the
// newer state. previous is what Liza wrote, if a person changed it and it is known.
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
		if err := f.cutOff(v, previous); err != nil {
			return nil, nil, false, rec, err
		}
		return v, previous, true, rec, f.refuseForgeries(v, found)
	}
	if err := f.noBoard(v, f.written(rec)); err != nil {
		return nil, nil, false, rec, err
	}
	m := f.mergeOld(v, rec)
	if m.err == nil {
		if err := f.cutOff(m.result, m.theirs); err != nil {
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

// putBack tells of edits of statuses that were refused. What the person wrote is kept.
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
		f.o.Alert(blackboard.AlertHandEdit, r.Message+"; the edit is kept in "+kept)
		entries = append(entries, blackboard.Entry{Timestamp: blackboard.TimeOf(f.o.Now()), Agent: blackboard.System, Action: blackboard.ActionEditRefused, Task: r.Subjects[0], Detail: r.Message})
	}
	return entries, nil
}

// taken is a state with the meaning of a person's edit since previous, and what was refused of it.
func (r *rules) taken(v, previous *version) (*blackboard.State, []blackboard.Violation) {
	s := v.base.Fork()
	if previous == nil {
		return s, nil
	}
	return s, transition.TakeHandEdits(s, previous.base, r.o.Now())
}

// editedByHand is the journal entry for an edit of what is named.
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

// names are what was touched, in alphabetical order.
func (c *changes) names() []string {
	names := make([]string, 0, len(c.touched))
	for name := range c.touched {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
