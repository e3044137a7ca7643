package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// Append writes the entries with revision rev at the end of the journal, in one write
// call, and flushes it to disk. They are chained to the entry that after names, or to the last
// one there is when that is "". It returns the link of the last entry. After an error the
// journal is as it was.
func (j Journal) Append(rev int, after Link, entries []blackboard.Entry) (Link, error) {
	var err error
	if after == "" {
		if after, err = j.End(); err != nil {
			return "", err
		}
	}
	if len(entries) == 0 {
		return after, nil
	}
	lines, last, err := j.Lines(rev, after, entries)
	if err != nil {
		return "", err
	}
	if err := safefile.Append(j.Path, lines); err != nil {
		return "", fmt.Errorf("cannot write the journal: %w", err)
	}
	return last, nil
}

// Lines are entries as they stand in the journal, each with its line end, and the link of the last one.
func (j Journal) Lines(rev int, after Link, entries []blackboard.Entry) ([]byte, Link, error) {
	var b bytes.Buffer
	for _, e := range entries {
		e.Rev = rev
		from := b.Len()
		if err := j.line(&b, e, after); err != nil {
			return nil, "", fmt.Errorf("cannot write the journal entry %s: %w", e.Action, err)
		}
		after = linkOf(after.number()+1, string(b.Bytes()[from:]))
	}
	return b.Bytes(), after, nil
}

// line writes an entry as one line, a map in flow style.
func (j Journal) line(b *bytes.Buffer, e blackboard.Entry, prev Link) error {
	task := "null"
	if e.Task != "" {
		task = word(e.Task)
	}
	detail := j.mask(oneLine(j.mask(e.Detail))) // before it is cut, and what a line break was in
	fmt.Fprintf(b, "- {timestamp: %s, rev: %d, agent: %s, action: %s, task: %s, detail: %s",
		word(string(e.Timestamp)), e.Rev, word(e.Agent), word(string(e.Action)), task, quote(detail))
	for _, key := range slices.Sorted(maps.Keys(e.Extra)) {
		if key == "prev" {
			continue
		}
		var value bytes.Buffer
		enc := json.NewEncoder(&value)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e.Extra[key]); err != nil {
			return err
		}
		fmt.Fprintf(b, ", %s: %s", word(key), j.mask(strings.TrimSuffix(value.String(), "\n")))
	}
	fmt.Fprintf(b, ", prev: %q}\n", prev)
	return nil
}
