package sprint

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// GoalInput says what the next goal is.
type GoalInput struct {
	Text        string
	Spec        string // "": that of the present goal
	AbandonOpen bool   // give up the tasks of the present goal that are open
	Reason      string

	With func(*blackboard.State, transition.Actor) error // a further change in the write that begins the goal; nil: there is none
}

// GoalStarted is the result of NextGoal.
type GoalStarted struct {
	Goal      string   `json:"goal"`
	Spec      string   `json:"spec_ref"`
	Sprint    string   `json:"sprint"`
	Before    string   `json:"before"` // the goal that is over
	Status    string   `json:"before_status"`
	File      string   `json:"file"` // where that, its sprint and its tasks are
	Archived  []string `json:"archived"`
	Abandoned []string `json:"abandoned"`
	Warnings  []string `json:"warnings,omitempty"`
}

// NextGoal makes the next goal. The present one goes into the archive with its last sprint and its tasks.
func NextGoal(ctx context.Context, d *verb.Service, in GoalInput) (GoalStarted, error) {
	out := GoalStarted{Abandoned: []string{}}
	if err := d.Board.Clean(board.Text{Name: "--reason", Value: &in.Reason}); err != nil {
		return out, err
	}
	goal, err := board.CleanText("the goal", in.Text)
	if err != nil {
		return out, err
	}
	if strings.TrimSpace(goal) == "" {
		return out, board.WrongUsage("liza help goal", "the goal is empty: say in a sentence what is to be built")
	}
	if in.AbandonOpen && strings.TrimSpace(in.Reason) == "" {
		return out, board.WrongUsage("liza help goal", "--abandon-open needs --reason")
	}
	if err := d.Board.PersonOnly(ctx, "make a goal"); err != nil {
		return out, err
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		return out, err
	}
	if in.Spec == "" && s.Goal != nil {
		in.Spec = s.Goal.SpecRef
	}
	if !d.Board.SpecExists(in.Spec) {
		return out, board.Fail("write "+in.Spec+", or name another file with --spec", "the spec file %s does not exist", in.Spec)
	}
	if err := verb.SpecCommitted(ctx, d.Board.Project, d.Board.Repo, in.Spec); err != nil {
		return out, err
	}
	if out.Warnings, err = specOnBranch(ctx, d, s, in.Spec); err != nil {
		return out, err
	}
	if in.AbandonOpen {
		if out.Abandoned, err = abandonOpen(ctx, d, s, in.Reason); err != nil {
			return out, err
		}
	}
	if err := mergedIsThere(ctx, d); err != nil {
		return out, err
	}
	err = startGoal(ctx, d, goal, in, &out)
	return out, err
}

// specOnBranch warns when agents would see another version of the spec file than the person.
func specOnBranch(ctx context.Context, d *verb.Service, s *blackboard.State, spec string) ([]string, error) {
	head, err := d.Board.Repo.Head(ctx)
	if err != nil || head.Commit == "" {
		return nil, err
	}
	tip, err := d.Integration.TipOf(ctx, s)
	if err != nil || tip == "" {
		return nil, err
	}
	path, _, _ := strings.Cut(spec, "#")
	has, same, err := d.Board.Repo.SameIn(ctx, tip, head.Commit, filepath.ToSlash(filepath.Clean(path)))
	if err != nil || has && same {
		return nil, err
	}
	return []string{fmt.Sprintf("%s does not have %s as it stands in your checkout, so agents would not see it; liza sync brings it there", s.IntegrationBranch(), path)}, nil
}

// mergedIsThere refuses to put a goal away whose merged work the integration branch lacks.
func mergedIsThere(ctx context.Context, d *verb.Service) error {
	what, next, err := d.Integration.FindMissingWork(ctx)
	if err != nil || what == "" {
		return err
	}
	return board.Refuse(next, "the present goal is not complete: %s", what)
}

