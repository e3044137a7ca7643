package verb

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/safefile"
	"liza/pkg/yamldoc"
)

// Archives is where the tasks are that have left the board.
func (d *Service) Archives() *history.Archive {
	if d.TaskArchive != nil {
		return d.TaskArchive
	}
	return &history.Archive{Dir: d.Project.ArchiveDir()}
}

// PlainText is a task as the library writes it.
func PlainText(t *blackboard.Task) string {
	node := yamldoc.Encode(t)
	node.Style &^= yaml.FlowStyle
	text, err := yaml.Marshal([]*yaml.Node{node})
	if err != nil {
		return "" // Put refuses what it cannot find again
	}
	return string(text)
}

// ArchivedTask is an archived task, whole, and the sprint in whose file it is; nil when
// there is none.
func (d *Service) ArchivedTask(id string) (*blackboard.Task, string, error) {
	return d.Archives().Task(id)
}

// SprintTasks are all tasks of the current sprint, on the board and in the archive.
func (d *Service) SprintTasks(s *blackboard.State) ([]*blackboard.Task, error) {
	var archived []*blackboard.Task
	sprints := map[string]bool{}
	for id := range s.ArchivedNow() {
		sprints[d.Archives().Archived()[id].Sprint] = true
	}
	for sprint := range sprints {
		tasks, err := d.Archives().Tasks(sprint)
		if err != nil {
			return nil, err
		}
		archived = append(archived, tasks...)
	}
	return s.SprintTasks(archived), d.Archives().Check()
}

// SprintJournal are the journal's entries of the current sprint with that action.
func (d *Service) SprintJournal(action blackboard.Action) ([]blackboard.Entry, error) {
	j := history.Journal{Path: d.Project.Journal()}
	started, err := j.Read(history.Filter{Action: blackboard.ActionSprintStarted, Last: 1})
	if err != nil {
		return nil, err
	}
	f := history.Filter{Action: action}
	if len(started) > 0 {
		f.AfterRev = started[0].Rev
	}
	return j.Read(f)
}

// ArchivedSprint is what the archive has of a sprint.
type ArchivedSprint struct {
	Goal   *blackboard.Goal   `yaml:"goal"`
	Sprint *blackboard.Sprint `yaml:"sprint"`
	Usage  *blackboard.Usage  `yaml:"usage"`
	Tasks  []*blackboard.Task `yaml:"tasks"`
}

// ArchivedSprint reads the file of a sprint that is over.
func (d *Service) ArchivedSprint(id string) (ArchivedSprint, error) {
	var x ArchivedSprint
	path := d.Project.Archive(id)
	if !slices.Contains(d.Archives().Sprints(), id) {
		return x, Refuse("liza goal --list", "the archive has no sprint '%s'", id)
	}
	data, err := safefile.Read(path)
	if err == nil {
		err = yaml.Unmarshal(data, &x)
	}
	if err != nil {
		return x, fmt.Errorf("cannot read %s: %v", filepath.Base(path), err)
	}
	yamldoc.DropEmpty(reflect.ValueOf(&x))
	return x, nil
}

// ArchivedGoal is a goal that is over; nil when the archive has none of that id.
func (d *Service) ArchivedGoal(id string) (*blackboard.Goal, error) {
	for _, sprint := range slices.Backward(d.Archives().Sprints()) {
		x, err := d.ArchivedSprint(sprint)
		if err != nil {
			return nil, err
		}
		if x.Goal != nil && x.Goal.ID == id {
			return x.Goal, nil
		}
	}
	return nil, nil
}
