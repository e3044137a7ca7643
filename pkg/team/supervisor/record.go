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
	"liza/pkg/code/git"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
)

// Records keeps the runs of a member in the histories of their tasks.
type records struct {
	*member
	lease       *leaseKeeper
	runBase     string
	PID         int
	PIDStart    int64
	historyTold bool // people know that the history cannot be written
}

// record puts the request of a run on disk, before the program starts. folder is that of
// the history: the task's, or the planner's.
func (rs *records) record(ctx context.Context, st *blackboard.State, u *unit, x *run, task, folder string) *recording {
	t, b, kind := st.Task(task), x.brief, string(x.brief.role.Role.Kind)
	r := &recording{log: rs.Service.Board.Histories().Interactions(folder), task: task}
	r.in = history.Interaction{Timestamp: blackboard.TimeOf(rs.Service.Board.Now()), WorkspacePath: rs.Service.Board.Project.Root}
	r.in.Liza = history.RunFacts{StatusBefore: boardStatus(st), ID: x.mark}
	r.in.StateBefore = history.JobState(nil, false)
	if t != nil {
		before, reviewed := rs.statusBefore(u, t)
		if kind != "messenger" {
			r.in.WorkspacePath = rs.folder(t)
		}
		r.in.StateBefore = history.JobState(before, reviewed)
		r.in.Liza.StatusBefore = string(before.Status)
		r.in.Liza.CommitBefore = rs.tip(ctx, task)
	}
	sum := sha256.Sum256([]byte(b.Text))
	r.in.Request = history.Request{Prompt: b.Text, FilesContext: b.Files, Metadata: history.Metadata{Role: b.role.Role.Name, Phase: r.in.StateBefore, Model: cmp.Or(b.model, "default"),
		Kind: kind, Agent: rs.ID, Adapter: b.program, Reask: b.reask, Cuts: b.Cuts, PromptSHA256: hex.EncodeToString(sum[:])}}
	if t != nil {
		r.in.Request.Metadata.Iteration = t.Iteration
		if o := t.LastOutcome; o != nil { // the evidence of the run before
			r.in.Request.FilesContext = without(append(r.in.Request.FilesContext[:len(r.in.Request.FilesContext):len(r.in.Request.FilesContext)], o.EvidenceFiles...))
		}
	}
	var err error
	if r.begun, err = r.log.Begin(ctx, r.in, rs.owner()); err != nil {
		rs.warnHistory(ctx, task, err)
	}
	return r
}

func (rs *records) owner() history.Owner {
	return history.Owner{PID: rs.PID, PIDStart: rs.PIDStart, Host: rs.Service.Board.Proc.Host, BootID: rs.Service.Board.Proc.BootID}
}

// statusBefore is the task as this run found it: for the first run of a claim as the claim
// found it, for later ones as it is.
func (rs *records) statusBefore(u *unit, t *blackboard.Task) (before *blackboard.Task, reviewed bool) {
	claim := fmt.Sprint(t.ID, t.ClaimSeq, t.ReviewCommit, lastClaim(t))
	again := claim == u.claim
	u.claim = claim
	copied := *t
	if !again && rs.Role == blackboard.RoleCoder {
		copied.Status = claimedFrom(t)
	}
	return &copied, again && rs.Role == blackboard.RoleReviewer
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

func (rs *records) closeRecord(ctx context.Context, r *recording, exit *exitcmd.Exit, cause error) {
	rs.lease.setRun("")
	if r == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if cause != nil {
		r.failed = cause.Error()
	}
	if st, err := rs.Service.Board.View(ctx); err == nil {
		r.in.Liza.StatusAfter, r.state = boardStatus(st), history.JobState(nil, false)
		if t := st.Task(r.task); t != nil {
			after := *t
			if r.out != nil && r.out.Effect == outcome.Applied && r.out.Status != "" {
				after.Status = r.out.Status // others may have gone on by now
			}
			r.in.Liza.StatusAfter, r.state = string(after.Status), history.JobState(&after, t.ReviewingBy != "")
		}
	}
	if r.task != "" {
		r.in.Liza.CommitAfter = rs.tip(ctx, r.task)
	}
	if r.result != nil {
		r.in.Liza.Session = r.result.Session
	}
	r.answer(exit)
	err := r.log.Finish(ctx, r.begun, r.in)
	if err == nil && r.in.Response.Status == history.TimedOut && r.in.Liza.StatusAfter != string(blackboard.Blocked) {
		err = rs.recordRecovery(ctx, r)
	}
	if err != nil {
		rs.warnHistory(ctx, r.task, err)
	}
}

// recordRecovery says that the supervisor goes on by itself after a timeout.
func (rs *records) recordRecovery(ctx context.Context, r *recording) error {
	in := history.Interaction{Timestamp: blackboard.TimeOf(rs.Service.Board.Now()), StateBefore: r.state, WorkspacePath: r.in.WorkspacePath}
	in.Liza = history.RunFacts{StatusBefore: r.in.Liza.StatusAfter, StatusAfter: r.in.Liza.StatusAfter, CommitAfter: r.in.Liza.CommitAfter, ID: r.in.Liza.ID}
	_, err := r.log.Append(ctx, history.Happened(history.Recovery, in))
	return err
}

// recoverHistory closes what dead supervisors have left open.
func (rs *records) recoverHistory(ctx context.Context) {
	open, err := filepath.Glob(filepath.Join(rs.Service.Board.Project.HistoryDir("*"), "pending-*.json"))
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
		runs, err := rs.Service.Board.Histories().Interactions(folder).Recover(ctx, func(o history.Owner) bool {
			if o.Host != rs.Service.Board.Proc.Host {
				return true // unknown is not dead
			}
			running, known := rs.Service.Board.Proc.Running(o.PID, o.PIDStart)
			return o.BootID == rs.Service.Board.Proc.BootID && (running || !known || rs.keeps(ctx, o))
		})
		if err != nil {
			rs.warnHistory(ctx, folder, err)
		}
		if len(runs) > 0 {
			rs.warn(folder, "%d runs of a supervisor that died are in the history as failed", len(runs))
		}
		for _, run := range runs {
			rs.release(ctx, run)
		}
	}
}

