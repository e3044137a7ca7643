package sprint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// ScheduleInput says what is to begin by itself, and when.
type ScheduleInput struct {
	Cron   string   `json:"cron,omitempty" arg:"[CRON]" help:"minute, hour, day of the month, month, day of the week: '0 3 * * 1-5'" unset:"the schedules are listed"`
	Do     string   `json:"do,omitempty" arg:"[goal|import|sync]" help:"what begins"`
	Args   []string `json:"args,omitempty" arg:"[TEXT…]" help:"text of the goal; or what is imported: tracker and issues, files, folders"`
	Spec   string   `json:"spec,omitempty" word:"FILE" help:"spec of the goal" unset:"that of the goal before"`
	Labels []string `json:"labels,omitempty" option:"label" word:"NAME" help:"import the open issues that have it"`
	Zone   string   `json:"zone,omitempty" word:"NAME" help:"time zone of the line, such as Europe/Berlin" unset:"yours"`
	List   bool     `json:"list,omitempty" help:"show what is scheduled"`
	Remove string   `json:"remove,omitempty" word:"ID" help:"remove a schedule"`
}

// Scheduled is the result of Schedule: the schedule with its text, or all of them.
type Scheduled struct {
	ID        string         `json:"id,omitempty"`
	Already   bool           `json:"already_done,omitempty"`
	Removed   bool           `json:"removed,omitempty"`
	Schedules []ScheduleLine `json:"schedules"`
}

// ScheduleLine is a schedule in words.
type ScheduleLine struct {
	ID   string          `json:"id"`
	Next blackboard.Time `json:"next,omitempty"`
	Text string          `json:"text"`
}

// Schedule puts work on the board that begins by itself, removes such work, or lists it.
func Schedule(ctx context.Context, d *verb.Service, in ScheduleInput) (Scheduled, error) {
	out := Scheduled{Schedules: []ScheduleLine{}}
	texts := []board.Text{{Name: "the line", Value: &in.Cron}, {Name: "--spec", Value: &in.Spec}}
	for i := range in.Args {
		texts = append(texts, board.Text{Name: "the text", Value: &in.Args[i]})
	}
	for i := range in.Labels {
		texts = append(texts, board.Text{Name: "--label", Value: &in.Labels[i]})
	}
	if err := d.Board.Clean(texts...); err != nil {
		return out, err
	}
	change := func(s *blackboard.State, a transition.Actor) error {
		x := &blackboard.Schedule{Cron: strings.Join(strings.Fields(in.Cron), " "), Zone: in.Zone, Do: in.Do, Args: in.Args, Labels: in.Labels, Spec: in.Spec}
		err := transition.AddSchedule(s, x, a, d.Board.Now())
		out.ID, out.Already = x.ID, transition.IsAlreadyDone(err)
		return err
	}
	switch {
	case in.Remove != "" && (in.Cron != "" || in.List):
		return out, board.WrongUsage("liza help schedule", "--remove excludes the other options")
	case in.Remove != "":
		change = func(s *blackboard.State, a transition.Actor) error {
			out.ID, out.Removed = in.Remove, true
			return transition.RemoveSchedule(s, in.Remove, a, d.Board.Now())
		}
	case in.List || in.Cron == "":
		s, err := d.Board.View(ctx)
		if err == nil {
			out.add(d, s, "")
		}
		return out, err
	case in.Zone == "" && d.Board.Zone == "":
		return out, board.WrongUsage("liza help schedule", "this machine does not tell your time zone: give --zone, such as --zone Europe/Berlin")
	case in.Zone == "":
		in.Zone = d.Board.Zone
	}
	if in.Spec != "" && !d.Board.SpecExists(in.Spec) {
		return out, board.Fail("write "+in.Spec+", or name another file with --spec", "the spec file %s does not exist", in.Spec)
	}
	if err := d.Board.PersonOnly(ctx, "schedule work"); err != nil {
		return out, err
	}
	err := d.Board.Update(ctx, "schedule", func(s *blackboard.State, a transition.Actor) error {
		if err := d.Board.OnlyPerson(s, a, "schedule work"); err != nil {
			return err
		}
		err := change(s, a)
		out.Schedules = out.Schedules[:0]
		out.add(d, s, out.ID)
		return err
	})
	if out.Already {
		err = nil
	}
	return out, err
}

// add appends the lines of the schedule with that id, or, without one, of all.
func (o *Scheduled) add(d *verb.Service, s *blackboard.State, id string) {
	for _, x := range s.Schedules {
		if id == "" || x.ID == id {
			o.Schedules = append(o.Schedules, ScheduleLine{x.ID, x.Next, transition.ScheduleText(s, x, d.Board.ControlOn(s), d.Board.Now())})
		}
	}
}

// outsideTime is how long work outside of the board may take: less than a turn, which another process may take over then.
const outsideTime = 10 * time.Minute

var errNotDue = errors.New("nothing is due")

// An Outside does what a schedule asks for besides its goal, and says what came of it. It may be repeated when it was interrupted.
// For the goal of an issue it returns the change that brings the text to the board.
type Outside func(context.Context, blackboard.Schedule) (string, func(*blackboard.State, transition.Actor) error, error)

// CarryOut does what one schedule that is due asks for, and says what came of it; "": none is due. turn is this process. A goal
// begins, with the issue that it is made of, in the write that ends the turn.
func CarryOut(ctx context.Context, d *verb.Service, turn blackboard.Turn, outside Outside) (string, error) {
	s, err := d.Board.View(ctx)
	if err != nil || transition.NextScheduled(s, d.Board.ControlOn(s), d.Board.Facts(), d.Board.Now()) == nil {
		return "", err
	}
	turn.Host, turn.BootID = d.Board.Proc.Host, d.Board.Proc.BootID
	var x blackboard.Schedule
	err = d.Board.Update(ctx, "schedule", func(s *blackboard.State, _ transition.Actor) error {
		got := transition.NextScheduled(s, d.Board.ControlOn(s), d.Board.Facts(), d.Board.Now())
		if got == nil {
			return errNotDue
		}
		transition.TakeScheduled(got, &turn, d.Board.Now())
		x = *got
		return nil
	})
	if errors.Is(err, errNotDue) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	d.Board.Failpoint("schedule.taken")
	var result string
	end := func(s *blackboard.State) error {
		if err == nil && x.Do == blackboard.ScheduleGoal {
			result = s.Goal.ID + " begins"
		}
		return transition.EndScheduled(s, x.ID, turn, result, err != nil, d.Board.Now())
	}
	with := func(*blackboard.State, transition.Actor) error { return nil }
	if x.Do != blackboard.ScheduleGoal || len(x.Args) > 1 {
		within, cancel := context.WithTimeout(ctx, outsideTime)
		result, with, err = outside(within, x)
		cancel()
		d.Board.Failpoint("schedule.done")
	}
	if err == nil && x.Do == blackboard.ScheduleGoal {
		both := func(s *blackboard.State, a transition.Actor) error { return errors.Join(with(s, a), end(s)) }
		if _, err = NextGoal(ctx, d, GoalInput{Text: x.Args[0], Spec: x.Spec, With: both}); err == nil {
			return x.ID + ": " + result, nil
		}
	}
	if ctx.Err() != nil { // the next one begins it again
		return "", nil
	}
	if err != nil {
		result = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	wrong := d.Board.Update(ctx, "schedule", func(s *blackboard.State, _ transition.Actor) error { return end(s) })
	if err != nil {
		err = fmt.Errorf("%s failed: %w", x.ID, err)
	}
	return x.ID + ": " + result, errors.Join(err, wrong)
}
