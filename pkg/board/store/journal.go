package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// The journal's entries are chained (history.Link), and the record of the last write names the
// last one. Each write goes on from what the record names, whatever is in the file: a line
// that somebody put in, changed or cut never becomes part of the chain, and stops no write.

// journalEnd returns the link that the next entry follows. If the record cannot prove all of the journal, told is the reason.
func (f *File) journalEnd(revision int, rec record) (end history.Link, told string, err error) {
	switch {
	case rec.Journal == "":
		end, err = f.journal.End()
		switch {
		case end == history.Begins:
		case rec.SHA256 != "": // from before
			told = "entries are chained from now on"
		default:
			told = "the record of the last write is missing or is not this project's; what is above is taken as it stands"
		}
	case rec.Scrubbed != "": // the process that masked secrets was killed before or after the journal was replaced
		if end, err = f.journal.End(); err == nil && end != rec.Scrubbed {
			end = rec.Journal
		}
	case rec.Revision < revision:
		end, err = f.journal.Follow(rec.Journal, rec.Revision)
		told = fmt.Sprintf("the record of the last write is of revision %d, the board of revision %d; entries of later revisions are taken as they stand", rec.Revision, revision)
	default:
		end = rec.Journal
	}
	return end, told, err
}

// append writes the entries of a change, and returns the link of the last one.
func (f *File) append(op Op, revision int, rec record, entries []blackboard.Entry) (history.Link, error) {
	end, told, err := f.journalEnd(revision, rec)
	if err != nil {
		return "", err
	}
	if _, state, _ := f.keyOf(rec, nil); told != "" && state == ours {
		if rec.Journal != "" || rec.SHA256 == "" {
			f.o.Alert(blackboard.AlertJournalBroken, told)
		}
		entries = append(f.complete(op, []blackboard.Entry{{Agent: blackboard.System, Action: blackboard.ActionJournalChained, Detail: told}}), entries...)
	}
	if op.Adopt && len(entries) > 0 {
		broken, err := f.journal.Broken(end, revision)
		if err != nil {
			return "", err
		}
		if broken != nil {
			accepts, last, err := f.journal.Accept()
			if err != nil {
				return "", err
			}
			first := &entries[0]
			first.Extra = map[string]any{"accepts": accepts}
			end = last
		}
	}
	return f.journal.Append(revision+1, end, entries)
}

// Journal reads the journal, with its rotated files.
func (f *File) Journal(ctx context.Context, filter history.Filter) ([]blackboard.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.journal.Read(filter)
}

// JournalProblems returns the entries that do not fit a board of the given revision.
func (f *File) JournalProblems(ctx context.Context, revision int) ([]history.Problem, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.journal.Check(revision)
}

// JournalBroken returns the first break of the journal's chain, or nil.
func (f *File) JournalBroken(ctx context.Context) (*history.Break, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rec, ok := f.committed()
	if !ok {
		return f.unproven(rec)
	}
	broken, err := f.journal.Broken(rec.Journal, rec.Revision)
	if broken != nil && rec.Scrubbed != "" {
		return f.journal.Broken(rec.Scrubbed, rec.Revision)
	}
	return broken, err
}

// unproven looks at a journal whose end is not known.
func (f *File) unproven(rec record) (*history.Break, error) {
	broken, err := f.journal.Broken("", 0)
	if err != nil || broken != nil {
		return broken, err
	}
	end, err := f.journal.End()
	if _, state, _ := f.keyOf(rec, nil); err != nil || state != ours || !end.Chained() {
		return nil, err
	}
	return &history.Break{File: "log.yaml", Unproven: true,
		Message: "the record of the last write is missing or is not this project's (a power loss, or somebody removed it): nobody can tell whether the last entries are there"}, nil
}

// scrubJournal masks secrets in the journal. The record names its new end first, so that a
// writer that is killed leaves a journal that fits.
func (f *File) scrubJournal(op Op, revision int) error {
	rec, ok := f.committed()
	end, _, err := f.journalEnd(revision, rec)
	if err != nil {
		return err
	}
	entry := f.complete(op, []blackboard.Entry{{Agent: blackboard.System, Action: blackboard.ActionScrubbed, Detail: "secrets were masked in the journal, which was chained again"}})
	done, err := f.journal.Scrub(revision, end, entry[0])
	if err != nil || done == nil {
		return err
	}
	if rec.Journal, rec.Scrubbed = end, done.End; ok {
		f.note(rec)
	}
	if err := done.Write(); err != nil {
		return err
	}
	if rec.Journal, rec.Scrubbed = done.End, ""; ok {
		f.note(rec)
	}
	return nil
}

