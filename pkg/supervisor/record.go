package supervisor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/history"
)

// record puts the request of a run on disk, before the program starts. folder is that of
// the history: the task's, or the planner's.
func (s *Supervisor) record(ctx context.Context, st *blackboard.State, u *unit, x *run, task, folder string) *recording {
	t, b, kind := st.Task(task), x.brief, string(x.brief.role.Role.Kind)
	r := &recording{log: s.Service.Interactions(folder), task: task}
	r.in = history.Interaction{Timestamp: blackboard.TimeOf(s.Service.Now()), WorkspacePath: s.Service.Project.Root}
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
	return history.Owner{PID: s.PID, PIDStart: s.PIDStart, Host: s.Service.Proc.Host, BootID: s.Service.Proc.BootID}
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
	commit, err := s.Service.Repo.BranchTip(ctx, "task/"+task)
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
	if st, err := s.Service.View(ctx); err == nil {
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
	in := history.Interaction{Timestamp: blackboard.TimeOf(s.Service.Now()), StateBefore: r.state, WorkspacePath: r.in.WorkspacePath}
	in.Liza = history.RunFacts{StatusBefore: r.in.Liza.StatusAfter, StatusAfter: r.in.Liza.StatusAfter, CommitAfter: r.in.Liza.CommitAfter, Epoch: r.in.Liza.Epoch, ID: r.in.Liza.ID}
	_, err := r.log.Append(ctx, history.Happened(history.Recovery, in))
	return err
}

// recoverHistory closes what dead supervisors have left open.
func (s *Supervisor) recoverHistory(ctx context.Context) {
	open, err := filepath.Glob(filepath.Join(s.Service.Project.HistoryDir("*"), "pending-*.json"))
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
		n, err := s.Service.Interactions(folder).Recover(ctx, func(o history.Owner) bool {
			if o.Host != s.Service.Proc.Host {
				return true // unknown is not dead
			}
			running, known := s.Service.Proc.Running(o.PID, o.PIDStart)
			return o.BootID == s.Service.Proc.BootID && (running || !known)
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
		s.Service.Warn(ctx, task, blackboard.ActionHistoryNotWritten, err.Error())
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
