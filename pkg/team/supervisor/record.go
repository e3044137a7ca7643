package supervisor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/role"
	"liza/pkg/verb/outcome"

	"liza/pkg/verb/board"
)

// record puts the request of a run on disk, before the program starts. folder is that of
// the history: the task's, or the planner's.
func (s *Supervisor) record(ctx context.Context, st *blackboard.State, u *unit, x *run, task, folder string) *recording {
	t, b, kind := st.Task(task), x.brief, string(x.brief.role.Role.Kind)
	r := &recording{log: s.Service.Board.Histories().Interactions(folder), task: task}
	r.in = history.Interaction{Timestamp: blackboard.TimeOf(s.Service.Board.Now()), WorkspacePath: s.Service.Board.Project.Root}
	r.in.Liza = history.RunFacts{StatusBefore: boardStatus(st), Epoch: 1, ID: x.mark}
	r.in.StateBefore = history.JobState(nil, false)
	if t != nil {
		before, reviewed := s.statusBefore(u, t)
		if kind != "messenger" {
			r.in.WorkspacePath = s.folder(t)
		}
		r.in.StateBefore = history.JobState(before, reviewed)
		r.in.Liza.StatusBefore, r.in.Liza.Epoch = string(before.Status), max(t.Epoch, 1)
		r.in.Liza.CommitBefore = s.tip(ctx, task)
	}
	sum := sha256.Sum256([]byte(b.Text))
	r.in.Request = history.Request{Prompt: b.Text, FilesContext: b.Files, Metadata: history.Metadata{Role: b.role.Role.Name, Phase: r.in.StateBefore, Model: cmp.Or(b.model, "default"),
		Kind: kind, Agent: s.ID, Adapter: b.program, Reask: b.reask, Cuts: b.Cuts, PromptSHA256: hex.EncodeToString(sum[:])}}
	if t != nil {
		r.in.Request.Metadata.Iteration = t.Iteration
		if o := t.LastOutcome; o != nil { // the evidence of the run before
			r.in.Request.FilesContext = without(append(r.in.Request.FilesContext[:len(r.in.Request.FilesContext):len(r.in.Request.FilesContext)], o.EvidenceFiles...))
		}
	}
	var err error
	if r.begun, err = r.log.Begin(ctx, r.in, s.owner()); err != nil {
		s.warnHistory(ctx, task, err)
	}
	return r
}

func (s *Supervisor) owner() history.Owner {
	return history.Owner{PID: s.PID, PIDStart: s.PIDStart, Host: s.Service.Board.Proc.Host, BootID: s.Service.Board.Proc.BootID}
}

// statusBefore is the task as this run found it: for the first run of a claim as the claim
// found it, for later ones as it is.
func (s *Supervisor) statusBefore(u *unit, t *blackboard.Task) (before *blackboard.Task, reviewed bool) {
	claim := fmt.Sprint(t.ID, t.ClaimSeq, t.ReviewCommit, lastClaim(t))
	again := claim == u.claim
	u.claim = claim
	copied := *t
	if !again && s.Role == blackboard.RoleCoder {
		copied.Status = claimedFrom(t)
	}
	return &copied, again && s.Role == blackboard.RoleReviewer
}

// lastClaim is the place of the newest claim in a task's history.
func lastClaim(t *blackboard.Task) int {
	for i := len(t.History) - 1; i >= 0; i-- {
		if h := t.History[i]; h != nil && (h.Event == blackboard.HistoryReviewClaimed || claims[h.Event] != "") {
			return i
		}
	}
	return -1
}

// claims are the statuses that the claims of a task's history come from.
var claims = map[blackboard.HistoryEvent]blackboard.Status{blackboard.HistoryClaimed: blackboard.Unclaimed, blackboard.HistoryReclaimed: blackboard.Rejected,
	blackboard.HistoryReassigned: blackboard.Rejected, blackboard.HistoryClaimedForFix: blackboard.IntegrationFailed}

// claimedFrom is the status in which the last claim found a task.
func claimedFrom(t *blackboard.Task) blackboard.Status {
	i := lastClaim(t)
	switch {
	case i < 0:
		return t.Status
	case i > 0 && t.History[i-1] != nil && t.History[i-1].Event == blackboard.HistoryLeaseExpired:
		return blackboard.Claimed
	}
	if from := claims[t.History[i].Event]; from != "" {
		return from
	}
	return t.Status
}

// boardStatus is what planner runs start from and lead to: the status of the sprint.
func boardStatus(st *blackboard.State) string {
	if st.Sprint == nil {
		return ""
	}
	return st.Sprint.Status
}

