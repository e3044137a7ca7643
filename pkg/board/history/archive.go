package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// Archive is the folder of the tasks that have left the board, with one file for each sprint (specs/protocol.md#3.3). It
// reads a file on first use, and again after each change. It may be used by several goroutines.
type Archive struct {
	Dir string

	mu    sync.Mutex
	files map[string]*archiveFile // archive files by sprint
	all   map[string]blackboard.Archived
}

// archiveFile is the index of one file.
type archiveFile struct {
	stamp safefile.Stamp
	tasks []header
	err   error // why it cannot be read
}

// Archived returns the tasks of all sprints by id, without those in unreadable files; see Check.
func (a *Archive) Archived() map[string]blackboard.Archived {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	return a.all
}

// Check returns why files of the archive cannot be read, or nil.
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

// Task returns the archived task with the given id and its sprint, or nil if there is none. An archive that cannot be read may
// have it: that is an error.
func (a *Archive) Task(id string) (t *blackboard.Task, sprint string, err error) {
	is, ok := a.Archived()[id]
	if !ok {
		return nil, "", a.Check()
	}
	tasks, err := a.read(is.Sprint, id)
	if len(tasks) == 0 {
		return nil, is.Sprint, err
	}
	return tasks[0], is.Sprint, err
}

// Tasks returns the archived tasks of a sprint, in the order of its file.
func (a *Archive) Tasks(sprint string) ([]*blackboard.Task, error) { return a.read(sprint, "") }

// Head returns the sections of a sprint's file without its tasks, as YAML.
func (a *Archive) Head(sprint string) ([]byte, error) {
	data, err := safefile.Read(a.path(sprint))
	if err != nil {
		return nil, err
	}
	doc, err := archiveReader(scanHeader).Parse(data)
	if err != nil {
		return nil, err
	}
	parts, _, ok := doc.Parts()
	if !ok {
		return data, nil
	}
	var head bytes.Buffer
	for _, p := range parts {
		if p.Key != "tasks" {
			head.WriteString(p.Text)
		}
	}
	return head.Bytes(), nil
}

