package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
	"liza/pkg/yamldoc"
)

// Archive is the folder of the tasks that have left the board, with one file for each
// sprint (specs/protocol.md#3.3). It reads a file when somebody asks for what is in it, and again
// when it changed. It may be used by several goroutines.
type Archive struct {
	Dir string

	mu    sync.Mutex
	files map[string]*archiveFile // by sprint
	all   map[string]blackboard.Archived
}

// archiveFile is what is known of one file.
type archiveFile struct {
	stamp safefile.Stamp
	tasks []archivedTask
	err   error // why it cannot be read
}

// Archived are the tasks of all sprints. A file that cannot be read is left out; Check
// tells of it.
func (a *Archive) Archived() map[string]blackboard.Archived {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	return a.all
}

// Check tells why files of the archive cannot be read.
func (a *Archive) Check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	var errs []error
	for _, sprint := range a.sprints() {
		if err := a.files[sprint].err; err != nil {
			errs = append(errs, fmt.Errorf("cannot read the archive of %s: %w", sprint, err))
		}
	}
	return errors.Join(errs...)
}

// Task is an archived task, whole, and the sprint in whose file it is; nil when there is none.
func (a *Archive) Task(id string) (t *blackboard.Task, sprint string, err error) {
	is, ok := a.Archived()[id]
	if !ok {
		return nil, "", nil
	}
	tasks, err := a.read(is.Sprint, id)
	if len(tasks) == 0 {
		return nil, is.Sprint, err
	}
	return tasks[0], is.Sprint, err
}

// Tasks are the archived tasks in the file of a sprint, in the order of the file.
func (a *Archive) Tasks(sprint string) ([]*blackboard.Task, error) { return a.read(sprint, "") }

// Sprints are those that have a file, sprint-2 before sprint-10.
func (a *Archive) Sprints() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	return a.sprints()
}

// read decodes one task of a file, or all for id "".
func (a *Archive) read(sprint, id string) ([]*blackboard.Task, error) {
	data, err := safefile.Read(a.path(sprint))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the archive of %s: %w", sprint, err)
	}
	text := string(data)
	if id != "" {
		if found, ok := scanArchive(text); ok {
			for _, t := range found {
				if t.id == id {
					text = "tasks:\n" + text[t.from:t.to]
				}
			}
		}
	}
	var file struct{ Tasks []*blackboard.Task }
	var partly *yaml.TypeError // the rest was decoded
	if err := yaml.Unmarshal([]byte(text), &file); err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("cannot read the archive of %s: %w", sprint, err)
	}
	yamldoc.DropEmpty(reflect.ValueOf(&file))
	return slices.DeleteFunc(file.Tasks, func(t *blackboard.Task) bool { return id != "" && t.ID != id }), nil
}

func (a *Archive) path(sprint string) string { return filepath.Join(a.Dir, sprint+".yaml") }

// refresh looks at the folder and reads what is new.
func (a *Archive) refresh() {
	names, err := os.ReadDir(a.Dir)
	if err != nil {
		a.files, a.all = nil, nil
		return
	}
	there, news := map[string]*archiveFile{}, false
	for _, e := range names {
		sprint, ok := strings.CutSuffix(e.Name(), ".yaml")
		if !ok || strings.HasPrefix(sprint, ".") || strings.HasPrefix(sprint, "log-") {
			continue
		}
		stamp, err := safefile.StampOf(a.path(sprint))
		f := a.files[sprint]
		if err != nil || f == nil || f.stamp != stamp {
			f, news = readArchive(a.path(sprint)), true
			f.stamp = stamp
		}
		there[sprint] = f
	}
	if !news && len(there) == len(a.files) {
		return
	}
	a.files, a.all = there, map[string]blackboard.Archived{}
	for _, sprint := range a.sprints() {
		for _, t := range a.files[sprint].tasks {
			a.all[t.id] = blackboard.Archived{Status: t.status, Sprint: sprint, Supersedes: t.supersedes, AfterPlan: t.afterPlan}
		}
	}
}

// sprints are those of the files, sprint-2 before sprint-10.
func (a *Archive) sprints() []string {
	number := func(sprint string) int {
		n, _ := strconv.Atoi(sprint[strings.LastIndexByte(sprint, '-')+1:])
		return n
	}
	return slices.SortedFunc(maps.Keys(a.files), func(x, y string) int {
		return cmp.Or(cmp.Compare(number(x), number(y)), cmp.Compare(x, y))
	})
}

func readArchive(path string) *archiveFile {
	data, err := safefile.Read(path)
	if err != nil {
		return &archiveFile{err: err}
	}
	if tasks, ok := scanArchive(string(data)); ok {
		return &archiveFile{tasks: tasks}
	}
	tasks, err := parseArchive(string(data))
	return &archiveFile{tasks: tasks, err: err}
}
