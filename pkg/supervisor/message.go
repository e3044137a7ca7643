package supervisor

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/outcome"
	"liza/pkg/role"
)

// maxOutput is how much of an output is on the board; the rest is in its file.
const maxOutput = 2000

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

func outputOf(text string, exitCode int, path string) blackboard.Output {
	o := blackboard.Output{Text: text, Bytes: len(text), ExitCode: exitCode, Path: path}
	if len(text) > maxOutput {
		o.Text = strings.ToValidUTF8(text[:maxOutput], "")
	}
	return o
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
