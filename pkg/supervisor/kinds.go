package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/verb"
)

// runKind performs a task of another kind than code for its coder (specs/protocol.md#4.5).
func (s *Supervisor) runKind(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (next, error) {
	if why := s.Service.MayStart(st, t, t.KindOf()); why != "" {
		_, err := s.Service.Block(ctx, verb.BlockInput{Task: t.ID, Reason: why, Questions: []string{"May the task be done for this caller, or should it be done another way?"}})
		s.warn(t.ID, "blocked: %s", why)
		return next{}, err
	}
	if t.KindOf() != blackboard.MessageTask {
		return next{}, s.runCommand(ctx, u, st, t)
	}
	if s.Service.Config().Messenger.Mode != "verbatim" {
		t = sentBack(t)
	}
	return s.runMessage(ctx, u, st, t)
}

// sentBack is a message task with the reason why its text was rejected, if it was.
func sentBack(t *blackboard.Task) *blackboard.Task {
	if t.RejectionReason == nil {
		return t
	}
	again := *t
	again.Description += "\n\nThe text before was sent back: " + t.RejectionReason.Summary
	for _, f := range t.Fixes {
		if f != nil && f.Detail != "" {
			again.Description += "\n- " + f.Detail
		}
	}
	return &again
}

// runMessage lets the messenger write the text, and hands it in.
func (s *Supervisor) runMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (next, error) {
	var r *run
	var err error
	text := ""
	if t.ReviewCyclesTotal == 0 { // what a reviewer has rejected is not said again
		text = toldMessage(st, t.ID)
	}
	if text == "" {
		text, r, err = s.writeMessage(ctx, u, st, t)
	}
	switch {
	case err != nil || errors.Is(context.Cause(ctx), errLost):
		return next{}, err
	case text == "" && r != nil:
		return s.noMessage(context.WithoutCancel(ctx), ctx, u, r)
	}
	done, err := s.Service.Deliver(ctx, t.ID, outputOf(text, 0, ""), prose.FirstLine(text))
	if err == nil {
		s.say(t.ID, "%s: %s", done.Status, prose.FirstLine(text))
	}
	return next{}, err
}

// noMessage says what becomes of a message whose writer gave no text.
func (s *Supervisor) noMessage(ctx, life context.Context, u *unit, r *run) (next, error) {
	switch {
	case r.result.Outcome == agent.Killed && life.Err() != nil:
		return next{}, nil // the caller sees why and releases
	case r.stopped():
		return next{}, s.stopForLimit(ctx, u, r.over)
	}
	if n, handled, err := s.setBack(ctx, u, r); handled {
		return n, err
	}
	if u.reasks++; u.reasks <= 2 {
		return next{again: true, wait: crashWaits.after(u.reasks)}, nil
	}
	_, err := s.Service.Block(ctx, verb.BlockInput{Task: u.task, Reason: "the messenger gave no text: " + string(r.result.Outcome) + " " + r.result.Error,
		Questions: []string{whatToSay}, Synthetic: true})
	return next{}, err
}

// whatToSay is asked when the messenger gives no text. The answer is the message: asking the
// messenger again would end in the same question.
const whatToSay = "What should the message say?"

// toldMessage is what a person answered to that question, "" when nobody has.
func toldMessage(st *blackboard.State, task string) string {
	for _, q := range slices.Backward(st.Questions) {
		if q != nil && q.Task == task && q.Text == whatToSay && strings.TrimSpace(q.Answer) != "" {
			return strings.TrimSpace(q.Answer)
		}
	}
	return ""
}