// release ends the keeping of a run that no registration names: its supervisor was killed after it had written what came of the run, and
// before it told the reaper, which waited for an heir as long as a lease.
func (rs *records) release(ctx context.Context, run string) {
	st, err := rs.Service.Board.View(ctx)
	if err != nil || run == "" {
		return
	}
	for _, e := range st.Agents {
		if e.Child != nil && e.Child.RunID == run {
			return
		}
	}
	kept, err := agent.Adopt(SocketOf(rs.runBase, rs.Service.Board.Project.Root, run))
	if err != nil && !errors.Is(err, agent.ErrNotKept) {
		return // another process has it
	}
	if err == nil {
		kept.End(st.Duration("kill_grace"))
	}
	if err := broker.RemoveStale(rs.runBase); err != nil { // its sockets had the reaper behind them until now
		rs.warn("", "%v", err)
	}
}

// keeps reports whether a run goes on that a process which is gone has begun.
func (rs *records) keeps(ctx context.Context, o history.Owner) bool {
	st, facts := rs.Service.Board.LastState(ctx), rs.Service.Board.Facts()
	for _, e := range st.Agents {
		if e.PID == o.PID && e.PIDStart == o.PIDStart && e.Child != nil && facts.Kept != nil && facts.Kept(e.Child.RunID) {
			return true
		}
	}
	return false
}

// warnHistory tells that a history cannot be written, once.
func (rs *records) warnHistory(ctx context.Context, task string, err error) {
	if !rs.historyTold {
		rs.historyTold = true
		rs.Service.Board.Warn(ctx, task, blackboard.ActionHistoryNotWritten, err.Error())
	}
	rs.warn(task, "%v", err)
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
		if _, err := u.board.Handoff(ctx, u.task, handoffOf(ctx, s.Service.Board.Repo, s.Role, t, r.result)); err != nil {
			return next{}, err
		}
	}
	s.member.say(u.task, "context full; a new run goes on")
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
func handoffOf(ctx context.Context, repo *git.Repo, role blackboard.Role, t *blackboard.Task, r agent.Result) blackboard.Handoff {
	h := blackboard.Handoff{ContextUsed: "100%", NextAction: "Look at the worktree's commits and changes and go on from there"}
	parts := []string{"The context was full before the work was done."}
	if o := t.LastOutcome; o != nil && strings.TrimSpace(o.Summary) != "" {
		parts = append(parts, "The summary before: "+prose.Cut(o.Summary, handoffText))
	}
	if said := lastOutput(r); said != "" {
		parts = append(parts, "The last output: "+said)
	}
	if role == blackboard.RoleReviewer {
		h.NextAction = "Review the submission from the start, with less output at a time"
		h.Summary = strings.Join(parts, "\n")
		return h
	}
	w, err := repo.Inspect(ctx, repo.WorktreePath(t.ID))
	if err == nil && w.Exists && w.Head != "" && t.BaseCommit != "" {
		if stat, err := repo.DiffStat(ctx, t.BaseCommit, w.Head); err == nil && strings.TrimSpace(stat) != "" {
			parts = append(parts, "Committed since the base:\n"+prose.Cut(strings.Trim(stat, "\n"), handoffStat))
		}
		if changed, err := repo.ChangedFiles(ctx, t.BaseCommit, w.Head); err == nil {
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
