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
	var found []blackboard.Violation
	report := func(rule, path, subject, format string, args ...any) {
		found = append(found, blackboard.Violation{Rule: rule, Severity: blackboard.SeverityError, OnWrite: true, Path: path, Subjects: []string{subject}, Message: fmt.Sprintf(format, args...)})
	}
	had := missing(previous.doc)
	for _, key := range missing(v.doc) {
		if !slices.Contains(had, key) {
			report("V03", key, key, "missing section '%s'; it was there in revision %d", key, previous.base.Revision)
		}
	}
	there := map[string]bool{}
	for t := range v.base.Tasks() {
		there[t.ID] = true
	}
	for t := range previous.base.Tasks() {
		if t.ID != "" && !there[t.ID] {
			report("V05", "tasks", t.ID, "task %s is gone; it was there in revision %d; liza abandon and liza archive take tasks away", t.ID, previous.base.Revision)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &InvalidError{Path: f.o.Path, Violations: found, Err: ErrCut}
}