// complete sets fields that a change may leave out of its journal entries.
func (r *rules) complete(op Op, entries []blackboard.Entry) []blackboard.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].Timestamp == "" {
			entries[i].Timestamp = blackboard.TimeOf(r.o.Now())
		}
		if entries[i].Agent == "" {
			entries[i].Agent = op.Agent
		}
	}
	return entries
}

// ErrCut is the reason why a file that lacks parts of Liza's last write is refused: an editor or a full disk cut it, or a
// person deleted something that only a verb may remove.
var ErrCut = errors.New("the file lacks what was written last")

// cutOff is the error of a version that lacks sections or tasks of the one that Liza wrote last, nil when it is whole. It
// is treated like text that does not parse: nothing is written until it is mended or an older state is restored.
func cutOff(path string, v, previous *version) error {
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
			found = append(found, isCut("V05", "tasks", t.ID, "task %s is gone; it was there in revision %d; liza abandon and liza gc take tasks away", t.ID, previous.base.Revision))
		}
	}
	return cutError(path, found)
}

// noBoard is the error of a version of an earlier revision that lacks whole sections: a copy of an old board has all of
// them, so it is another file, or a stump, that was put in its place.
func noBoard(path string, v, previous *version) error {
	if previous == nil {
		return nil
	}
	return cutError(path, lacking(v, previous))
}

func cutError(path string, found []blackboard.Violation) error {
	if len(found) == 0 {
		return nil
	}
	return &InvalidError{Path: path, Violations: found, Err: ErrCut}
}

// lacking are the sections of the previous version that v does not have, or of which the file that was cut has the key alone.
func lacking(v, previous *version) (found []blackboard.Violation) {
	had, gone := missing(previous.doc), missing(v.doc)
	now, was := v.base, previous.base
	alone := map[string]bool{"goal": now.Goal == nil && was.Goal != nil, "config": now.Config == nil && was.Config != nil, "sprint": now.Sprint == nil && was.Sprint != nil}
	for _, key := range required {
		if (alone[key] || slices.Contains(gone, key)) && !slices.Contains(had, key) {
			found = append(found, isCut("V03", key, key, "missing section '%s'; it was there in revision %d", key, previous.base.Revision))
		}
	}
	return found
}

func isCut(rule, path, subject, format string, args ...any) blackboard.Violation {
	return blackboard.Violation{Rule: rule, Severity: blackboard.SeverityError, OnWrite: true, Path: path, Subjects: []string{subject}, Message: fmt.Sprintf(format, args...)}
}

// runAhead calls op.Ahead, whose effects must be on disk before the change. doc is nil for a store without a file.
func (op Op) runAhead(doc *yamldoc.Document, before, after *blackboard.State) error {
	if op.Ahead == nil {
		return nil
	}
	if sameTasks(before.TaskList(), after.TaskList()) {
		return op.Ahead(nil)
	}
	stays := map[string]bool{}
	for t := range after.Tasks() {
		stays[t.ID] = true
	}
	var texts map[*blackboard.Task]string
	var gone []Gone
	for t := range before.Tasks() {
		if stays[t.ID] {
			continue
		}
		if texts == nil {
			texts = taskTexts(doc)
		}
		g := Gone{Task: t, Text: texts[t]}
		if g.Text == "" {
			text, err := taskText(doc, t)
			if err != nil {
				return fmt.Errorf("cannot write task %s down: %w", t.ID, err)
			}
			g.Text = text
		}
		gone = append(gone, g)
	}
	return op.Ahead(gone)
}

// sameTasks reports whether the same tasks are in the same places, perhaps with more behind.
func sameTasks(before, after []*blackboard.Task) bool {
	if len(after) < len(before) {
		return false
	}
	for i, b := range before {
		if a := after[i]; a != b && (a == nil || b == nil || a.ID != b.ID) {
			return false
		}
	}
	return true
}

// taskTexts are the lines of the tasks in a file that is in pieces.
func taskTexts(doc *yamldoc.Document) map[*blackboard.Task]string {
	texts := map[*blackboard.Task]string{}
	if doc == nil {
		return texts
	}
	entries, _ := doc.Entries("tasks")
	for _, e := range entries {
		if p := e.Value().(*piece); p.norm.IsValid() {
			texts[p.norm.Interface().(*blackboard.Task)] = e.Text()
		}
	}
	return texts
}

// taskText writes a task of a file that is not in pieces, with the keys that nobody knows.
func taskText(doc *yamldoc.Document, t *blackboard.Task) (string, error) {
	node := yamldoc.Encode(t)
	if doc != nil {
		if is, err := doc.Node("tasks[" + t.ID + "]"); err == nil {
			node = is
		}
	}
	node.Style &^= yaml.FlowStyle
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode([]*yaml.Node{node}); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "") + "\n", nil
}
