package audit

import (
	"path"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
)

// The rules V21 to V27: what tasks and agents say about each other.

func checkReplacements(v *validation, t *blackboard.Task) {
	check := func(field string, ids blackboard.List) {
		for _, id := range ids {
			switch {
			case id == t.ID:
				v.task(t, field, "%s names the task itself", field)
			case !v.known(id):
				v.task(t, field, "%s: no task '%s'", field, id).Concerns(id)
			}
		}
	}
	check("superseded_by", t.SupersededBy)
	check("supersedes", t.Supersedes)
}

func checkDependencies(v *validation, t *blackboard.Task) {
	for _, id := range t.DependsOn {
		if !v.known(id) {
			v.task(t, "depends_on", "depends_on: no task '%s'", id).Concerns(id)
		}
	}
}

func checkUnmet(v *validation, t *blackboard.Task) {
	switch t.Status {
	case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Approved, blackboard.Merged:
	default:
		return
	}
	for _, id := range t.DependsOn {
		if status, ok := v.status(id); ok && status != blackboard.Merged && id != t.ID {
			v.task(t, "depends_on", "%s but depends on %s (%s)", t.Status, id, status).Concerns(id)
		}
	}
}

func checkLostDependency(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Unclaimed && t.Status != blackboard.Draft {
		return
	}
	for _, id := range t.DependsOn {
		if status, _ := v.status(id); status == blackboard.Abandoned || status == blackboard.Superseded {
			v.task(t, "depends_on", "waits for %s %s for ever",
				strings.ToLower(string(status)), id).Concerns(id).Advise("liza retry, or liza abandon with --by")
		}
	}
}

// checkCycles reports cycles until every dependency that lies on one has been named;
// each is reported once, from the task that is first in the file.
func checkCycles(v *validation) {
	if !v.newLinks {
		return
	}
	onCycle := v.entangled()
	type edge struct{ from, to string }
	named := map[edge]bool{}
	for t := range v.s.Tasks() {
		if !onCycle[t.ID] {
			continue
		}
		for _, next := range t.DependsOn {
			if named[edge{t.ID, next}] || !onCycle[next] {
				continue
			}
			way := v.shortestWay(next, t.ID, onCycle)
			if way == nil {
				continue
			}
			for i, id := range way {
				named[edge{id, way[(i+1)%len(way)]}] = true
			}
			v.reportCycle(way)
		}
	}
}

// entangled returns the tasks that are left when those without dependencies, and
// then those on which nobody depends, are taken away again and again. A board
// without cycles leaves none.
func (v *validation) entangled() map[string]bool {
	left := map[string]bool{}
	waiting := map[string]int{}
	dependents := map[string][]string{}
	var free []string
	for t := range v.s.Tasks() {
		id := t.ID
		if v.find(id) != t {
			continue // the second of that name
		}
		left[id] = true
		for _, d := range t.DependsOn {
			if v.find(d) != nil {
				waiting[id]++
				dependents[d] = append(dependents[d], id)
			}
		}
		if waiting[id] == 0 {
			free = append(free, id)
		}
	}
	for len(free) > 0 {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		delete(left, id)
		for _, d := range dependents[id] {
			if waiting[d]--; waiting[d] == 0 {
				free = append(free, d)
			}
		}
	}
	return left
}

