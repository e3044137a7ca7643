package store

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// runAhead calls what has to be on disk before the change is. doc is nil for a store that
// has no file.
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
