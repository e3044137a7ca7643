package audit

import (
	"fmt"

	"liza/pkg/board/blackboard"
)

// Repair repairs the violations with mark F in specs/protocol.md#9 where that is provably safe, and returns one sentence for
// each repair. It changes s. The writer of the state repairs the journal (V57).
func Repair(s *blackboard.State, facts Evidence) []string {
	r := &repairer{s: s, facts: facts}
	for t := range s.Tasks() {
		r.task(s.Task(t.ID))
	}
	for _, id := range sortedKeys(s.Agents) {
		r.agent(id, s.Agents[id])
	}
	return r.done
}

type repairer struct {
	s     *blackboard.State
	facts Evidence
	done  []string
}

func (r *repairer) say(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf(format, args...))
}

func (r *repairer) task(t *blackboard.Task) {
	if t.Status == blackboard.Merged && t.Worktree != "" && worktreeAllowed(t) && r.facts.WorktreeExists != nil && !r.facts.WorktreeExists(t.Worktree) {
		r.say("task %s: worktree %s cleared; the task is MERGED and the folder is gone (V15)", t.ID, t.Worktree)
		t.Worktree = ""
	}
	r.failedBy(t)
	if m := t.MergeIntent; m != nil && t.Status != blackboard.Approved && r.overOrUnused(t, m) {
		r.say("task %s: merge_intent of %.7s cleared; the task is %s (V37)", t.ID, m.Commit, t.Status)
		t.MergeIntent = nil
	}
	if r.facts.ResolveCommit == nil {
		return
	}
	oddCommits(t, func(field string, commit *string) {
		if !abbreviated(*commit) {
			return
		}
		if full, ok := r.facts.ResolveCommit(*commit); ok && wholeCommit(full) {
			r.say("task %s: %s %s completed to %s (V40)", t.ID, field, *commit, full)
			*commit = full
		}
	})
}

func (r *repairer) failedBy(t *blackboard.Task) {
	var kept blackboard.List
	for _, id := range t.FailedBy {
		if kept.Has(id) {
			r.say("task %s: second %s removed from failed_by (V32)", t.ID, id)
			continue
		}
		kept = append(kept, id)
	}
	if len(kept) < len(t.FailedBy) {
		t.FailedBy = kept
	}
}

// overOrUnused reports whether a merge_intent says nothing that is needed: the merge is
// recorded, or it is known that the integration branch never moved.
func (r *repairer) overOrUnused(t *blackboard.Task, m *blackboard.MergeIntent) bool {
	if t.Status == blackboard.Merged {
		return true
	}
	return r.facts.MergedIntoIntegration != nil && !r.facts.MergedIntoIntegration(m.Commit)
}

func (r *repairer) agent(id string, a *blackboard.Agent) {
	if a.CurrentTask == "" || r.facts.Now.IsZero() || r.s.Find(a.CurrentTask) != nil {
		return
	}
	verdict, why := r.s.Liveness(id, r.facts.Now, r.facts.Processes)
	if verdict != blackboard.Expired && verdict != blackboard.Dead {
		return
	}
	r.say("agent %s: current_task %s cleared; there is no such task, and %s (V45)", id, a.CurrentTask, why)
	blackboard.FreeAgent(r.s, id, a.CurrentTask)
}
