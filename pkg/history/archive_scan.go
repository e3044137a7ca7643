package history

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
)

// archivedTask is what the index of an archive knows of a task. from and to are the
// offsets of its lines, when the file was scanned.
type archivedTask struct {
	id         string
	status     blackboard.Status
	supersedes blackboard.List
	afterPlan  bool
	from, to   int
}

// header is what is decoded of a task for the index.
type header struct {
	ID         string            `yaml:"id"`
	Status     blackboard.Status `yaml:"status"`
	Supersedes blackboard.List   `yaml:"supersedes"`
	AfterPlan  bool              `yaml:"after_plan"`
}

func (h header) task() archivedTask {
	return archivedTask{id: h.ID, status: h.Status, supersedes: h.Supersedes, afterPlan: h.AfterPlan}
}

// parseArchive makes the index of a file in any form. What does not fit is left out.
func parseArchive(text string) ([]archivedTask, error) {
	var file struct{ Tasks []*header }
	var partly *yaml.TypeError
	if err := yaml.Unmarshal([]byte(text), &file); err != nil && !errors.As(err, &partly) {
		return nil, err
	}
	var tasks []archivedTask
	for _, h := range file.Tasks {
		if h != nil && h.ID != "" {
			tasks = append(tasks, h.task())
		}
	}
	return tasks, nil
}

// scanArchive makes the index of a file in the form in which Put writes it, by looking at
// its lines: an archive may be large, and few of its keys are needed. ok is false when the
// file has another form. Put proves of each task that the scan finds what a parser would.
func scanArchive(text string) (tasks []archivedTask, ok bool) {
	at := tasksLine(text)
	if at < 0 {
		return nil, false
	}
	at += len(tasksKey)
	var (
		indent = -1
		wanted strings.Builder // the lines of the present task that are needed
		taking bool            // the lines of a key that is needed
		begun  = at            // of the comments above the next task
	)
	end := func(to int) bool {
		if len(tasks) == 0 {
			return true
		}
		t := &tasks[len(tasks)-1]
		from := t.from
		head, found := headerOf(wanted.String())
		if !found {
			return false
		}
		*t = head.task()
		t.from, t.to = from, to
		return true
	}
	for at < len(text) {
		to := at + strings.IndexByte(text[at:], '\n') + 1
		if to == at {
			to = len(text)
		}
		line := text[at:to]
		body := strings.TrimLeft(line, " ")
		column := len(line) - len(body)
		switch {
		case strings.TrimSpace(line) == "" || body[0] == '#' && (indent < 0 || column <= indent):
			at = to
			continue // it belongs to what follows
		case strings.HasPrefix(body, "- ") && (indent < 0 || column == indent):
			if !end(begun) {
				return nil, false
			}
			indent = column
			tasks = append(tasks, archivedTask{from: begun})
			wanted.Reset()
			taking = isWanted(body[2:])
			if taking {
				wanted.WriteString(body[2:])
			}
		case indent < 0 || column <= indent:
			return nil, false
		case column == indent+2 && body[0] != '-':
			taking = isWanted(body)
			fallthrough
		default:
			if taking {
				wanted.WriteString(line[min(indent+2, column):])
			}
		}
		at, begun = to, to
	}
	return tasks, end(len(text))
}

const tasksKey = "tasks:\n"

// tasksLine is where the tasks begin, -1 when the file has no such line.
func tasksLine(text string) int {
	if strings.HasPrefix(text, tasksKey) {
		return 0
	}
	if i := strings.Index(text, "\n"+tasksKey); i >= 0 {
		return i + 1
	}
	return -1
}

func isWanted(line string) bool {
	key, _, found := strings.Cut(line, ":")
	return found && (key == "id" || key == "status" || key == "supersedes" || key == "after_plan")
}

var plainLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(id|status): ([A-Za-z0-9][A-Za-z0-9._-]*)$`) })

// headerOf decodes the lines that are needed. Most tasks have two plain ones.
func headerOf(text string) (h header, ok bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) == 2 {
		a, b := plainLine().FindStringSubmatch(lines[0]), plainLine().FindStringSubmatch(lines[1])
		if a != nil && b != nil && a[1] == "id" && b[1] == "status" && strings.Trim(a[2], "0123456789") != "" {
			return header{ID: a[2], Status: blackboard.Status(b[2])}, true
		}
	}
	err := yaml.Unmarshal([]byte(text), &h)
	return h, err == nil && h.ID != ""
}