func (s *Supervisor) tip(ctx context.Context, task string) string {
	commit, err := s.Service.Board.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return ""
	}
	return commit
}

// closeRun writes the interaction of a run that is over, when what came of it is known. x is nil when none was begun.
func (s *Supervisor) closeRun(ctx context.Context, x *run, cause error) {
	if x == nil {
		return
	}
	s.closeGit(ctx, x)
	s.closeRecord(ctx, x.record, x.answer.Exit, cause)
}

func (s *Supervisor) closeRecord(ctx context.Context, r *recording, exit *exitcmd.Exit, cause error) {
	s.lease.setRun("")
	if r == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if cause != nil {
		r.failed = cause.Error()
	}
	if st, err := s.Service.Board.View(ctx); err == nil {
		r.in.Liza.StatusAfter, r.state = boardStatus(st), history.JobState(nil, false)
		if t := st.Task(r.task); t != nil {
			r.in.Liza.StatusAfter, r.state = string(t.Status), history.JobState(t, t.ReviewingBy != "")
		}
	}
	if r.task != "" {
		r.in.Liza.CommitAfter = s.tip(ctx, r.task)
	}
	r.answer(exit)
	err := r.log.Finish(ctx, r.begun, r.in)
	if err == nil && r.in.Response.Status == history.TimedOut && r.in.Liza.StatusAfter != string(blackboard.Blocked) {
		err = s.recordRecovery(ctx, r)
	}
	if err != nil {
		s.warnHistory(ctx, r.task, err)
	}
}

// recordRecovery says that the supervisor goes on by itself after a timeout.
func (s *Supervisor) recordRecovery(ctx context.Context, r *recording) error {
	in := history.Interaction{Timestamp: blackboard.TimeOf(s.Service.Board.Now()), StateBefore: r.state, WorkspacePath: r.in.WorkspacePath}
	in.Liza = history.RunFacts{StatusBefore: r.in.Liza.StatusAfter, StatusAfter: r.in.Liza.StatusAfter, CommitAfter: r.in.Liza.CommitAfter, Epoch: r.in.Liza.Epoch, ID: r.in.Liza.ID}
	_, err := r.log.Append(ctx, history.Happened(history.Recovery, in))
	return err
}

// recoverHistory closes what dead supervisors have left open.
func (s *Supervisor) recoverHistory(ctx context.Context) {
	open, err := filepath.Glob(filepath.Join(s.Service.Board.Project.HistoryDir("*"), "pending-*.json"))
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, path := range open {
		folder := filepath.Base(filepath.Dir(path))
		if seen[folder] {
			continue
		}
		seen[folder] = true
		n, err := s.Service.Board.Histories().Interactions(folder).Recover(ctx, func(o history.Owner) bool {
			if o.Host != s.Service.Board.Proc.Host {
				return true // unknown is not dead
			}
			running, known := s.Service.Board.Proc.Running(o.PID, o.PIDStart)
			return o.BootID == s.Service.Board.Proc.BootID && (running || !known)
		})
		if err != nil {
			s.warnHistory(ctx, folder, err)
		}
		if n > 0 {
			s.warn(folder, "%d runs of a supervisor that died are in the history as failed", n)
		}
	}
}

// warnHistory tells that a history cannot be written, once.
func (s *Supervisor) warnHistory(ctx context.Context, task string, err error) {
	if !s.historyTold {
		s.historyTold = true
		s.Service.Board.Warn(ctx, task, blackboard.ActionHistoryNotWritten, err.Error())
	}
	s.warn(task, "%v", err)
}

// without leaves out what is in a list before.
func without(list []string) []string {
	out, seen := []string{}, map[string]bool{}
	for _, x := range list {
		if !seen[x] {
			out = append(out, x)
		}
		seen[x] = true
	}
	return out
}

// maxOutput is how much of an output is on the board; the rest is in its file.
const maxOutput = 2000

