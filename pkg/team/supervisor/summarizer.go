package supervisor

import (
	"context"
	"errors"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// tryLock is how long the lock of the summarizer is waited for: who does not get it at once
// leaves the work to the one that has it.
const tryLock = 20 * time.Millisecond

// A summarizer shortens facts and entries while its supervisor has nothing else to do.
type summarizer struct {
	*member
	prompts  *prompts
	launcher *launcher
	lease    *leaseKeeper
	Slots    *Slots
	Task     string // the one task of the supervisor; then it summarizes nothing
	PID      int
	refused  verb.Refused
}

// summarize lets the summarizer shorten facts or entries, when that is due and this
// supervisor has nothing else to do (specs/roles-and-knowledge.md#6.3, specs/roles-and-knowledge.md#6.4). It takes no slot that work
// could have.
func (s *summarizer) summarize(ctx context.Context, st *blackboard.State) (did bool, err error) {
	if s.Task != "" {
		return false, nil
	}
	if s.refused == nil {
		s.refused = verb.Refused{}
	}
	job, err := s.Service.Knowledge.Condensing(ctx, st, s.refused)
	if err != nil || job == nil {
		return false, err
	}
	free, ok := s.Slots.try()
	if !ok {
		return false, nil
	}
	defer free()
	soon, cancel := context.WithTimeout(ctx, tryLock)
	unlock, err := safefile.Lock(soon, s.Service.Board.Project.SummarizeLock(), safefile.Holder{PID: s.PID, Agent: s.ID, Op: "summarize"})
	cancel()
	if _, held := errors.AsType[*safefile.HeldError](err); held {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if st, err = s.Service.Board.View(ctx); err != nil {
		return false, err
	}
	if job, err = s.Service.Knowledge.Condensing(ctx, st, s.refused); err != nil || job == nil { // another one may have been faster
		return false, err
	}
	return true, s.condense(ctx, job)
}

// condense is one run of the summarizer. It has no id, no broker and no verbs.
func (s *summarizer) condense(ctx context.Context, job *verb.Condense) error {
	what := "entries"
	if job.Facts {
		what = "facts"
	}
	s.say("", "summarizes %s", what)
	guarded, release := s.lease.guard(ctx)
	defer release()
	x, err := s.runSummarizer(guarded, job)
	defer s.launcher.closeRun(ctx, x, err)
	if guarded.Err() != nil {
		return nil // the one who ended it is seen by the caller
	}
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case x.result.Outcome != agent.Finished && x.result.Outcome != agent.Reask && x.answer.Exit == nil:
		why = string(x.result.Outcome) + ": " + x.result.Error
	}
	if why != "" {
		s.warn("", "the summarizer failed: %s", why)
		return s.Service.Knowledge.CannotCondense(ctx, job, why)
	}
	refused, err := s.Service.Knowledge.Condensed(ctx, job, x.answer)
	if err != nil {
		return err
	}
	if refused != "" {
		x.outcome(outcome.Report{Effect: outcome.Reask, Problem: refused})
		s.warn("", "the summary of the %s was refused: %s", what, refused)
		return nil
	}
	x.outcome(outcome.Report{Effect: outcome.Applied, Action: exitcmd.Completed})
	s.say("", "summarized %s (%s)", what, cost(x.result))
	return nil
}

// runSummarizer starts the program, and keeps what it cost.
func (s *summarizer) runSummarizer(ctx context.Context, job *verb.Condense) (*run, error) {
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	u := &unit{board: s.Service, shorten: &prompt.Shorten{Facts: job.Facts, Text: job.Text}}
	b, err := s.prompts.told(ctx, nil)(s.prompts.brief(ctx, role.Summarizer, st, nil, u, nil))
	if err != nil {
		return nil, err
	}
	root := s.Service.Board.Project.Root
	return s.launcher.launch(ctx, agent.Spec{Dir: root, Worktree: root, Role: string(role.Summarizer), TaskID: board.SummarizerRuns}, b, st, u, "")
}
