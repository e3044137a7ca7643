package verb

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

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

// Note leaves a note for the planner, or for a task's next run.
func (d *Service) Note(ctx context.Context, in NoteInput) (Noted, error) {
	if err := d.Clean(Text{"the note", &in.Text}); err != nil {
		return Noted{}, err
	}
	if len(in.Text) > maxNote {
		return Noted{}, WrongUsage("liza help note", "the note has %d bytes; %d is the limit", len(in.Text), maxNote)
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
