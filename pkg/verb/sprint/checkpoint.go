package sprint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// Checkpoint stops the sprint for people and writes the summary (specs/protocol.md#13.6).
func Checkpoint(ctx context.Context, d *verb.Service, message string) (Sprint, error) {
	return checkpoint(ctx, d, "", message, false, func(s *blackboard.State, a transition.Actor) (transition.Actor, error) {
		return a, d.Board.OnlyPerson(s, a, "checkpoint")
	})
}

// SystemCheckpoint is Checkpoint by the system: the deadline has passed, a limit is reached. cause is one of the constants of
// blackboard.Checkpoint, or "".
func SystemCheckpoint(ctx context.Context, d *verb.Service, cause, message string) (Sprint, error) {
	return checkpoint(ctx, d, cause, message, false, system(d))
}

// CheckpointUntilAnswered is SystemCheckpoint for a planner that is stuck. When questions are open, their answers end it.
func CheckpointUntilAnswered(ctx context.Context, d *verb.Service, cause, message string) (Sprint, error) {
	return checkpoint(ctx, d, cause, message, true, system(d))
}

func system(d *verb.Service) func(*blackboard.State, transition.Actor) (transition.Actor, error) {
	return func(*blackboard.State, transition.Actor) (transition.Actor, error) {
		return transition.SystemActor(d.Board.Facts()), nil
	}
}

// summaryTime is how long the writer of a checkpoint may take for its summary.
const summaryTime = 5 * time.Second

// checkpoint is the one way into CHECKPOINT but for the circuit breaker's own write: file,
// status and summary (S01).
func checkpoint(ctx context.Context, d *verb.Service, cause, message string, answers bool, who func(*blackboard.State, transition.Actor) (transition.Actor, error)) (Sprint, error) {
	var out Sprint
	if err := d.Board.Clean(board.Text{Name: "--reason", Value: &message}); err != nil {
		return out, err
	}
	if _, set := d.Board.Project.Controls().Order(project.Checkpoint); set && !d.Board.Shared() {
		return out, &transition.Refusal{Guard: "G06", Exit: transition.ExitRefused, Next: "liza resume", Message: "already " + d.Board.Control()}
	}
	var file string
	stop := func([]store.Gone) error { return d.Board.SetControl(project.Checkpoint, message) }
	err := d.Board.UpdateAhead(ctx, "checkpoint", stop, func(s *blackboard.State, a transition.Actor) error {
		a, err := who(s, a)
		if err != nil {
			return err
		}
		file = summaryOf(d, s)
		out = Sprint{Sprint: blackboard.AtCheckpoint, File: d.Board.Rel(file)}
		if err := transition.CheckpointSprint(s, cause, message, out.File, a, d.Board.Now()); err != nil {
			return err
		}
		if answers {
			transition.WaitForAnswers(s)
		}
		return nil
	})
	if err != nil {
		return Sprint{}, err
	}
	return out, d.Board.WriteSummary(ctx, file, message)
}

// FollowControl lets the sprint's status follow the control files that people made or
// removed by hand (specs/protocol.md#5.3), and writes a summary that a killed process did not. It
// writes only when something is missing. What it decides it decides again under the lock:
// a verb changes file and status together.
func FollowControl(ctx context.Context, d *verb.Service) error {
	s, err := d.Board.View(ctx)
	if err != nil {
		return err
	}
	_, err = Follow(ctx, d, s)
	return err
}

