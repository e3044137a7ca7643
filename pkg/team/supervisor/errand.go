package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/role"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// Errands are tasks, and items of rejections, that are not code: commands, skills and messages.
type errands struct {
	*member
	jobs     *jobs
	prompts  *prompts
	launcher *launcher
	programs *programs
	spending *spending
	Adapter  func(name string) (agent.Adapter, error)
}

func (e *errands) unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func outputPath(task string) string { return ".liza/output/" + task + ".log" }

// blockCommand stops a task whose command did not end well; out is what it gave, if it did.
func (e *errands) blockCommand(ctx context.Context, t *blackboard.Task, why string, end jobEnd, out *blackboard.Output) error {
	question := cmp.Or(end.ask, "Should the command be changed, or what it depends on?")
	_, err := e.Service.Block(ctx, verb.BlockInput{Task: t.ID, Reason: strings.TrimSpace(why), Questions: []string{question}, Output: out})
	line, _, _ := strings.Cut(why, "\n")
	e.warn(t.ID, "blocked: %s", line)
	return err
}

// afterCrash says why a command is not started again after the supervisor that ran it died.
func (e *errands) afterCrash(t *blackboard.Task) string {
	if i := lastClaim(t); i > 0 && t.History[i-1] != nil && t.History[i-1].Event == blackboard.HistoryLeaseExpired && !e.Service.Board.Config().Exec.RerunAfterCrash {
		return "the supervisor died while the command ran, and exec.rerun_after_crash is false"
	}
	return ""
}