func startGoal(ctx context.Context, d *verb.Service, goal string, in GoalInput, out *GoalStarted) error {
	var keep func([]store.Gone) error
	ahead := func(gone []store.Gone) error {
		if err := keep(gone); err != nil {
			return err
		}
		return d.Board.Project.Controls().Clear(project.Abort) // it was about the goal before
	}
	return d.Board.UpdateAhead(ctx, "goal", ahead, func(s *blackboard.State, a transition.Actor) error {
		if err := d.Board.OnlyPerson(s, a, "make a goal"); err != nil {
			return err
		}
		at := blackboard.TimeOf(d.Board.Now())
		g := &blackboard.Goal{ID: freeGoalID(d, s), Description: goal, SpecRef: in.Spec, Created: at, Status: blackboard.InProgress,
			AlignmentHistory: []*blackboard.Alignment{{Timestamp: at, Event: "initialization", Summary: "Goal created"}}}
		was, archived, err := transition.NextGoal(s, g, a, d.Board.Now())
		if err != nil {
			return err
		}
		keep = func(gone []store.Gone) error { return keepArchived(d, was, gone) }
		out.Goal, out.Spec, out.Sprint = g.ID, in.Spec, s.Sprint.ID
		out.Before, out.Status, out.File, out.Archived = was.Goal.ID, was.Goal.Status, d.Board.Rel(d.Board.Project.Archive(was.Sprint.ID)), listed(archived)
		if in.With != nil {
			return in.With(s, a)
		}
		return nil
	})
}

// freeGoalID is the time of the goal, or the next second that no goal has.
func freeGoalID(d *verb.Service, s *blackboard.State) string {
	n := d.Board.Now().Unix()
	for s.Goal != nil && s.Goal.ID == fmt.Sprintf("goal-%d", n) {
		n++
	}
	return fmt.Sprintf("goal-%d", n)
}

// abandonOpen gives up the open tasks one by one; each is a change of its own, and a call that was interrupted goes on
// with the next one.
func abandonOpen(ctx context.Context, d *verb.Service, s *blackboard.State, reason string) ([]string, error) {
	id, err := d.Board.Identify()
	if err != nil {
		return nil, err
	}
	if err := transition.MayAbandonOpen(s, id.Actor(s), d.Board.Now()); err != nil {
		return nil, err
	}
	done := []string{}
	for _, t := range transition.OpenTasks(s) {
		if t.Status == blackboard.Claimed {
			if _, err := d.Release(ctx, verb.ReleaseInput{Task: t.ID, Reason: reason}); err != nil {
				return done, err
			}
		}
		if _, err := d.Abandon(ctx, verb.WayOut{Task: t.ID, Reason: reason, RootCause: reason}); err != nil {
			return done, err
		}
		done = append(done, t.ID)
	}
	return done, nil
}

// PastGoal is one line of the list of goals.
type PastGoal struct {
	ID          string          `json:"id"`
	Description string          `json:"description"`
	Status      string          `json:"status"`
	SpecRef     string          `json:"spec_ref"`
	Created     blackboard.Time `json:"created"`
	Completed   blackboard.Time `json:"completed_at,omitempty"`
	Present     bool            `json:"present"`
	Sprints     []string        `json:"sprints"`
	Tasks       int             `json:"tasks"`
}

// Goals are all goals, the oldest first; the present one is the last.
func Goals(ctx context.Context, d *verb.Service) ([]PastGoal, error) {
	s, err := d.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	var list []PastGoal
	find := func(id string) *PastGoal {
		i := slices.IndexFunc(list, func(g PastGoal) bool { return g.ID == id })
		if i < 0 {
			list = append(list, PastGoal{ID: id, Status: "unknown"})
			i = len(list) - 1
		}
		return &list[i]
	}
	for _, sprint := range d.Board.Histories().Archives().Sprints() {
		x, err := d.Board.Histories().ArchivedSprint(sprint)
		if err != nil {
			return nil, err
		}
		if x.Sprint == nil || x.Sprint.GoalRef == "" {
			continue
		}
		g := find(x.Sprint.GoalRef)
		g.Sprints, g.Tasks = append(g.Sprints, sprint), g.Tasks+len(x.Tasks)
		if x.Goal != nil {
			g.fill(x.Goal)
		}
	}
	if s.Goal != nil {
		g := find(s.Goal.ID)
		g.fill(s.Goal)
		g.Present, g.Tasks = true, g.Tasks+s.TaskCount()
		if s.Sprint != nil && !slices.Contains(g.Sprints, s.Sprint.ID) {
			g.Sprints = append(g.Sprints, s.Sprint.ID)
		}
	}
	return list, nil
}

func (g *PastGoal) fill(from *blackboard.Goal) {
	g.Description, g.Status, g.SpecRef, g.Created, g.Completed = from.Description, from.Status, from.SpecRef, from.Created, from.CompletedAt
}