// Follow is FollowControl for who has just looked at the board; changed: it has to look again.
func Follow(ctx context.Context, d *verb.Service, s *blackboard.State) (changed bool, err error) {
	if s.Sprint == nil {
		return false, nil
	}
	if followed, err := d.Board.Breaker().FollowBreaker(ctx, s); followed || err != nil {
		return true, err
	}
	want := wanted(d, s)
	if want == "" {
		return false, makeUpSummary(ctx, d, s)
	}
	var file, message string
	err = d.Board.Update(ctx, want, func(s *blackboard.State, _ transition.Actor) error {
		file = ""
		if s.Sprint == nil || wanted(d, s) != want {
			return nil // somebody else was faster
		}
		human := transition.Actor{ID: blackboard.Human, Name: blackboard.Human, Facts: d.Board.Facts()}
		switch want {
		case "abort":
			order, _ := d.Board.Project.Controls().Order(project.Abort)
			return transition.AbortSprint(s, order.Reason, human, d.Board.Now())
		case "checkpoint":
			order, _ := d.Board.Project.Controls().Order(project.Checkpoint)
			file, message = summaryOf(d, s), order.Reason
			return transition.CheckpointSprint(s, "", message, d.Board.Rel(file), human, d.Board.Now())
		}
		return transition.ResumeSprint(s, "", "the control file was removed", human, d.Board.Now())
	})
	if err != nil || file == "" {
		return true, err
	}
	return true, d.Board.WriteSummary(ctx, file, message)
}

// wanted is what the control files ask of the sprint as it is: "abort", "checkpoint",
// "resume", or "" when they agree.
func wanted(d *verb.Service, s *blackboard.State) string {
	if d.Board.Shared() {
		return "" // it says itself what all hosts do
	}
	_, stopped := d.Board.Project.Controls().Order(project.Checkpoint)
	_, aborted := d.Board.Project.Controls().Order(project.Abort)
	switch st := s.Sprint.Status; {
	case aborted && (st == blackboard.InProgress || st == blackboard.AtCheckpoint):
		return "abort"
	case stopped && st == blackboard.InProgress:
		return "checkpoint"
	case s.CircuitBreaker != nil && s.CircuitBreaker.Status == blackboard.BreakerTripped:
	case !stopped && st == blackboard.AtCheckpoint, !aborted && st == blackboard.Aborted && s.Goal != nil && s.Goal.Status == blackboard.InProgress:
		return "resume"
	}
	return ""
}

// Complete ends goal and sprint when everything is done (O01, S04), and then writes the
// final summary. It gives the state of the sprint.
func Complete(ctx context.Context, d *verb.Service, facts transition.CompletionFacts) (transition.Completion, error) {
	var c transition.Completion
	var file string
	var err error
	if facts.Integration, err = d.Integration.MissingWork(ctx); err != nil {
		return c, err
	}
	err = d.Board.Update(ctx, "complete", func(s *blackboard.State, _ transition.Actor) error {
		ended := false
		file = ""
		if c, ended = transition.CompleteGoal(s, facts, d.Board.Now()); ended {
			file = summaryOf(d, s)
		}
		return nil
	})
	if err != nil || file == "" {
		return c, err
	}
	message := "every task is done"
	if c == transition.CompletionNothingMerged {
		message = "every task is terminal, and none was merged"
	}
	return c, d.Board.WriteSummary(ctx, file, message)
}

// makeUpSummary writes the summary of the checkpoint at which the sprint is, if its writer
// was killed before.
func makeUpSummary(ctx context.Context, d *verb.Service, s *blackboard.State) error {
	n := len(s.Sprint.Checkpoints)
	if s.Sprint.Status != blackboard.AtCheckpoint || n == 0 || s.Sprint.Checkpoints[n-1] == nil || s.Sprint.Checkpoints[n-1].File == "" {
		return nil
	}
	c := s.Sprint.Checkpoints[n-1]
	file := filepath.Join(d.Board.Project.Root, filepath.FromSlash(c.File))
	if !filepath.IsLocal(c.File) {
		return nil // a person's own
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if at, ok := c.At.At(); ok && d.Board.Now().Sub(at) < summaryTime {
		return nil // it may be being written
	}
	return d.Board.WriteSummary(ctx, file, c.Message)
}

// summaryOf is where the summary of the sprint's next checkpoint goes.
func summaryOf(d *verb.Service, s *blackboard.State) string {
	n := 1
	if s.Sprint != nil {
		n = len(s.Sprint.Checkpoints) + 1
	}
	return d.Board.CheckpointFile(n, d.Board.Now())
}
