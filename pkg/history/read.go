package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// Filter says which entries of a journal are wanted. The zero Filter wants all.
type Filter struct {
	Task, Agent string
	Action      blackboard.Action
	Since       time.Time
	AfterRev    int // entries of later revisions only
	Last        int // so many, the newest
}

func (f Filter) wants(e blackboard.Entry) bool {
	if f.Task != "" && e.Task != f.Task || f.Agent != "" && e.Agent != f.Agent || f.Action != "" && e.Action != f.Action {
		return false
	}
	if f.AfterRev > 0 && e.Rev <= f.AfterRev {
		return false
	}
	if !f.Since.IsZero() {
		at, ok := e.Timestamp.At()
		return ok && !at.Before(f.Since)
	}
	return true
}

// mayWant is a quick look at the text of an entry before it is parsed.
func (f Filter) mayWant(text string) bool {
	return strings.Contains(text, f.Task) && strings.Contains(text, f.Agent) && strings.Contains(text, string(f.Action))
}

// Read returns the entries that f wants, in the order of the file: those that Liza wrote
// and those that people or Liza v1 wrote in block style. What does not parse, such as the
// end of an entry that is just being written, is left out; Check tells of it. What was
// rotated into the archive comes first.
func (j Journal) Read(f Filter) ([]blackboard.Entry, error) {
	text, err := j.text()
	if err != nil {
		return nil, err
	}
	found, err := readText(text, f)
	if err != nil || f.Last > 0 && len(found) == f.Last {
		return found, err
	}
	files, err := j.rotatedFiles(text)
	if err != nil {
		return nil, err
	}
	for _, older := range slices.Backward(files) {
		if older.last <= f.AfterRev || f.Last > 0 && len(found) == f.Last {
			break
		}
		rest := f
		rest.Last = max(f.Last-len(found), 0)
		text, err := older.text()
		if err != nil {
			return nil, err
		}
		before, err := readText(text, rest)
		if err != nil {
			return nil, err
		}
		found = append(before, found...)
	}
	return found, nil
}

func readText(text string, f Filter) ([]blackboard.Entry, error) {
	head, all := chunks(text)
	if len(all) == 0 {
		return readWhole(head, f)
	}
	var found []blackboard.Entry
	for i := len(all) - 1; i >= 0 && (f.Last == 0 || len(found) < f.Last); i-- {
		if !f.mayWant(all[i].text) || !complete(all, i) {
			continue
		}
		if e, err := all[i].entry(); err == nil && f.wants(e) {
			found = append(found, e)
		}
	}
	slices.Reverse(found)
	return found, nil
}

// complete reports whether chunk i is more than the beginning of what Append is writing.
func complete(all []chunk, i int) bool {
	return i < len(all)-1 || strings.HasSuffix(all[i].text, "\n") || !ours(all[i].text)
}

// readWhole reads a journal that is not in the form in which Liza keeps it.
func readWhole(text string, f Filter) ([]blackboard.Entry, error) {
	var all []*blackboard.Entry
	if err := parse(text, &all); err != nil && len(all) == 0 {
		return nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	var found []blackboard.Entry
	for _, e := range all {
		if e != nil && f.wants(*e) {
			found = append(found, *e)
		}
	}
	if f.Last > 0 && len(found) > f.Last {
		found = found[len(found)-f.Last:]
	}
	return found, nil
}

// A Problem is something in the journal that should not be there (rule V57).
type Problem struct {
	Line    int // from 1
	Message string
	Fixable bool // Repair does it
}

// Check looks for entries that do not parse and for revisions that the state does not
// have. The last entry may be one that is being written just now, so a broken end and
// entries of the next revision are no more than a problem that the next write repairs.
func (j Journal) Check(revision int) ([]Problem, error) {
	text, err := j.text()
	if err != nil {
		return nil, err
	}
	head, all := chunks(text)
	var problems []Problem
	if len(all) == 0 {
		if _, err := readWhole(head, Filter{}); err != nil {
			problems = append(problems, Problem{Line: 1, Message: "log.yaml: " + err.Error()})
		}
	}
	for i, c := range all {
		e, err := c.entry()
		switch {
		case err != nil:
			reason, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
			problems = append(problems, Problem{Line: c.line, Fixable: i == len(all)-1, Message: "an entry does not parse: " + reason})
		case e.Rev > revision:
			problems = append(problems, Problem{Line: c.line, Fixable: e.Rev == revision+1, Message: fmt.Sprintf("rev %d > revision %d", e.Rev, revision)})
		}
	}
	return problems, nil
}
