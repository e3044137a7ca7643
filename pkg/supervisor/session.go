package supervisor

import (
	"context"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// conversation is the one that a run resumes: that of the answer which is asked for again, or
// the coder's own from before a rejection. Another program, or another coder, begins a new one.
func (s *Supervisor) conversation(u *unit, t *blackboard.Task, program string) *blackboard.Conversation {
	switch {
	case u.talk != nil && u.with == program:
		return u.talk
	case u.fresh || u.talk != nil || s.Role != blackboard.RoleCoder || t == nil:
		return nil
	}
	if i := lastClaim(t); i < 0 || t.History[i].Event != blackboard.HistoryReclaimed {
		return nil
	}
	return transition.Conversation(t, s.ID, program)
}

// conversed is the conversation after a run, with all that it has used so far.
func conversed(before *blackboard.Conversation, r agent.Result) *blackboard.Conversation {
	if r.Session == "" {
		return nil
	}
	c := &blackboard.Conversation{ID: r.Session, TokensIn: r.Usage.TokensIn, TokensOut: r.Usage.TokensOut, TokensCached: r.Usage.TokensCached}
	if before != nil {
		c.TokensIn += before.TokensIn
		c.TokensOut += before.TokensOut
		c.TokensCached += before.TokensCached
	}
	return c
}

// restartTalk is for a conversation that its program does not know any more: the same is asked
// in a new one, and nothing has happened.
func (s *Supervisor) restartTalk(u *unit, r *run) next {
	u.talk, u.fresh = nil, true
	s.warn(u.task, "%s does not know the earlier conversation any more; a new one begins", r.program())
	return next{again: true}
}

// submitAgain hands a commit in without running a coder, when an earlier run has done the work: its
// review was halted (specs/roles-and-knowledge.md#8.3), or its supervisor died before it could hand it in.
func (s *Supervisor) submitAgain(ctx context.Context, task string) (bool, error) {
	if s.Role != blackboard.RoleCoder {
		return false, nil
	}
	st, err := s.Service.View(ctx)
	if err != nil {
		return false, err
	}
	t := st.Task(task)
	if t == nil || t.KindOf() != blackboard.CodeTask {
		return false, nil
	}
	in, why := resubmission(t)
	if in.Commit == "" {
		return false, nil
	}
	w, err := s.Service.Repo.Inspect(ctx, s.Service.Repo.WorktreePath(task))
	if err != nil || len(w.Dirty) > 0 || w.Head != in.Commit {
		return false, nil
	}
	done, err := s.Service.Submit(ctx, in)
	if isRefused(err) {
		return false, nil // a coder has to look
	}
	if err == nil {
		s.say(task, "%s: %s %s; no coder is needed", done.Status, short(in.Commit), why)
	}
	return true, err
}

// resubmission returns the commit that an earlier run has finished, without one when there is none, and
// why it was not judged.
func resubmission(t *blackboard.Task) (verb.SubmitInput, string) {
	in := verb.SubmitInput{Task: t.ID}
	switch done := t.FinishedRun(t.ClaimSeq - 1); {
	case t.ReviewCommit != "" && !t.IntegrationFix && afterResubmit(t):
		if in.Commit = t.ReviewCommit; t.NoTests != nil {
			in.NoTests = t.NoTests.Reason
		}
		return in, "was not judged before the limit"
	case done != nil:
		in.Commit, in.Summary = done.Commit, done.Summary
		if t.LastOutcome != nil {
			in.Evidence = t.LastOutcome.EvidenceFiles
		}
		return in, "was finished when its supervisor ended"
	}
	return in, ""
}

// afterResubmit reports whether the last claim of a task is the first one since a person let it
// go on after a halt.
func afterResubmit(t *blackboard.Task) bool {
	i := lastClaim(t)
	if i < 2 || t.History[i-1] == nil || t.History[i-1].Event != blackboard.HistoryUnblocked {
		return false
	}
	b := t.History[i-2]
	return b != nil && b.Event == blackboard.HistoryBlocked && b.Halt != nil
}
