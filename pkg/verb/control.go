package verb

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/project"
)

type timeT = time.Time

// Control says why nothing new may start: "paused since T: reason", "" when open. ABORT
// wins over the others (D15).
func (d *Desk) Control() string {
	if orders := d.Project.Orders(); len(orders) > 0 {
		return orders[0].String()
	}
	return ""
}

// NoteInput is a note of a person.
type NoteInput struct {
	Text, Task, ID string
}

// Noted is the result of a note.
type Noted struct {
	ID      string `json:"id"`
	Already bool   `json:"already_done,omitempty"`
}

// Note leaves a note for the planner, or for a task's next run.
func (d *Desk) Note(ctx context.Context, in NoteInput) (Noted, error) {
	if err := d.clean(text{"the note", &in.Text}); err != nil {
		return Noted{}, err
	}
	if most := d.Config().Limits.MaxNoteBytes; most > 0 && len(in.Text) > most {
		return Noted{}, usage("liza help note", "the note has %d bytes; %d is the limit (limits.max_note_bytes)", len(in.Text), most)
	}
	var out Noted
	err := d.Update(ctx, "note", func(s *blackboard.State, a blackboard.Actor) error {
		if a.ID != blackboard.Human || a.Inside != "" {
			if _, err := s.Identify(a, d.Now()); err != nil {
				return err
			}
			return &blackboard.Refusal{Guard: "G03", Exit: blackboard.ExitRefused, Next: "liza discover TEXT --task ID", Message: "notes are for people; an agent uses discover or anomaly"}
		}
		n := &blackboard.Note{ID: in.ID, Message: in.Text, For: in.Task, By: d.Caller.Person, CallerRole: d.callerRole()}
		if err := s.AddNote(n, a, d.Now()); err != nil {
			return err
		}
		out.ID = n.ID
		return nil
	})
	if blackboard.IsAlreadyDone(err) {
		return Noted{ID: in.ID, Already: true}, nil
	}
	return out, err
}

func (d *Desk) callerRole() string {
	if role := d.Config().Policy.Callers[d.Caller.Person]; role != "" {
		return role
	}
	return "admin"
}

// person refuses agents: a control verb is for people.
func (d *Desk) person(s *blackboard.State, a blackboard.Actor, what string) error {
	party, err := s.Identify(a, d.Now())
	if err != nil {
		return err
	}
	if party&blackboard.ByHuman == 0 {
		return &blackboard.Refusal{Guard: "G03", Exit: blackboard.ExitRefused, Next: "liza status", Message: fmt.Sprintf("%s may not %s; human may", a.ID, what)}
	}
	return nil
}

// Sprint is the result of a control verb.
type Sprint struct {
	Sprint string `json:"sprint"`
	File   string `json:"file,omitempty"`
}

// Pause lets nothing new start; what runs goes on.
func (d *Desk) Pause(ctx context.Context, reason string) (Sprint, error) {
	if err := d.clean(text{"--reason", &reason}); err != nil {
		return Sprint{}, err
	}
	return d.control(ctx, "pause", func(s *blackboard.State, a blackboard.Actor) error {
		if _, set := d.Project.Order(project.Pause); set {
			return &blackboard.Refusal{Guard: "G07", Exit: blackboard.ExitRefused, Next: "liza resume", Message: "already " + d.Control()}
		}
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: "paused", Detail: reason})
		return nil
	}, func() error { return d.Project.Set(project.Pause, reason, d.Now()) })
}

// Abort stops everything that runs; with goal, the goal is given up too.
func (d *Desk) Abort(ctx context.Context, reason string, goal bool) (Sprint, error) {
	if err := d.clean(text{"--reason", &reason}); err != nil {
		return Sprint{}, err
	}
	return d.control(ctx, "abort", func(s *blackboard.State, a blackboard.Actor) error {
		if goal {
			return s.AbortGoal(reason, a, d.Now())
		}
		return s.AbortSprint(reason, a, d.Now())
	}, func() error { return d.Project.Set(project.Abort, reason, d.Now()) })
}

// Checkpoint stops the sprint for people and writes the summary (protocol 13.6).
func (d *Desk) Checkpoint(ctx context.Context, message string) (Sprint, error) {
	return d.checkpoint(ctx, message, func(s *blackboard.State, a blackboard.Actor) (blackboard.Actor, error) {
		return a, d.person(s, a, "checkpoint")
	})
}

// SystemCheckpoint is Checkpoint by the system: a planner is stuck, a limit is reached.
func (d *Desk) SystemCheckpoint(ctx context.Context, message string) (Sprint, error) {
	return d.checkpoint(ctx, message, func(*blackboard.State, blackboard.Actor) (blackboard.Actor, error) {
		return blackboard.SystemActor(d.Facts()), nil
	})
}

