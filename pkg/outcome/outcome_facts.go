package outcome

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/breaker"
	"liza/pkg/exitcmd"
	"liza/pkg/prose"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// handedOff goes on with a new run after `liza handoff`. An exit command that says
// something else than "go on" contradicts it.
func handedOff(ctx context.Context, d *verb.Service, r Run, out Outcome) (Outcome, error) {
	exit := r.Answer.Exit
	out.Effect, out.Note = Continue, "handed off"
	if exit == nil || exit.Action == exitcmd.Retry {
		return out, nil
	}
	return out, d.NoteAnomaly(ctx, r.Task, blackboard.AnomalyExitMismatch, fmt.Sprintf("the verbs say handoff, the exit command says %s", exit.Action))
}

// verdictEvents are what the verdicts of an exit command do to a task. needs_fix may end as
// blocked at the last cycle; what the gate makes of ok is looked at besides.
var verdictEvents = map[string][]blackboard.HistoryEvent{exitcmd.ReviewOK: {blackboard.HistoryApproved, blackboard.HistoryApprovalRecorded}, exitcmd.ReviewNeedsFix: {blackboard.HistoryRejected, blackboard.HistoryBlocked}, exitcmd.ReviewReplan: {blackboard.HistoryBlocked}, exitcmd.ReviewStuck: {blackboard.HistoryReleased, blackboard.HistoryHeld}}

// Contradicts says how the exit command of a reviewer's run contradicts the approval that a verb
// of the same run gave, "" when it does not. A rejection by verb counts, whatever comes after it.
func Contradicts(t *blackboard.Task, agent string, exit *exitcmd.Exit) string {
	if t == nil || exit == nil || exit.Approves() || !t.ApprovedNow(agent) {
		return ""
	}
	return fmt.Sprintf("the verbs say approved, the exit command says %s", exit.Verdict())
}

// VoidApproval takes back what an exit command contradicts. It is part of the write that ends the
// run, before which nothing is merged.
func VoidApproval(s *blackboard.State, a transition.Actor, id, why string, now time.Time) error {
	if err := transition.VoidApproval(s, id, a, transition.Input{Reason: why}, now); err != nil {
		return err
	}
	transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyExitMismatch, blackboard.Settings{"what": why}, now)
	return nil
}

// noteRetries records a loop when a coder gives up twice in a row with the same summary
// (specs/roles-and-knowledge.md#4.4). The attempt of this run is the newest one.
func noteRetries(ctx context.Context, d *verb.Service, task, summary string) error {
	return d.Update(ctx, "retry loop", func(s *blackboard.State, a transition.Actor) error {
		n := 0
		attempts := s.Task(task).Attempts
		for i := len(attempts) - 1; i >= 0 && attempts[i] != nil && attempts[i].Action == exitcmd.Retry; i-- {
			if breaker.Normalise(attempts[i].Summary) != breaker.Normalise(summary) {
				break
			}
			n++
		}
		// Exactly two: a third one is the same loop, and needs no second record.
		if n == 2 {
			transition.AddAnomaly(s, task, blackboard.System, blackboard.AnomalyRetryLoop, blackboard.Settings{"count": n, "error_pattern": prose.FirstLine(summary)}, d.Now())
		}
		return nil
	})
}

// sentences counts the sentences of a summary.
func sentences(text string) int {
	n := 0
	for _, w := range strings.Fields(text) {
		if strings.HasSuffix(w, ".") || strings.HasSuffix(w, "!") || strings.HasSuffix(w, "?") {
			n++
		}
	}
	return n
}

// KeepInside drops evidence that leads out of the workspace or does not exist, and says what
// does not exist (specs/roles-and-knowledge.md#4.3). Nothing outside is looked at.
func KeepInside(ctx context.Context, d *verb.Service, task string, exit *exitcmd.Exit) {
	root, inside := workspace(d, task), Inside(d, task, exit.EvidenceFiles)
	kept, odd := []string{}, []string(nil)
	for _, f := range inside {
		info, err := os.Stat(filepath.Join(root, f))
		switch {
		case err != nil && !committed(ctx, d, task, f):
			odd = append(odd, f+" does not exist")
			continue
		case err == nil && info.IsDir():
			odd = append(odd, f+" is a folder")
		}
		kept = append(kept, f)
	}
	if n := len(exit.EvidenceFiles) - len(inside); n > 0 {
		if err := d.NoteAnomaly(ctx, task, blackboard.AnomalyEvidenceOutside, fmt.Sprintf("%d of %d files", n, len(exit.EvidenceFiles))); err != nil {
			d.Progressf("cannot record evidence_outside_worktree: %v", err)
		}
	}
	if len(odd) > 0 {
		d.Warn(ctx, task, blackboard.ActionEvidenceOdd, strings.Join(odd, ", "))
	}
	exit.EvidenceFiles = kept
}

// workspace is the folder that evidence is relative to: the task's worktree, or without a
// task the project.
func workspace(d *verb.Service, task string) string {
	if task == "" {
		return d.Project.Root
	}
	return d.Repo.WorktreePath(task)
}

// Inside are those of the files that are in the workspace of a task, with clean paths.
func Inside(d *verb.Service, task string, files []string) []string {
	root, kept := workspace(d, task), []string{}
	for _, f := range files {
		if filepath.IsLocal(f) && !leadsOut(root, f) {
			kept = append(kept, filepath.ToSlash(filepath.Clean(f)))
		}
	}
	return kept
}

// leadsOut reports whether a path goes out of root through a symbolic link.
func leadsOut(root, path string) bool {
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false // there is no workspace, so there is nothing to open
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(top, path)); err == nil {
		rel, err := filepath.Rel(top, real)
		return err != nil || !filepath.IsLocal(rel)
	}
	if info, err := os.Lstat(filepath.Join(top, path)); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return true // to nowhere, or in a circle
	}
	up := filepath.Dir(path)
	return up != "." && leadsOut(top, up)
}

// committed reports whether the task's branch has the file.
func committed(ctx context.Context, d *verb.Service, task, file string) bool {
	if task == "" {
		return false
	}
	tip, err := d.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return false
	}
	_, err = d.Repo.ReadFile(ctx, tip, file)
	return err == nil
}