// writeMessage lets the messenger write the text. It has no id, no broker and no verbs. r is the
// run of its program, if there was one.
func (s *Supervisor) writeMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (text string, r *run, err error) {
	if s.Service.Board.Config().Messenger.Mode == "verbatim" {
		return s.Service.Board.Mask(strings.TrimSpace(t.Description)), nil, nil
	}
	p, err := s.promptOf(ctx, role.Messenger, st, t)
	if err != nil {
		return "", nil, err
	}
	if _, err := s.Adapter(p.program); err != nil {
		return "", nil, s.cannotStart(ctx, u, err)
	}
	root := s.Service.Board.Project.Root
	r, err = s.launch(ctx, agent.Spec{Dir: root, Worktree: root, Role: string(role.Messenger), TaskID: t.ID}, p, st, u, t.ID)
	defer s.closeRun(ctx, r, nil)
	if err != nil || errors.Is(context.Cause(ctx), errLost) {
		return "", nil, err
	}
	text = messageOf(r)
	if text == "" && p.program == agent.Scripted && r.result.Outcome == agent.Finished {
		text = s.Service.Board.Mask(strings.TrimSpace(t.Description)) // its run has no verb to read it with (specs/roles-and-knowledge.md#3.7)
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

// Bounds of a handoff that the supervisor writes, in bytes and files.
const (
	handoffText  = 600
	handoffStat  = 1200
	handoffFiles = 20
)

// contextFull goes on with a new run on the same claim (specs/protocol.md#13.7). What the agent
// handed off itself holds; else the supervisor tells what it can see.
func (s *Supervisor) contextFull(ctx context.Context, u *unit, t *blackboard.Task, r *run) (next, error) {
	if !handedOff(t, r.before) {
		if _, err := u.board.Handoff(ctx, u.task, s.handoffOf(ctx, t, r.result)); err != nil {
			return next{}, err
		}
	}
	s.say(u.task, "context full; a new run goes on")
	return next{again: true}, nil
}

// handedOff reports whether the agent of the run that began at m has left a handoff.
func handedOff(t *blackboard.Task, m board.Mark) bool {
	for _, h := range t.History[min(m.History, len(t.History)):] {
		if h != nil && h.Event == blackboard.HistoryHandoff && h.Agent == m.Agent {
			return true
		}
	}
	return false
}

// handoffOf is made of the last summary, the last output, and what the worktree shows.
func (s *Supervisor) handoffOf(ctx context.Context, t *blackboard.Task, r agent.Result) blackboard.Handoff {
	h := blackboard.Handoff{ContextUsed: "100%", NextAction: "Look at the worktree's commits and changes and go on from there"}
	parts := []string{"The context was full before the work was done."}
	if o := t.LastOutcome; o != nil && strings.TrimSpace(o.Summary) != "" {
		parts = append(parts, "The summary before: "+prose.Cut(o.Summary, handoffText))
	}
	if said := lastOutput(r); said != "" {
		parts = append(parts, "The last output: "+said)
	}
	if s.Role == blackboard.RoleReviewer {
		h.NextAction = "Review the submission from the start, with less output at a time"
		h.Summary = strings.Join(parts, "\n")
		return h
	}
	w, err := s.Service.Board.Repo.Inspect(ctx, s.Service.Board.Repo.WorktreePath(t.ID))
	if err == nil && w.Exists && w.Head != "" && t.BaseCommit != "" {
		if stat, err := s.Service.Board.Repo.DiffStat(ctx, t.BaseCommit, w.Head); err == nil && strings.TrimSpace(stat) != "" {
			parts = append(parts, "Committed since the base:\n"+prose.Cut(strings.Trim(stat, "\n"), handoffStat))
		}
		if changed, err := s.Service.Board.Repo.ChangedFiles(ctx, t.BaseCommit, w.Head); err == nil {
			for _, c := range changed[:min(len(changed), handoffFiles)] {
				h.FilesModified = append(h.FilesModified, c.Path)
			}
		}
		if n := len(w.Dirty); n > 0 {
			h.NextSteps = blackboard.List{fmt.Sprintf("%d files are not committed: %s", n, prose.Cut(strings.Join(w.Dirty, ", "), handoffText))}
		}
	}
	h.Summary = strings.Join(parts, "\n")
	return h
}

// lastOutput is the end of what the program printed, else why it ended.
func lastOutput(r agent.Result) string {
	text := strings.TrimSpace(strings.Join(r.Tail, "\n"))
	if text == "" {
		return prose.Cut(strings.TrimSpace(r.Error), handoffText)
	}
	if n := len(text) - handoffText; n > 0 {
		text = "…" + strings.ToValidUTF8(text[n:], "")
	}
	return text
}

// intentLate reports whether the coder committed in this attempt before it said what it would
// do (13.11). What cannot be found out is not late.
func (s *Supervisor) intentLate(ctx context.Context, st *blackboard.State, t *blackboard.Task) bool {
	said, given := t.FirstIntent()
	at, known := said.At()
	if !given || !known {
		return false
	}
	others := t.EarlierCommits()
	if t.BaseCommit != "" {
		others = append(others, t.BaseCommit)
	}
	if head, err := s.Service.Integration.TipOf(ctx, st); err == nil && head != "" { // what came in from there is others' work
		others = append(others, head)
	}
	first, found, err := s.Service.Board.Repo.FirstCommitTime(ctx, t.ReviewCommit, others...)
	return err == nil && found && first.Before(at)
}