// Sprints returns the ids of the sprints with a file, sprint-2 before sprint-10.
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
	doc, err := taskReader(id).Parse(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read the archive of %s: %w", sprint, err)
	}
	var tasks []*blackboard.Task
	entries, _ := doc.Entries("tasks")
	for _, e := range entries {
		if t, ok := e.Value().(*blackboard.Task); ok && t.ID != "" && (id == "" || t.ID == id) {
			yamldoc.DropEmpty(reflect.ValueOf(t))
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

func (a *Archive) path(sprint string) string { return filepath.Join(a.Dir, sprint+".yaml") }

// refresh lists the folder and reads new and changed files.
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
			a.all[t.ID] = blackboard.Archived{Status: t.Status, Sprint: sprint, Supersedes: t.Supersedes, AfterPlan: t.AfterPlan}
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
	doc, err := archiveReader(scanHeader).Parse(data)
	if err != nil {
		return &archiveFile{err: err}
	}
	return &archiveFile{tasks: headers(doc)}
}

// Item is a task to archive.
type Item struct {
	Task  *blackboard.Task
	Text  string        // its lines in state.yaml
	Plain func() string // its lines as Liza would write them, used if Text is ambiguous
}

// Put writes tasks into the archive of a sprint and makes that durable. It replaces archived tasks
// with the same id, and the sections above the tasks by head. The caller holds the lock of the
// state.
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

// without returns the text of a file without its head and without the tasks that items replace, and the column in which its
// tasks begin, or -1 if there are none.
func without(text string, items []Item) (body string, indent int, err error) {
	if strings.TrimSpace(text) == "" || strings.HasSuffix(text, "\ntasks: []\n") {
		return "", -1, nil
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	tasks, tail, ok := tasksOf(text)
	if !ok {
		if text, err = reformed(text); err != nil {
			return "", -1, err
		}
		if tasks, tail, ok = tasksOf(text); !ok {
			return "", -1, errors.New("it does not have the form in which Liza writes it; move the file away")
		}
	}
	_, above, _ := strings.Cut(tasks.Text, tasksKey) // the comments of the first task
	var kept strings.Builder
	for _, e := range tasks.Entries {
		h, _ := e.Value().(header)
		text := above + e.Text()
		if above = ""; !slices.ContainsFunc(items, func(i Item) bool { return i.Task.ID == h.ID }) {
			kept.WriteString(text)
		}
	}
	return kept.String() + tail, tasks.Indent, nil
}

// tasksOf finds the list of tasks in a text, and the comments behind it. ok is false if the text has
// another form than Put writes.
func tasksOf(text string) (tasks yamldoc.Part, tail string, ok bool) {
	doc, err := archiveReader(scanHeader).Parse([]byte(text))
	if err != nil {
		return tasks, "", false
	}
	parts, tail, _ := doc.Parts()
	if len(parts) == 0 || parts[len(parts)-1].Key != "tasks" {
		return tasks, "", false
	}
	tasks = parts[len(parts)-1]
	return tasks, tail, tasks.Apart && tasks.List
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
	for _, fast := range []func(string, *yamldoc.Entry, string, bool, int) (any, bool){scanHeader, nil} {
		doc, err := archiveReader(fast).Parse([]byte(tasksKey + text))
		if err != nil || doc.Whole() {
			return false
		}
		tasks := headers(doc)
		if len(tasks) != 1 || tasks[0].ID != i.Task.ID || tasks[0].Status != i.Task.Status ||
			tasks[0].AfterPlan != i.Task.AfterPlan || !slices.Equal(tasks[0].Supersedes, i.Task.Supersedes) {
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

// header has the fields of a task that the index needs.
type header struct {
	ID         string            `yaml:"id"`
	Status     blackboard.Status `yaml:"status"`
	Supersedes blackboard.List   `yaml:"supersedes"`
	AfterPlan  bool              `yaml:"after_plan"`
}

const tasksKey = "tasks:\n"

// archiveReader cuts the file of a sprint into tasks and reads the header of each: with fast, which may be nil, or by
// parsing it. Values that do not fit are left out.
func archiveReader(fast func(section string, entry *yamldoc.Entry, text string, list bool, indent int) (any, bool)) *yamldoc.Reader {
	return &yamldoc.Reader{Split: []string{"tasks"}, Fast: fast, Decode: func(_ string, entry *yamldoc.Entry, node *yaml.Node) any {
		var h header
		if entry != nil {
			_ = node.Decode(&h)
		}
		return h
	}}
}

// fastTask decodes what Liza has written without a tree, which would take thirty times the memory of the text.
var fastTask = sync.OnceValue(func() *yamldoc.Fast {
	return yamldoc.NewFast(reflect.TypeFor[blackboard.Task](), reflect.TypeFor[blackboard.List](), reflect.TypeFor[blackboard.Rejection]())
})

// taskReader reads the tasks of a file, or the one with the given id. Values that do not fit are left out.
func taskReader(id string) *yamldoc.Reader {
	return &yamldoc.Reader{Split: []string{"tasks"},
		Fast: func(section string, entry *yamldoc.Entry, text string, list bool, indent int) (any, bool) {
			if entry == nil {
				return nil, section != "tasks"
			}
			if h, ok := scanHeader(section, entry, text, list, indent); ok && id != "" && h.(header).ID != id {
				return nil, true
			}
			t := new(blackboard.Task)
			return t, fastTask().Entry(text, list, indent, entry.Name(), reflect.ValueOf(t))
		},
		Decode: func(_ string, entry *yamldoc.Entry, node *yaml.Node) any {
			t := new(blackboard.Task)
			if entry != nil {
				_ = node.Decode(t)
			}
			return t
		}}
}

// headers returns the headers of the tasks with an id.
func headers(doc *yamldoc.Document) (tasks []header) {
	entries, _ := doc.Entries("tasks")
	for _, e := range entries {
		if h, ok := e.Value().(header); ok && h.ID != "" {
			tasks = append(tasks, h)
		}
	}
	return tasks
}

// scanHeader reads the header of a task by looking at its lines. An archive of 1,000 tasks takes 4 ms
// of processor, where a parser takes 139 ms. Put proves of each task that a parser finds the same.
func scanHeader(section string, entry *yamldoc.Entry, text string, list bool, indent int) (any, bool) {
	if entry == nil || !list {
		return header{}, section != "tasks"
	}
	var wanted strings.Builder
	taking := false // the lines of a key that is needed
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		column := len(line) - len(body)
		switch {
		case strings.TrimSpace(line) == "" || body[0] == '#' && column <= indent:
			continue
		case column == indent:
			line, column = strings.Replace(line, "-", " ", 1), indent+2
			taking = isWanted(line[column:])
		case column == indent+2 && body[0] != '-':
			taking = isWanted(body)
		}
		if taking {
			wanted.WriteString(line[min(indent+2, column):])
		}
	}
	return headerOf(wanted.String())
}

func isWanted(line string) bool {
	key, _, found := strings.Cut(line, ":")
	return found && (key == "id" || key == "status" || key == "supersedes" || key == "after_plan")
}

var plainLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(id|status): ([A-Za-z0-9][A-Za-z0-9._-]*)$`) })

// headerOf decodes the lines that are needed. Most tasks have two plain ones.
func headerOf(text string) (any, bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) == 2 {
		a, b := plainLine().FindStringSubmatch(lines[0]), plainLine().FindStringSubmatch(lines[1])
		if a != nil && b != nil && a[1] == "id" && b[1] == "status" && strings.Trim(a[2], "0123456789") != "" {
			return header{ID: a[2], Status: blackboard.Status(b[2])}, true
		}
	}
	var h header
	err := yaml.Unmarshal([]byte(text), &h)
	return h, err == nil && h.ID != ""
}

// Scrub masks secrets in the files of all sprints, because a text can become known as a secret after its task was archived.
// The caller holds the lock of the state.
func (a *Archive) Scrub(mask func(string) string) error {
	paths, err := filepath.Glob(a.path("*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if isRotated(filepath.Base(path)) {
			continue // Journal.Scrub masks it
		}
		data, err := safefile.Read(path)
		if err != nil {
			return fmt.Errorf("cannot mask secrets in the archive: %w", err)
		}
		if mask(string(data)) == string(data) {
			continue
		}
		var doc yaml.Node
		var out bytes.Buffer
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err = yaml.Unmarshal(data, &doc); err == nil {
			maskScalars(&doc, mask)
			err = e.Encode(&doc)
		}
		if err == nil {
			err = safefile.Replace(path, out.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("cannot mask secrets in %s: %w", path, err)
		}
	}
	return nil
}

// maskScalars masks the texts of a document and its comments. It quotes masked texts.
func maskScalars(n *yaml.Node, mask func(string) string) {
	for _, text := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		*text = mask(*text)
	}
	if masked := mask(n.Value); n.Kind == yaml.ScalarNode && masked != n.Value {
		n.SetString(masked)
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		maskScalars(c, mask)
	}
}
