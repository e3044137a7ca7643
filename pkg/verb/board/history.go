package board

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// Histories reads and writes what happened: the runs of agent programs, the archive, the journal of a sprint.
type Histories struct{ board *Session }

// Histories returns the histories of the project.
func (b *Session) Histories() Histories { return Histories{b} }

// PlannerRuns stands for a task where the planner's own runs are meant, SummarizerRuns for
// those of the summarizer.
const (
	PlannerRuns    = "_planner"
	SummarizerRuns = "_summarizer"
)

// Interactions is where the runs for a task are recorded. Every text is masked on its way.
func (h Histories) Interactions(task string) history.Interactions {
	runs := history.Interactions{Dir: h.board.Project.HistoryDir(task), MaxMB: h.board.Config().History.MaxMB, Agent: cmp.Or(h.board.Caller.AgentID, blackboard.Human)}
	h.board.LoadSecrets()
	runs.Mask = h.board.Secrets.Mask
	return runs
}

// History reads the runs for a task, for PlannerRuns or SummarizerRuns. It changes nothing.
func (h Histories) History(ctx context.Context, task string) ([]history.Interaction, error) {
	if err := h.Known(ctx, task); err != nil {
		return nil, err
	}
	return h.Interactions(task).Read()
}

// Known refuses a name that no history can have, or that nobody has heard of.
func (h Histories) Known(ctx context.Context, task string) error {
	if task == PlannerRuns || task == SummarizerRuns {
		return nil
	}
	s, err := h.board.View(ctx)
	if err != nil {
		s = &blackboard.State{} // a history can be read whatever the board is like
	}
	if s.Task(task) != nil {
		return nil
	}
	if blackboard.ValidTaskID(task) {
		if _, err := os.Stat(h.Interactions(task).File()); err == nil {
			return nil
		}
		if t, _, err := h.ArchivedTask(task); err != nil || t != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	message := fmt.Sprintf("no task '%s'", task)
	ids := []string{PlannerRuns}
	for t := range s.Tasks() {
		ids = append(ids, t.ID)
	}
	if near := blackboard.Nearest(task, ids); near != "" {
		message += fmt.Sprintf("; did you mean '%s'?", near)
	}
	return Refuse("liza status", "%s", message)
}

// InteractionOf finds one of the runs that are recorded for a task, by its number. What is out of
// their range is a usage error that names it.
func InteractionOf(list []history.Interaction, task, number string) (history.Interaction, error) {
	next := "liza show " + task + " --runs"
	n, err := strconv.Atoi(number)
	for _, in := range list {
		if err == nil && in.Sequence == n {
			return in, nil
		}
	}
	if len(list) == 0 {
		return history.Interaction{}, WrongUsage(next, "--run %s: %s has no run yet", number, task)
	}
	return history.Interaction{}, WrongUsage(next, "--run '%s' must be one of the runs of %s: %d to %d", number, task, list[0].Sequence, list[len(list)-1].Sequence)
}

// Happened records something that is not a run. A history that cannot be written is told, and
// stops nothing.
func (h Histories) Happened(ctx context.Context, t *blackboard.Task, event, after, commit string) string {
	in := history.Happened(event, history.Interaction{Timestamp: blackboard.TimeOf(h.board.Now()), StateBefore: history.JobState(t, false), WorkspacePath: h.board.Repo.WorktreePath(t.ID)})
	in.Liza.StatusBefore, in.Liza.StatusAfter = string(t.Status), after
	in.Liza.CommitAfter = commit
	if _, err := h.Interactions(t.ID).Append(ctx, in); err != nil {
		return err.Error()
	}
	return ""
}

// Archives is where the tasks are that have left the board.
func (h Histories) Archives() *history.Archive {
	if h.board.TaskArchive != nil {
		return h.board.TaskArchive
	}
	return &history.Archive{Dir: h.board.Project.ArchiveDir()}
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
func (h Histories) ArchivedTask(id string) (*blackboard.Task, string, error) {
	return h.Archives().Task(id)
}

// SprintTasks are all tasks of the current sprint, on the board and in the archive.
func (h Histories) SprintTasks(s *blackboard.State) ([]*blackboard.Task, error) {
	var archived []*blackboard.Task
	sprints := map[string]bool{}
	for id := range s.ArchivedNow() {
		sprints[h.Archives().Archived()[id].Sprint] = true
	}
	for sprint := range sprints {
		tasks, err := h.Archives().Tasks(sprint)
		if err != nil {
			return nil, err
		}
		archived = append(archived, tasks...)
	}
	return s.SprintTasks(archived), h.Archives().Check()
}

// SprintJournal are the journal's entries of the current sprint with that action.
func (h Histories) SprintJournal(action blackboard.Action) ([]blackboard.Entry, error) {
	j := history.Journal{Path: h.board.Project.Journal()}
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
	Tasks  []*blackboard.Task `yaml:"-"`
}

// ArchivedSprint reads the file of a sprint that is over.
func (h Histories) ArchivedSprint(id string) (ArchivedSprint, error) {
	var x ArchivedSprint
	if !slices.Contains(h.Archives().Sprints(), id) {
		return x, Refuse("liza goal --list", "the archive has no sprint '%s'", id)
	}
	head, err := h.Archives().Head(id)
	if err == nil {
		err = yaml.Unmarshal(head, &x)
	}
	if err == nil {
		x.Tasks, err = h.Archives().Tasks(id)
	}
	if err != nil {
		return x, fmt.Errorf("cannot read %s: %v", filepath.Base(h.board.Project.Archive(id)), err)
	}
	yamldoc.DropEmpty(reflect.ValueOf(&x))
	return x, nil
}

// ArchivedGoal is a goal that is over; nil when the archive has none of that id.
func (h Histories) ArchivedGoal(id string) (*blackboard.Goal, error) {
	for _, sprint := range slices.Backward(h.Archives().Sprints()) {
		x, err := h.ArchivedSprint(sprint)
		if err != nil {
			return nil, err
		}
		if x.Goal != nil && x.Goal.ID == id {
			return x.Goal, nil
		}
	}
	return nil, nil
}