// runItems runs the items of a rejection that are not code, in order, up to the first that
// fails. What each gave is stored in it. any reports whether there was one.
func (e *errands) runItems(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (end jobEnd, any bool, err error) {
	var said []string
	for _, f := range t.Fixes {
		if f == nil || f.Done || f.Kind == "" || f.Kind == blackboard.CodeTask {
			continue
		}
		any = true
		if end, err = e.runItem(ctx, u, st, t, f); err != nil || ctx.Err() != nil {
			return end, any, err
		}
		said = append(said, fmt.Sprintf("item %d, exit code %d: %s", f.N, end.code, end.text))
		if err := u.board.ItemDone(ctx, t.ID, f.N, end.code, strings.TrimSpace(strings.TrimPrefix(end.why+"\n"+end.text, "\n"))); err != nil {
			return end, any, err
		}
		if end.failed() {
			break
		}
	}
	end.text, end.ran = tail(strings.Join(said, "\n")), any // a denied item is for the reviewer
	return end, any, nil
}

func (e *errands) runItem(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task, f *blackboard.Fix) (jobEnd, error) {
	e.say(t.ID, "item %d of the rejection: %s %s", f.N, f.Kind, cmp.Or(f.Skill, prose.FirstLine(f.Detail)))
	if f.Kind != blackboard.MessageTask {
		return e.jobs.runJob(ctx, u, st, t, job{kind: f.Kind, command: f.Detail, skill: f.Skill, args: f.Args, secrets: t.Secrets, timeout: t.TimeoutSeconds})
	}
	if why := u.board.Board.MayStart(st, t, blackboard.MessageTask); why != "" {
		return refused("%s", why), nil
	}
	asked := *t
	asked.Description = f.Detail
	text, _, err := e.writeMessage(ctx, u, st, &asked)
	end := jobEnd{text: text, ran: true}
	if text == "" && err == nil {
		end.code, end.why = 1, "the messenger gave no text"
	}
	return end, err
}

// runFixesOnce runs the commands of a rejection in a coder's worktree, before its first run:
// the coder is told what came of them. t is nil when the work has ended meanwhile.
func (e *errands) runFixesOnce(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (*blackboard.State, *blackboard.Task, error) {
	if e.Role != blackboard.RoleCoder || u.fixed {
		return st, t, nil
	}
	u.fixed = true
	_, any, err := e.runItems(ctx, u, st, t)
	if err != nil || ctx.Err() != nil {
		return st, nil, e.unlessEnded(ctx, err)
	}
	if !any {
		return st, t, nil
	}
	if st, err = u.board.Board.View(ctx); err != nil {
		return st, nil, err
	}
	return st, st.Task(u.task), nil
}

// runCommand performs an exec or skill task in its worktree, or, after a rejection, the items
// that the reviewer asked for (specs/roles-and-knowledge.md#5.7). Without writes, what is changed there
// is thrown away; with writes it is committed and reviewed like code, unless the command failed.
func (e *errands) runCommand(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) error {
	if why := e.afterCrash(t); why != "" {
		return e.blockCommand(ctx, t, why, jobEnd{}, nil)
	}
	dir := e.Service.Board.Repo.WorktreePath(t.ID)
	before, err := e.Service.Board.Repo.At(ctx, dir)
	if err != nil {
		return err
	}
	end, items, err := e.runItems(ctx, u, st, t)
	if err == nil && !items {
		end, err = e.jobs.runJob(ctx, u, st, t, jobOf(t))
	}
	if err != nil || ctx.Err() != nil {
		return e.unlessEnded(ctx, err) // the one who ended it decides what becomes of the claim
	}
	if !t.Writes {
		if err := e.Service.Board.Repo.Discard(ctx, dir); err != nil {
			return err
		}
	}
	if end.failed() && (!end.ran || !t.ReviewRequired || t.ChangesFiles()) {
		out := outputOf(end.text, end.code, "")
		if t.Writes && end.ran {
			kept, err := e.jobs.putBack(ctx, t, before.Head)
			if err != nil {
				return err
			}
			end.why += prose.After("; what it had changed was saved as ", kept)
		}
		if end.ran {
			out.Path = outputPath(t.ID)
		}
		return e.blockCommand(ctx, t, "the command failed: "+end.why+"\n"+end.text, end, &out)
	}
	if t.Writes {
		if _, _, err := e.Service.Board.Repo.Commit(ctx, dir, fmt.Sprintf("%s\n\nLiza-Task: %s\nLiza-Attempt: %d\n", t.TitleText(), t.ID, t.ClaimSeq)); err != nil {
			return err
		}
	}
	done, err := u.board.Deliver(ctx, t.ID, outputOf(end.text, end.code, outputPath(t.ID)), "")
	var no *transition.Refusal
	if errors.As(err, &no) && no.Exit == transition.ExitRefused {
		return e.blockCommand(ctx, t, "what the command did cannot be handed in: "+no.Message, end, nil)
	}
	if err == nil {
		e.say(t.ID, "%s: exit code %d", done.Status, end.code)
	}
	return err
}

// maxOutput is how much of an output is on the board; the rest is in its file.
const maxOutput = 2000

// writeMessage lets the messenger write the text. It has no id, no broker and no verbs. r is the
// run of its program, if there was one.
func (e *errands) writeMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (text string, r *run, err error) {
	if e.Service.Board.Config().Messenger.Mode == "verbatim" {
		return e.Service.Board.Mask(strings.TrimSpace(t.Description)), nil, nil
	}
	p, err := e.prompts.promptOf(ctx, role.Messenger, st, t)
	if err != nil {
		return "", nil, err
	}
	if _, err := e.Adapter(p.program); err != nil {
		return "", nil, e.cannotStart(ctx, u, err)
	}
	root := e.Service.Board.Project.Root
	r, err = e.launcher.launch(ctx, agent.Spec{Dir: root, Worktree: root, Role: string(role.Messenger), TaskID: t.ID}, p, st, u, t.ID)
	defer e.launcher.closeRun(ctx, r, nil)
	if err != nil || errors.Is(context.Cause(ctx), errLost) {
		return "", nil, err
	}
	text = messageOf(r)
	if text == "" && p.program == agent.Scripted && r.result.Outcome == agent.Finished {
		text = e.Service.Board.Mask(strings.TrimSpace(t.Description)) // its run has no verb to read it with (specs/roles-and-knowledge.md#3.7)
	}
	if text != "" {
		r.outcome(outcome.Report{Effect: outcome.Applied})
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

// runKind performs a task of another kind than code for its coder (specs/protocol.md#4.5).
func (e *errands) runKind(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (next, error) {
	if why := u.board.Board.MayStart(st, t, t.KindOf()); why != "" {
		_, err := u.board.Block(ctx, verb.BlockInput{Task: t.ID, Reason: why, Questions: []string{"May the task be done for this caller, or should it be done another way?"}})
		e.warn(t.ID, "blocked: %s", why)
		return next{}, err
	}
	if t.KindOf() != blackboard.MessageTask {
		return next{}, e.runCommand(ctx, u, st, t)
	}
	if e.Service.Board.Config().Messenger.Mode != "verbatim" {
		t = sentBack(t)
	}
	return e.runMessage(ctx, u, st, t)
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
func (e *errands) runMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (next, error) {
	var r *run
	var err error
	text := ""
	if t.ReviewCyclesTotal == 0 { // what a reviewer has rejected is not said again
		text = toldMessage(st, t.ID)
	}
	if text == "" {
		text, r, err = e.writeMessage(ctx, u, st, t)
	}
	switch {
	case err != nil || errors.Is(context.Cause(ctx), errLost):
		return next{}, err
	case text == "" && r != nil:
		return e.noMessage(context.WithoutCancel(ctx), ctx, u, r)
	}
	done, err := u.board.Deliver(ctx, t.ID, outputOf(text, 0, ""), prose.FirstLine(text))
	if err == nil {
		e.say(t.ID, "%s: %s", done.Status, prose.FirstLine(text))
	}
	return next{}, err
}

// noMessage says what becomes of a message whose writer gave no text.
func (e *errands) noMessage(ctx, life context.Context, u *unit, r *run) (next, error) {
	switch {
	case r.result.Outcome == agent.Killed && life.Err() != nil:
		return next{}, nil // the caller sees why and releases
	case r.stopped():
		return next{}, e.spending.stopForLimit(ctx, u, r.over)
	}
	if n, handled, err := e.programs.setBack(ctx, u, r); handled {
		return n, err
	}
	if u.reasks++; u.reasks <= 2 {
		return next{again: true, wait: crashWaits.after(u.reasks)}, nil
	}
	_, err := u.board.Block(ctx, verb.BlockInput{Task: u.task, Reason: "the messenger gave no text: " + string(r.result.Outcome) + " " + r.result.Error,
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
