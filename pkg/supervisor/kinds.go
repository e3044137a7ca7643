package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/review"
	"liza/pkg/role"
	"liza/pkg/verb"
)

// runKind performs a task of another kind than code for its coder (protocol 4.5).
func (s *Supervisor) runKind(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (bool, time.Duration, error) {
	switch t.KindOf() {
	case "msg":
		return s.runMessage(ctx, u, st, t)
	case "exec":
		return false, 0, s.runCommand(ctx, t)
	}
	_, err := s.Desk.Block(ctx, verb.BlockInput{Task: t.ID, Reason: "no skill is installed that could do this task",
		Questions: []string{"Should the task be done as code or as a command instead?"}})
	return false, 0, err
}

// maxOutput is how much of an output stands on the board; the rest is in its file.
const maxOutput = 2000

// runMessage lets the messenger write the text. It has no id, no token and no verbs.
func (s *Supervisor) runMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (bool, time.Duration, error) {
	text := s.Desk.Mask(strings.TrimSpace(t.Description))
	if s.Desk.Config().Messenger.Mode != "verbatim" {
		p, err := s.promptOf(ctx, role.Messenger, st, t)
		if err != nil {
			return false, 0, err
		}
		adapter, err := s.Adapter(p.program)
		if err != nil {
			return false, 0, s.cannotStart(ctx, u, err)
		}
		root := s.Desk.Project.Root
		r, err := s.launch(ctx, adapter, agent.Spec{Dir: root, Worktree: root, Prompt: p.Text, Model: p.model, Role: string(role.Messenger), TaskID: t.ID}, p, st, t.ID, t.ID)
		defer s.closeRecord(ctx, nil)
		if err != nil || errors.Is(context.Cause(ctx), errLost) {
			return false, 0, err
		}
		if text = s.messageOf(r); text == "" {
			return s.noMessage(context.WithoutCancel(ctx), ctx, u, r)
		}
		s.current.outcome(verb.Outcome{Effect: verb.Applied})
	}
	done, err := s.Desk.Deliver(ctx, t.ID, outputOf(text, 0, ""), firstLine(text))
	if err == nil {
		s.say(t.ID, "%s: %s", done.Status, firstLine(text))
	}
	return false, 0, err
}

// noMessage says what becomes of a message whose writer gave no text.
func (s *Supervisor) noMessage(ctx, life context.Context, u *unit, r agent.Result) (bool, time.Duration, error) {
	switch {
	case r.Outcome == agent.Killed && life.Err() != nil:
		return false, 0, nil // the caller sees why and releases
	case r.Outcome == agent.Killed && s.last.over != nil:
		return false, 0, s.stopForLimit(ctx, u, s.last.over)
	}
	if handled, again, wait, err := s.setBack(ctx, u, r); handled {
		return again, wait, err
	}
	if u.reasks++; u.reasks <= 2 {
		return true, s.policy.CrashWait(u.reasks), nil
	}
	_, err := s.Desk.Block(ctx, verb.BlockInput{Task: u.task, Reason: "the messenger gave no text: " + string(r.Outcome) + " " + r.Error,
		Questions: []string{"What should the message say?"}, Synthetic: true})
	return false, 0, err
}

// messageOf is the text of the exit command, else the whole output of a program that
// ended well.
func (s *Supervisor) messageOf(r agent.Result) string {
	if exit, _, err := verb.ParseExit(r.Final, "messenger", false); err == nil && exit.Text != "" {
		return strings.TrimSpace(exit.Text)
	}
	if r.Outcome == agent.Finished {
		return strings.TrimSpace(r.Final)
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

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// outputSince is the end of what a command wrote to its log, without the line that names it.
func outputSince(log string, before int64) string {
	data, err := os.ReadFile(log)
	if err != nil || int64(len(data)) < before {
		return ""
	}
	_, text, _ := strings.Cut(string(data[before:]), "\n")
	return strings.ToValidUTF8(text[max(0, len(text)-maxOutput):], "")
}

// runCommand performs an exec task in its worktree. Without writes, what it changes there
// is thrown away; with writes it is committed and reviewed like code.
func (s *Supervisor) runCommand(ctx context.Context, t *blackboard.Task) error {
	cfg := s.Desk.Config()
	timeout := cfg.Limits.ExecTimeout
	if t.TimeoutSeconds > 0 {
		timeout = time.Duration(t.TimeoutSeconds) * time.Second
	}
	dir, log := s.Desk.Repo.WorktreePath(t.ID), s.Desk.Project.Output(t.ID)
	before := size(log)
	res := review.Command{Shell: t.Command, Dir: dir, Log: log, Timeout: timeout, Mask: s.Desk.MaskLog}.Run(ctx)
	if ctx.Err() != nil {
		return nil // whoever ended it decides what becomes of the claim
	}
	text := outputSince(log, before)
	if (res.ExitCode != 0 || res.Err != nil) && !t.ReviewRequired {
		_, err := s.Desk.Block(ctx, verb.BlockInput{Task: t.ID, Reason: fmt.Sprintf("the command ended with exit code %d: %s", res.ExitCode, text),
			Questions: []string{"Should the command be changed, or what it depends on?"}})
		s.warn(t.ID, "blocked: exit code %d", res.ExitCode)
		return err
	}
	if t.Writes {
		if _, _, err := s.Desk.Repo.Commit(ctx, dir, fmt.Sprintf("%s\n\nLiza-Task: %s\nLiza-Attempt: %d\n", t.TitleText(), t.ID, t.ClaimSeq)); err != nil {
			return err
		}
	} else if err := s.Desk.Repo.Discard(ctx, dir); err != nil {
		return err
	}
	done, err := s.Desk.Deliver(ctx, t.ID, outputOf(text, res.ExitCode, ".liza/output/"+t.ID+".log"), "")
	if err == nil {
		s.say(t.ID, "%s: exit code %d", done.Status, res.ExitCode)
	}
	return err
}
