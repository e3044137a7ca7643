package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

const (
	// maxJournal is from how many bytes on what is older than the sprint leaves the journal
	// (specs/protocol.md#3.1).
	maxJournal = 20 << 20
	// lookEvery is how often a journal that is too large is searched for such entries: each
	// time that it has grown by so much.
	lookEvery  = 1 << 20
	nextSprint = blackboard.ActionSprintStarted
)

// Rotate moves the entries from before the current sprint to archive/log-<first
// rev>-<last rev>.yaml beside the journal, when the journal is larger than maxJournal.
// appended is what was written to it last: a large journal of one long sprint is not
// searched at each write. The caller holds the lock of the state.
//
// The archive's file is durable before the entries leave the journal. A crash between
// leaves them in both; Read takes them once, and the next Rotate rewrites the file.
func (j Journal) Rotate(appended []blackboard.Entry) error { return j.rotate(appended, maxJournal) }

func (j Journal) rotate(appended []blackboard.Entry, limit int64) error {
	if info, err := os.Stat(j.Path); err != nil || info.Size() <= limit || !worthALook(appended, info.Size()) {
		return nil // whether it can be read is a question for Append
	}
	text, err := j.text()
	if err != nil {
		return err
	}
	old, rest := beforeSprint(text)
	first, last := span(old)
	if last == 0 {
		return nil
	}
	if err := safefile.MakeFolder(j.archive(), 0o755); err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	info, err := os.Stat(j.Path)
	if err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	if err := safefile.Replace(filepath.Join(j.archive(), fmt.Sprintf("log-%d-%d.yaml", first, last)), []byte(old), info.Mode()); err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	if err := safefile.Replace(j.Path, []byte(rest), info.Mode()); err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	return nil
}

// worthALook reports whether the journal came past a multiple of lookEvery, or a sprint
// began. An entry is a few hundred bytes; a rough length does.
func worthALook(appended []blackboard.Entry, size int64) bool {
	grown := int64(0)
	for _, e := range appended {
		if e.Action == nextSprint {
			return true
		}
		grown += int64(200 + len(e.Detail))
	}
	return size/lookEvery != (size-grown)/lookEvery
}

// beforeSprint cuts a journal before the entry that began the current sprint. old is empty
// when there was no sprint before.
func beforeSprint(text string) (old, rest string) {
	const sign = "action: " + string(nextSprint)
	for end := len(text); ; {
		at := strings.LastIndex(text[:end], sign)
		if at < 0 {
			return "", text
		}
		from := strings.LastIndexByte(text[:at], '\n') + 1
		row, _, _ := strings.Cut(text[from:], "\n")
		if e, err := (chunk{text: row}).entry(); err == nil && e.Action == nextSprint { // it may be a word in a detail
			return text[:from], text[from:]
		}
		end = from
	}
}
