package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/merge"
	"liza/pkg/transition"
)

// unverified is a *transition.Refusal when work may not be merged although a command fails with it and without it: a person has
// to be asked, or has said stop, or integration.unverified refuses it. asks says whether the question is put on the board.
func (d *Service) unverified(ctx context.Context, command string, asks bool) error {
	setting := d.Config().Integration.Unverified
	if setting == "allow" {
		return nil
	}
	wait := func(next, why string) error {
		return &transition.Refusal{Guard: merge.WaitsForChecks, Exit: transition.ExitRefused, Next: next,
			Message: fmt.Sprintf("the check %q verifies nothing: it fails without the work too, %s; approved work waits", command, why)}
	}
	if setting == "refuse" {
		return wait("liza check", "and integration.unverified refuses that")
	}
	if d.GreenHere(command) {
		return nil
	}
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	q := s.UnverifiedQuestion(command)
	if q == nil && asks {
		text := fmt.Sprintf("The check %q has never passed where Liza runs it: it fails on %s without any work, so it verifies nothing. Merge approved work unchecked (%s), or let it wait until the check passes (%s)? liza check shows the failure.",
			command, s.IntegrationBranch(), blackboard.AnswerGoOn, blackboard.AnswerStop)
		err := d.asSystem(ctx, func(s *blackboard.State) {
			copied := *transition.AskUnverified(s, command, text, d.Now())
			q = &copied
		})
		if err != nil {
			return err
		}
		d.Progressf("question %s: %s next: liza answer %s '%s'", q.ID, text, q.ID, blackboard.AnswerGoOn)
	}
	switch {
	case q == nil:
		return wait("liza merge", "and a person has not been asked yet")
	case q.Status == blackboard.QuestionOpen:
		return wait("liza answer "+q.ID+" '"+blackboard.AnswerGoOn+"'", "and a person is asked")
	case q.Answer != blackboard.AnswerGoOn:
		return wait("liza answer "+q.ID+" '"+blackboard.AnswerGoOn+"'", "and "+q.By+" said "+blackboard.AnswerStop)
	}
	return nil
}

// waitsUnverified is unverified for a candidate whose checks ran before: they need not run again to say that it waits.
func (d *Service) waitsUnverified(ctx context.Context, candidate string) error {
	known, err := d.readBaseline()
	if err != nil || !slices.ContainsFunc(known, func(r BaseResult) bool { return r.End.Failed }) {
		return nil
	}
	commands := d.Config().Integration.Checks
	if len(commands) == 0 {
		if _, err := d.Repo.ReadFile(ctx, candidate, merge.Script); errors.Is(err, git.ErrNotFound) {
			return nil
		}
		commands = []string{"./" + merge.Script}
	}
	for _, command := range slices.Concat(commands, d.Config().Hooks.PreMerge) {
		key, err := d.baseKey(ctx, candidate, command)
		if err != nil {
			return nil // the checks will say what is wrong
		}
		if !slices.ContainsFunc(known, func(r BaseResult) bool { return r.Key == key && r.End.Failed }) {
			continue
		}
		if err := d.unverified(ctx, command, false); err != nil {
			return err
		}
	}
	return nil
}

// failedBefore remembers that a command failed on the candidate, with the failures of its base, while the candidate waits.
func (d *Service) failedBefore(ctx context.Context, candidate, command, log string, exit int) {
	key, err := d.baseKey(ctx, candidate, command)
	if err != nil {
		return
	}
	r := BaseResult{Key: key, Check: integrationCheck, Command: command, Commit: candidate, Candidate: true, At: blackboard.TimeOf(d.Now())}
	r.End.Failed, r.End.ExitCode, r.End.Log = true, exit, log
	err = d.changeBaseline(ctx, func(known []BaseResult) []BaseResult {
		return append(slices.DeleteFunc(known, func(k BaseResult) bool { return k.Key == key }), r)
	})
	if err != nil && ctx.Err() == nil {
		d.Progressf("%v", err)
	}
}

// settled ends the question about a command that passes here for the first time.
func (d *Service) settled(ctx context.Context, command string) {
	s, err := d.View(ctx)
	if err == nil && s.UnverifiedQuestion(command) != nil {
		err = d.asSystem(ctx, func(s *blackboard.State) { transition.SettleUnverified(s, command) })
	}
	if err != nil && ctx.Err() == nil {
		d.Progressf("%v", err)
	}
}
