package supervisor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/outcome"
	"liza/pkg/prose"
	"liza/pkg/role"
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

// maxOutput is how much of an output is on the board; the rest is in its file.
const maxOutput = 2000

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

// writeMessage lets the messenger write the text. It has no id, no broker and no verbs. r is the
// run of its program, if there was one.
func (s *Supervisor) writeMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (text string, r *run, err error) {
	if s.Service.Config().Messenger.Mode == "verbatim" {
		return s.Service.Mask(strings.TrimSpace(t.Description)), nil, nil
	}
	p, err := s.promptOf(ctx, role.Messenger, st, t)
	if err != nil {
		return "", nil, err
	}
	if _, err := s.Adapter(p.program); err != nil {
		return "", nil, s.cannotStart(ctx, u, err)
	}
	root := s.Service.Project.Root
	r, err = s.launch(ctx, agent.Spec{Dir: root, Worktree: root, Role: string(role.Messenger), TaskID: t.ID}, p, st, u, t.ID)
	defer s.closeRun(ctx, r, nil)
	if err != nil || errors.Is(context.Cause(ctx), errLost) {
		return "", nil, err
	}
	text = messageOf(r)
	if text == "" && p.program == agent.Scripted && r.result.Outcome == agent.Finished {
		text = s.Service.Mask(strings.TrimSpace(t.Description)) // its run has no verb to read it with (specs/roles-and-knowledge.md#3.7)
	}
	if text != "" {
		r.outcome(outcome.Outcome{Effect: outcome.Applied})
	}
	return text, r, nil
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

// messageOf is the text of the exit command, or what was said before it; without an exit command the whole output of a
// program that ended well.
func messageOf(r *run) string {
	if exit := r.answer.Exit; exit != nil {
		return cmp.Or(strings.TrimSpace(exit.Text), r.answer.Before)
	}
	if r.result.Outcome == agent.Finished {
		return strings.TrimSpace(r.result.Final)
	}
	return ""
}

func outputOf(text string, exitCode int, path string) blackboard.Output {
	o := blackboard.Output{Text: text, Bytes: len(text), ExitCode: exitCode, Path: path}
	if len(text) > maxOutput {
		o.Text = strings.ToValidUTF8(text[:maxOutput], "")
	}
	return o
}