func (d *Desk) checkpoint(ctx context.Context, message string, who func(*blackboard.State, blackboard.Actor) (blackboard.Actor, error)) (Sprint, error) {
	var out Sprint
	if err := d.clean(text{"--message", &message}); err != nil {
		return out, err
	}
	if _, set := d.Project.Order(project.Checkpoint); set {
		return out, &blackboard.Refusal{Guard: "G06", Exit: blackboard.ExitRefused, Next: "liza resume", Message: "already " + d.Control()}
	}
	var file string
	err := d.Update(ctx, "checkpoint", func(s *blackboard.State, a blackboard.Actor) error {
		a, err := who(s, a)
		if err != nil {
			return err
		}
		n := 1
		if s.Sprint != nil {
			n = len(s.Sprint.Checkpoints) + 1
		}
		file = d.checkpointFile(n, d.Now())
		out.Sprint = blackboard.AtCheckpoint
		return s.CheckpointSprint(message, d.rel(file), a, d.Now())
	})
	if err != nil {
		return out, err
	}
	out.File = d.rel(file)
	if err := d.Project.Set(project.Checkpoint, message, d.Now()); err != nil {
		return out, err
	}
	return out, d.writeSummary(ctx, file, message)
}

// FollowControl lets the sprint's status follow the control files that people made or
// removed by hand (protocol 5.3). It writes only when they disagree.
func (d *Desk) FollowControl(ctx context.Context) error {
	s, err := d.View(ctx)
	if err != nil || s.Sprint == nil {
		return err
	}
	if followed, err := d.followBreaker(ctx, s); followed || err != nil {
		return err
	}
	stop, stopped := d.Project.Order(project.Checkpoint)
	abort, aborted := d.Project.Order(project.Abort)
	human := blackboard.Actor{ID: blackboard.Human, Name: blackboard.Human, Facts: d.Facts()}
	switch st := s.Sprint.Status; {
	case aborted && (st == blackboard.InProgress || st == blackboard.AtCheckpoint):
		return d.Update(ctx, "abort", func(s *blackboard.State, _ blackboard.Actor) error {
			return s.AbortSprint(abort.Reason, human, d.Now())
		})
	case stopped && st == blackboard.InProgress:
		file := d.checkpointFile(len(s.Sprint.Checkpoints)+1, d.Now())
		err := d.Update(ctx, "checkpoint", func(s *blackboard.State, _ blackboard.Actor) error {
			if s.Sprint.Status != blackboard.InProgress {
				return nil // somebody else was faster
			}
			return s.CheckpointSprint(stop.Reason, d.rel(file), human, d.Now())
		})
		if err != nil {
			return err
		}
		return d.writeSummary(ctx, file, stop.Reason)
	case !stopped && st == blackboard.AtCheckpoint, !aborted && st == blackboard.Aborted && s.Goal != nil && s.Goal.Status == blackboard.InProgress:
		if cb := s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped {
			return nil
		}
		return d.Update(ctx, "resume", func(s *blackboard.State, _ blackboard.Actor) error {
			if s.Sprint.Status == blackboard.InProgress {
				return nil
			}
			return s.ResumeSprint("", "the control file was removed", human, d.Now())
		})
	}
	return nil
}

// Resume ends a pause, a checkpoint or an abort.
func (d *Desk) Resume(ctx context.Context, decision, note string) (Sprint, error) {
	if err := d.clean(text{"--note", &note}); err != nil {
		return Sprint{}, err
	}
	set := len(d.Project.Orders()) > 0
	return d.control(ctx, "resume", func(s *blackboard.State, a blackboard.Actor) error {
		if !set && s.Sprint != nil && s.Sprint.Status != blackboard.AtCheckpoint && s.Sprint.Status != blackboard.Aborted {
			return &blackboard.Refusal{Guard: "G06", Exit: blackboard.ExitNothing, Next: "liza status", Message: "nothing is paused, at a checkpoint or aborted"}
		}
		return s.ResumeSprint(decision, note, a, d.Now())
	}, func() error {
		if decision == "STOP" {
			return d.Project.Set(project.Abort, "STOP "+note, d.Now())
		}
		for _, c := range []project.Control{project.Pause, project.Checkpoint, project.Abort} {
			if err := d.Project.Clear(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// control writes the state first and the file after it: a verb that is refused leaves no file.
func (d *Desk) control(ctx context.Context, op string, change func(*blackboard.State, blackboard.Actor) error, file func() error) (Sprint, error) {
	var out Sprint
	err := d.Update(ctx, op, func(s *blackboard.State, a blackboard.Actor) error {
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
	if err != nil {
		return out, err
	}
	return out, file()
}

// checkpointFile is where the summary of the n-th checkpoint goes.
func (d *Desk) checkpointFile(n int, now timeT) string {
	return filepath.Join(d.Project.Checkpoints(), fmt.Sprintf("%03d-%s.md", n, now.UTC().Format("20060102T150405Z")))
}

// rel is a path as people know it: relative to the project root.
func (d *Desk) rel(path string) string {
	if r, err := filepath.Rel(d.Project.Root, path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
