package verb

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/store"
	"liza/pkg/transition"
)

type timeT = time.Time

// Control says why nothing new may start: "paused since T: reason", "" when open. ABORT
// wins over the others (specs/decisions.md#D15).
func (d *Service) Control() string {
	var s *blackboard.State
	if d.shared() {
		s, _ = d.View(context.Background()) // without it the control files of this host count
	}
	return d.ControlOn(s)
}

// ControlOn is Control for who has just looked at the board.
func (d *Service) ControlOn(s *blackboard.State) string {
	if orders := d.Orders(s); len(orders) > 0 {
		return orders[0].String()
	}
	return ""
}

// Orders are what stops work here, the one that wins first: control files, and on a board that several hosts share its own
// orders, which hold on all of them. There control files stop their host, and the sprint does not follow them.
func (d *Service) Orders(s *blackboard.State) []project.Order {
	files := d.Project.Orders()
	if !d.shared() || s == nil {
		return files
	}
	var all []project.Order
	for _, o := range transition.Orders(s) {
		since, _ := o.Since.At()
		all = append(all, project.Order{Control: project.Control(o.Name), Since: since, Modified: since, Reason: o.Reason})
	}
	for _, f := range files {
		if !slices.ContainsFunc(all, func(o project.Order) bool { return o.Control == f.Control }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(x, y project.Order) int { return cmp.Compare(x.Control.Rank(), y.Control.Rank()) })
	return all
}

// set makes a control file, where the board is a file of this host.
func (d *Service) set(c project.Control, reason string) error {
	if d.shared() {
		return nil
	}
	return d.Project.Set(c, reason, d.Now())
}

// NoteInput is a note of a person.
type NoteInput struct {
	Text, Task, ID string
}

// Noted is the result of a note.
type Noted struct {
	ID      string `json:"id"`
	Already bool   `json:"already_done,omitempty"`
	Reaches string `json:"reaches,omitempty"` // who gets it, and when
}

// maxNote is how many bytes a note may have. It goes into prompts, which have less room than
// that; what is longer belongs into a file of the repository.
const maxNote = 64 << 10

// Note leaves a note for the planner, or for a task's next run.
func (d *Service) Note(ctx context.Context, in NoteInput) (Noted, error) {
	if err := d.clean(text{"the note", &in.Text}); err != nil {
		return Noted{}, err
	}
	if len(in.Text) > maxNote {
		return Noted{}, usage("liza help note", "the note has %d bytes; %d is the limit", len(in.Text), maxNote)
	}
	var out Noted
	err := d.Update(ctx, "note", func(s *blackboard.State, a transition.Actor) error {
		if a.ID != blackboard.Human || a.Inside != "" {
			if _, err := transition.Identify(s, a, d.Now()); err != nil {
				return err
			}
			return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza discover TEXT --task ID", Message: "notes are for people; an agent uses discover or anomaly"}
		}
		n := &blackboard.Note{ID: in.ID, Message: in.Text, For: in.Task, By: d.Caller.Person, CallerRole: d.CallerRole(d.Caller.Person)}
		if err := transition.AddNote(s, n, a, d.Now()); err != nil {
			return err
		}
		out.ID, out.Reaches = n.ID, s.Reaches(n)
		return nil
	})
	if transition.IsAlreadyDone(err) {
		return Noted{ID: in.ID, Already: true}, nil
	}
	return out, err
}

// TakeNotes are the notes for the task of a run that came since its prompt was written; from now on they count
// as seen by its agent. Its next prompt has them too.
func (d *Service) TakeNotes(ctx context.Context, agent string) ([]*blackboard.Note, error) {
	s, err := d.View(ctx)
	if err != nil || len(s.NewNotes(agent)) == 0 {
		return nil, err
	}
	var taken []*blackboard.Note
	err = d.Update(ctx, "notes seen", func(s *blackboard.State, _ transition.Actor) error {
		taken = transition.TakeNotes(s, agent, d.Now())
		return nil
	})
	return taken, err
}

// person refuses agents: a control verb is for people.
func (d *Service) person(s *blackboard.State, a transition.Actor, what string) error {
	party, err := transition.Identify(s, a, d.Now())
	if err != nil {
		return err
	}
	if party&transition.ByHuman == 0 {
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", a.ID, what)}
	}
	return nil
}

// Sprint is the result of a control verb.
type Sprint struct {
	Sprint string `json:"sprint"`
	File   string `json:"file,omitempty"`
}

// Pause lets nothing new start; what runs goes on.
func (d *Service) Pause(ctx context.Context, reason string) (Sprint, error) {
	if err := d.clean(text{"--reason", &reason}); err != nil {
		return Sprint{}, err
	}
	return d.control(ctx, "pause", func(s *blackboard.State, a transition.Actor) error {
		if d.shared() {
			return transition.PauseSprint(s, reason, a, d.Now())
		}
		if _, set := d.Project.Order(project.Pause); set {
			return &transition.Refusal{Guard: "G07", Exit: transition.ExitRefused, Next: "liza resume", Message: "already " + d.Control()}
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: blackboard.ActionPaused, Detail: reason})
		return nil
	}, func() error { return d.set(project.Pause, reason) })
}

// Abort stops everything that runs; with goal, the goal is given up too.
func (d *Service) Abort(ctx context.Context, reason string, goal bool) (Sprint, error) {
	if err := d.clean(text{"--reason", &reason}); err != nil {
		return Sprint{}, err
	}
	return d.control(ctx, "abort", func(s *blackboard.State, a transition.Actor) error {
		if goal {
			return transition.AbortGoal(s, reason, a, d.Now())
		}
		return transition.AbortSprint(s, reason, a, d.Now())
	}, func() error { return d.set(project.Abort, reason) })
}

// Resume ends a pause, a checkpoint or an abort.
func (d *Service) Resume(ctx context.Context, decision, note string) (Sprint, error) {
	if err := d.clean(text{"--note", &note}); err != nil {
		return Sprint{}, err
	}
	return d.control(ctx, "resume", func(s *blackboard.State, a transition.Actor) error {
		if len(d.Orders(s)) == 0 && s.Sprint != nil && s.Sprint.Status != blackboard.AtCheckpoint && s.Sprint.Status != blackboard.Aborted {
			return &transition.Refusal{Guard: "G06", Exit: transition.ExitNothing, Next: "liza status", Message: "nothing is paused, at a checkpoint or aborted"}
		}
		return transition.ResumeSprint(s, decision, note, a, d.Now())
	}, func() error {
		if decision == "STOP" {
			return d.set(project.Abort, "STOP "+note)
		}
		for _, c := range []project.Control{project.Pause, project.Checkpoint, project.Abort} {
			if err := d.Project.Clear(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// control changes the file when the change of the state is certain, and before that is
// written: a verb that is refused leaves no file, and nobody who follows the files
// (FollowControl) finds the two apart.
func (d *Service) control(ctx context.Context, op string, change func(*blackboard.State, transition.Actor) error, file func() error) (Sprint, error) {
	var out Sprint
	err := d.updateAhead(ctx, op, func([]store.Gone) error { return file() }, func(s *blackboard.State, a transition.Actor) error {
		if err := d.person(s, a, op); err != nil {
			return err
		}
		if err := change(s, a); err != nil {
			return err
		}
		if s.Sprint != nil {
			out.Sprint = s.Sprint.Status
		}
		return nil
	})
	return out, err
}

// Rel is a path as people know it: relative to the project root.
func (d *Service) Rel(path string) string {
	if r, err := filepath.Rel(d.Project.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
