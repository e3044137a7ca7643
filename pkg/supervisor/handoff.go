package supervisor

import (
	"context"
	"fmt"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

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
		if _, err := s.Service.Handoff(ctx, u.task, s.handoffOf(ctx, t, r.result)); err != nil {
			return next{}, err
		}
	}
	s.say(u.task, "context full; a new run goes on")
	return next{again: true}, nil
}

// handedOff reports whether the agent of the run that began at m has left a handoff.
func handedOff(t *blackboard.Task, m verb.Mark) bool {
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
		parts = append(parts, "The summary before: "+cut(o.Summary, handoffText))
	}
	if said := lastOutput(r); said != "" {
		parts = append(parts, "The last output: "+said)
	}
	if s.Role == blackboard.RoleReviewer {
		h.NextAction = "Review the submission from the start, with less output at a time"
		h.Summary = strings.Join(parts, "\n")
		return h
	}
	w, err := s.Service.Repo.Inspect(ctx, s.Service.Repo.WorktreePath(t.ID))
	if err == nil && w.Exists && w.Head != "" && t.BaseCommit != "" {
		if stat, err := s.Service.Repo.DiffStat(ctx, t.BaseCommit, w.Head); err == nil && strings.TrimSpace(stat) != "" {
			parts = append(parts, "Committed since the base:\n"+cut(strings.Trim(stat, "\n"), handoffStat))
		}
		if changed, err := s.Service.Repo.ChangedFiles(ctx, t.BaseCommit, w.Head); err == nil {
			for _, c := range changed[:min(len(changed), handoffFiles)] {
				h.FilesModified = append(h.FilesModified, c.Path)
			}
		}
		if n := len(w.Dirty); n > 0 {
			h.NextSteps = blackboard.List{fmt.Sprintf("%d files are not committed: %s", n, cut(strings.Join(w.Dirty, ", "), handoffText))}
		}
	}
	h.Summary = strings.Join(parts, "\n")
	return h
}

// lastOutput is the end of what the program printed, else why it ended.
func lastOutput(r agent.Result) string {
	text := strings.TrimSpace(strings.Join(r.Tail, "\n"))
	if text == "" {
		return cut(strings.TrimSpace(r.Error), handoffText)
	}
	if n := len(text) - handoffText; n > 0 {
		text = "…" + strings.ToValidUTF8(text[n:], "")
	}
	return text
}

// cut is the beginning of a text, whole characters of at most n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
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
	if head, err := s.Service.TipOf(ctx, st); err == nil && head != "" { // what came in from there is others' work
		others = append(others, head)
	}
	first, found, err := s.Service.Repo.FirstCommitTime(ctx, t.ReviewCommit, others...)
	return err == nil && found && first.Before(at)
}
