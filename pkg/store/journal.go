package store

import (
	"context"
	"fmt"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/history"
)

// The journal's entries are chained (history.Link), and the record of the last write names the
// last one. Each write goes on from what the record names, whatever is in the file: a line
// that somebody put in, changed or cut never becomes part of the chain, and stops no write.

// journalEnd is the entry that the next one follows. When the record cannot prove all that
// is in the journal, told says so.
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

// JournalProblems are the entries that do not fit a board of this revision.
func (f *File) JournalProblems(ctx context.Context, revision int) ([]history.Problem, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.journal.Check(revision)
}

// JournalBroken is the first place where the journal is not what Liza wrote, nil when it is.
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

// complete fills in what a change may leave out of its journal entries.
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
