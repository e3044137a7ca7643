package store

import (
	"errors"
	"fmt"
	"slices"

	"liza/pkg/blackboard"
)

// ErrCut is why a file is not taken that lacks what Liza wrote last: an editor or a full disk cut it, or somebody deleted
// what only a verb may take away.
var ErrCut = errors.New("the file lacks what was written last")

// cutOff is the error of a version that lacks sections or tasks of the one that Liza wrote last, nil when it is whole. It
// is treated like text that does not parse: nothing is written until it is mended or an older state is restored.
func (f *File) cutOff(v, previous *version) error {
	if previous == nil || v.doc == previous.doc {
		return nil
	}
	found := lacking(v, previous)
	there := map[string]bool{}
	for t := range v.base.Tasks() {
		there[t.ID] = true
	}
	for t := range previous.base.Tasks() {
		if t.ID != "" && !there[t.ID] {
			found = append(found, isCut("V05", "tasks", t.ID, "task %s is gone; it was there in revision %d; liza abandon and liza archive take tasks away", t.ID, previous.base.Revision))
		}
	}
	return f.cutError(found)
}

// noBoard is the error of a version of an earlier revision that lacks whole sections: a copy of an old board has all of
// them, so it is another file, or a stump, that was put in its place.
func (f *File) noBoard(v, previous *version) error {
	if previous == nil {
		return nil
	}
	return f.cutError(lacking(v, previous))
}

func (f *File) cutError(found []blackboard.Violation) error {
	if len(found) == 0 {
		return nil
	}
	return &InvalidError{Path: f.o.Path, Violations: found, Err: ErrCut}
}

// lacking are the sections of the previous version that v does not have.
func lacking(v, previous *version) (found []blackboard.Violation) {
	had := missing(previous.doc)
	for _, key := range missing(v.doc) {
		if !slices.Contains(had, key) {
			found = append(found, isCut("V03", key, key, "missing section '%s'; it was there in revision %d", key, previous.base.Revision))
		}
	}
	return found
}

func isCut(rule, path, subject, format string, args ...any) blackboard.Violation {
	return blackboard.Violation{Rule: rule, Severity: blackboard.SeverityError, OnWrite: true, Path: path, Subjects: []string{subject}, Message: fmt.Sprintf(format, args...)}
}