// shortestWay finds the ids from start to goal along depends_on, both included.
func (v *validation) shortestWay(start, goal string, within map[string]bool) []string {
	cameFrom := map[string]string{start: ""}
	queue := []string{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == goal {
			var way []string
			for id := goal; id != ""; id = cameFrom[id] {
				way = append(way, id)
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range v.find(at).DependsOn {
			if _, seen := cameFrom[next]; !seen && within[next] {
				cameFrom[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func (v *validation) reportCycle(ids []string) {
	first := 0
	for i, id := range ids {
		if v.place(v.find(id)) < v.place(v.find(ids[first])) {
			first = i
		}
	}
	ids = slices.Concat(ids[first:], ids[:first])
	v.report(v.taskPath(v.find(ids[0]), "depends_on"), "dependency cycle: %s",
		strings.Join(append(slices.Clone(ids), ids[0]), " → ")).Concerns(ids...)
}

func checkOneClaim(v *validation) {
	held := map[string][]*blackboard.Task{}
	twice := false
	for t := range v.s.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo != "" {
			held[t.AssignedTo] = append(held[t.AssignedTo], t)
			twice = twice || len(held[t.AssignedTo]) > 1
		}
	}
	if !twice {
		return
	}
	for _, holder := range sortedKeys(held) {
		if list := held[holder]; len(list) > 1 {
			var names []string
			for _, t := range list {
				names = append(names, v.taskName(t))
			}
			v.report(v.taskPath(list[len(list)-1], "assigned_to"), "%s holds %s", holder, strings.Join(names, " and ")).Concerns(holder).Concerns(names...)
		}
	}
}

func checkOneHolder(v *validation) {
	for t := range v.s.Tasks() {
		if t.Status == blackboard.Claimed {
			v.worksElsewhere(t, t.AssignedTo, t.ClaimGeneration)
		}
		if t.Status == blackboard.ReadyForReview {
			v.worksElsewhere(t, t.ReviewingBy, t.ReviewingGeneration)
		}
	}
	type work struct {
		role blackboard.Role
		task string
	}
	busy := map[work]string{}
	for _, id := range v.agents {
		a := v.s.Agents[id]
		if a.CurrentTask == "" || !v.live(id) {
			continue
		}
		w := work{a.Role, a.CurrentTask}
		if other, ok := busy[w]; ok {
			v.report(agentPath(id, "current_task"), "%s and %s both work on %s as %s", other, id, w.task, w.role).Concerns(other, id, w.task)
			continue
		}
		busy[w] = id
	}
}

// worksElsewhere reports a claim whose registration works on another task. An entry
// of a later registration of the same id does not hold the claim.
func (v *validation) worksElsewhere(t *blackboard.Task, holder, generation string) {
	a := v.s.Agents[holder]
	if holder == "" || !blackboard.RegistrationOf(a, generation) || a.CurrentTask == "" || a.CurrentTask == t.ID {
		return
	}
	v.task(t, "", "held by %s, which works on %s", holder, a.CurrentTask).Concerns(holder, a.CurrentTask)
}

// live reports whether an agent is alive for sure; without a time nobody is.
func (v *validation) live(id string) bool {
	if v.facts.Now.IsZero() {
		return false
	}
	verdict, _ := v.s.Liveness(id, v.facts.Now, v.facts.Processes)
	return verdict == blackboard.Alive
}

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
			v.report("", "branch %s%s belongs to no task", taskBranch, id).Concerns(id).Advise("liza gc")
		}
	}
	for _, folder := range slices.Sorted(slices.Values(v.facts.Worktrees)) {
		id := path.Base(folder)
		// Other people's worktrees and our throw-away ones (.check-…) are not tasks'.
		if path.Base(path.Dir(folder)) == ".worktrees" && !strings.HasPrefix(id, ".") && !v.known(id) {
			v.report("", "worktree .worktrees/%s belongs to no task", id).Concerns(id).Advise("liza gc")
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
		v.task(t, "merge_commit", "merge commit %.7s is not in %s", t.MergeCommit, v.s.Text("integration_branch")).Advise("liza merge --again " + t.ID)
	}
}

func checkIntegrationBranch(v *validation) {
	if tip := v.facts.IntegrationTip; tip != nil && v.s.ForeignTip(*tip) {
		v.section("integration", ".tip", "%s", blackboard.MovedText(v.s, *tip)).Advise(blackboard.DecideTip(*tip))
		return
	}
	if tip := v.facts.IntegrationTip; tip != nil && *tip == "" {
		branch := v.s.Text("integration_branch")
		v.section("config", ".integration_branch", "branch %s does not exist", branch).Lenient(v.v1).Advise("git branch " + branch + " <commit>")
	}
}
