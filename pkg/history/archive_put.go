package history

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// Item is a task that goes into the archive.
type Item struct {
	Task  *blackboard.Task
	Text  string        // its lines as they stand in state.yaml
	Plain func() string // its lines as Liza would write them, should those mislead
}

// Put writes tasks into the archive of a sprint and makes that durable. head are the
// sections above the tasks, each time again. A task that is there already is replaced. The
// caller holds the lock of the state.
func (a *Archive) Put(sprint, head string, items []Item) error {
	old, err := safefile.Read(a.path(sprint))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the archive of %s: %w", sprint, err)
	}
	body, indent, err := without(string(old), items)
	if err != nil {
		return fmt.Errorf("cannot add to the archive of %s: %w", sprint, err)
	}
	var b strings.Builder
	b.WriteString(head)
	if body == "" && len(items) == 0 {
		b.WriteString("tasks: []\n")
	} else {
		b.WriteString(tasksKey + body)
	}
	for _, item := range items {
		text, column, err := item.fit(indent)
		if err != nil {
			return err
		}
		indent = column
		b.WriteString(text)
	}
	if err := makeFolder(a.Dir); err != nil {
		return fmt.Errorf("cannot make the archive: %w", err)
	}
	if err := safefile.Sweep(a.path(sprint)); err != nil {
		return err
	}
	return safefile.Replace(a.path(sprint), []byte(b.String()), 0o644)
}

// without are the tasks of a file but those that will be rewritten, and the column in
// which they begin: -1 when there is none.
func without(text string, items []Item) (body string, indent int, err error) {
	if strings.TrimSpace(text) == "" || strings.HasSuffix(text, "\ntasks: []\n") {
		return "", -1, nil
	}
	tasks, ok := scanArchive(text)
	if !ok {
		if text, err = reformed(text); err != nil {
			return "", -1, err
		}
		if tasks, ok = scanArchive(text); !ok {
			return "", -1, errors.New("it does not have the form in which Liza writes it; move the file away")
		}
	}
	from := tasksLine(text) + len(tasksKey)
	var b strings.Builder
	for _, t := range tasks {
		if !slices.ContainsFunc(items, func(i Item) bool { return i.Task.ID == t.id }) {
			b.WriteString(text[max(from, t.from):t.to])
		}
	}
	body = b.String()
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return body, columnOf(body), nil
}

// reformed writes the tasks of a file that a person has edited in the form of Put.
func reformed(text string) (string, error) {
	var file struct{ Tasks []yaml.Node }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(tasksKey)
	for i := range file.Tasks {
		file.Tasks[i].Style &^= yaml.FlowStyle
		var item bytes.Buffer
		e := yaml.NewEncoder(&item)
		e.SetIndent(2)
		if err := e.Encode([]*yaml.Node{&file.Tasks[i]}); err != nil {
			return "", err
		}
		b.WriteString(shift(item.String(), 2))
	}
	return b.String(), nil
}

// columnOf is where the first item of a list begins.
func columnOf(text string) int {
	for line := range strings.Lines(text) {
		if body := strings.TrimLeft(line, " "); strings.HasPrefix(body, "- ") {
			return len(line) - len(body)
		}
	}
	return -1
}

// fit is the item's text in that column (-1: its own), proven to be found by a scan.
func (i Item) fit(column int) (text string, at int, err error) {
	for n, text := range []string{i.Text, ""} {
		if n == 1 {
			text = i.Plain()
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		is := columnOf(text)
		if is < 0 {
			continue
		}
		if column >= 0 && is != column {
			text = shift(text, column-is)
		}
		if i.found(text) {
			return text, columnOf(text), nil
		}
	}
	return "", 0, fmt.Errorf("cannot write task %s into the archive: it would not be found there", i.Task.ID)
}

// found reports whether a scan and a parser both read this one task from the text.
func (i Item) found(text string) bool {
	scanned, ok := scanArchive(tasksKey + text)
	parsed, err := parseArchive(tasksKey + text)
	if !ok || err != nil || len(scanned) != 1 || len(parsed) != 1 {
		return false
	}
	scanned[0].from, scanned[0].to = 0, 0
	for _, t := range []archivedTask{scanned[0], parsed[0]} {
		if t.id != i.Task.ID || t.status != i.Task.Status || t.afterPlan != i.Task.AfterPlan || !slices.Equal(t.supersedes, i.Task.Supersedes) {
			return false
		}
	}
	return true
}

// shift moves the lines by so many columns.
func shift(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "":
		case by > 0:
			line = strings.Repeat(" ", by) + line
		default:
			line = line[min(-by, len(line)-len(strings.TrimLeft(line, " "))):]
		}
		b.WriteString(line)
	}
	return b.String()
}

// makeFolder makes the folder, so that it is still there after a power loss.
func makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := safefile.MakeFolder(dir, 0o755); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}
