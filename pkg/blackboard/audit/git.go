package audit

import (
	"path"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// The rules V56, V59 and V63: what git says about the tasks.

const taskBranch = "task/"

func checkBranches(v *validation) {
	for _, t := range v.tasks {
		if v.facts.BranchExists != nil && needsBranch(t) && !t.ElsewhereThan(v.facts.Processes.Host) && !v.facts.BranchExists(taskBranch+t.ID) {
			v.task(t, "", "branch %s%s is missing", taskBranch, t.ID)
		}
	}
	for _, branch := range slices.Sorted(slices.Values(v.facts.TaskBranches)) {
		id := strings.TrimPrefix(strings.TrimPrefix(branch, "refs/heads/"), taskBranch)
		if !v.known(id) {
			v.report("", "branch %s%s belongs to no task; next: liza gc", taskBranch, id).Concerns(id)
		}
	}
	for _, folder := range slices.Sorted(slices.Values(v.facts.Worktrees)) {
		id := path.Base(folder)
		// Other people's worktrees and our throw-away ones (.check-…) are not tasks'.
		if path.Base(path.Dir(folder)) == ".worktrees" && !strings.HasPrefix(id, ".") && !v.known(id) {
			v.report("", "worktree .worktrees/%s belongs to no task; next: liza gc", id).Concerns(id)
		}
	}
}

// needsBranch reports whether the task's work must be on its branch: a task that was
// blocked before anybody claimed it never had one.
func needsBranch(t *blackboard.Task) bool {
	if t.KindOf() == blackboard.MessageTask || !blackboard.ValidTaskID(t.ID) {
		return false
	}
	return t.Status == blackboard.Rejected || t.Status == blackboard.Blocked && t.Worktree != ""
}

func checkMergeReachable(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Merged || !t.ChangesFiles() || t.ClaimSeq == 0 || t.MergeCommit == "" || v.facts.MergedIntoIntegration == nil {
		return
	}
	if !v.facts.MergedIntoIntegration(t.MergeCommit) {
		v.task(t, "merge_commit", "merge commit %.7s is not in %s; next: liza merge --again %s", t.MergeCommit, v.s.Text("integration_branch"), t.ID)
	}
}

func checkIntegrationBranch(v *validation) {
	if tip := v.facts.IntegrationTip; tip != nil && v.s.ForeignTip(*tip) {
		v.section("integration", ".tip", "%s; next: %s", blackboard.MovedText(v.s, *tip), blackboard.DecideTip(*tip))
		return
	}
	if tip := v.facts.IntegrationTip; tip != nil && *tip == "" {
		branch := v.s.Text("integration_branch")
		v.section("config", ".integration_branch", "branch %s does not exist; next: git branch %s <commit>", branch, branch).Lenient(v.v1)
	}
}
