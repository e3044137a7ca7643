package audit

import (
	"strings"

	"liza/pkg/board/blackboard"
)

func statusMutations() []mutation {
	return []mutation{
		{rule: "V01", name: "comes from the reader", damage: func(_ *blackboard.State, f *Evidence) {
			f.Decode = []blackboard.Violation{{Rule: "V01", Subjects: []string{"file"}, Message: "cannot parse: tab"}}
		}, subject: "file", message: "cannot parse: tab"},
		{rule: "V02", name: "another version", damage: inState(func(s *blackboard.State) { s.Version = "2" }),
			path: "version", subject: "version", message: "version is 2; this program reads 1"},
		{rule: "V02", name: "no version", damage: inState(func(s *blackboard.State) { s.Version = "" }),
			path: "version", subject: "version", message: "version is missing; this program reads 1"},
		{rule: "V03", name: "no goal", damage: inState(func(s *blackboard.State) { s.Goal = nil }),
			path: "goal", subject: "goal", message: "missing section 'goal'"},
		{rule: "V03", name: "no sprint", damage: inState(func(s *blackboard.State) { s.Sprint = nil }),
			path: "sprint", subject: "sprint", message: "missing section 'sprint'"},
		{rule: "V03", name: "no tasks, as the reader says", damage: func(_ *blackboard.State, f *Evidence) { f.MissingSections = []string{"tasks"} },
			path: "tasks", subject: "tasks", message: "missing section 'tasks'"},
		{rule: "V04", name: "negative priority", damage: on("claimed", func(t *blackboard.Task) { *t.Priority = -1 }),
			path: "tasks[claimed].priority", subject: "claimed", message: "task claimed: 'priority' must be an integer of 0 or more, is -1"},
		{rule: "V04", name: "unknown kind", damage: on("draft", func(t *blackboard.Task) { t.Kind = "shell" }),
			path: "tasks[draft].kind", subject: "draft", message: `task draft: 'kind' must be code, exec, msg or skill, is "shell"`},
		{rule: "V05", name: "id twice", damage: func(s *blackboard.State, f *Evidence) {
			s.AddTasks(validTask("draft"))
			f.Line = func(path string) int { return map[string]int{"tasks[#1].id": 10, "tasks[#16].id": 40}[path] }
		}, path: "tasks[#16].id", subject: "draft", message: "task id 'draft' appears in lines 10 and 40"},
		{rule: "V05", name: "id twice but for case", damage: inState(func(s *blackboard.State) { s.AddTasks(validTask("DRAFT")) }),
			path: "tasks[DRAFT].id", subject: "draft", message: "task ids 'draft' and 'DRAFT' differ in case only"},
		{rule: "V05", name: "id of the archive", damage: func(_ *blackboard.State, f *Evidence) {
			f.Archive = taskArchive{"archived": blackboard.Merged, "Draft": blackboard.Merged}
		},
			path: "tasks[draft].id", subject: "draft", message: "task id 'draft' appears in the archive too: 'Draft' (MERGED)"},
		{rule: "V05", name: "no id", damage: inState(func(s *blackboard.State) { s.AddTasks(validTask("")) }),
			path: "tasks[#16]", subject: "tasks", message: "task #16 has no id"},
		{rule: "V05", name: "id with traversal", damage: inState(func(s *blackboard.State) { s.AddTasks(validTask("../x")) }),
			path: "tasks[../x].id", subject: "../x", message: "task id '../x' is not allowed"},
		{rule: "V06", name: "unknown status", damage: on("draft", func(t *blackboard.Task) { t.Status = "DRAFTED" }),
			path: "tasks[draft].status", subject: "draft", message: "task draft: unknown status 'DRAFTED'; nearest: DRAFT"},
		{rule: "V06", name: "no status", damage: on("draft", func(t *blackboard.Task) { t.Status = "" }),
			path: "tasks[draft].status", subject: "draft", message: "task draft: there is no status"},
		{rule: "V07", name: "assigned", damage: on("draft", func(t *blackboard.Task) { t.AssignedTo = "coder-1" }),
			path: "tasks[draft].assigned_to", subject: "draft", message: "task draft: DRAFT with assigned_to coder-1"},
		{rule: "V07", name: "with worktree", damage: on("draft", func(t *blackboard.Task) { t.Worktree = ".worktrees/draft" }),
			path: "tasks[draft].worktree", subject: "draft", message: "task draft: DRAFT with worktree .worktrees/draft"},
		{rule: "V08", name: "nobody", damage: on("claimed", func(t *blackboard.Task) { t.AssignedTo = "" }),
			path: "tasks[claimed].assigned_to", subject: "claimed", message: "task claimed: CLAIMED without assigned_to"},
		{rule: "V09", name: "no worktree", damage: on("claimed", func(t *blackboard.Task) { t.Worktree = "" }),
			path: "tasks[claimed].worktree", subject: "claimed", message: "task claimed: CLAIMED without worktree"},
		{rule: "V10", name: "no base", damage: on("claimed", func(t *blackboard.Task) { t.BaseCommit = "" }),
			path: "tasks[claimed].base_commit", subject: "claimed", message: "task claimed: CLAIMED without base_commit"},
		{rule: "V11", name: "no lease", damage: on("claimed", func(t *blackboard.Task) { t.LeaseExpires = "null" }),
			path: "tasks[claimed].lease_expires", subject: "claimed", message: "task claimed: CLAIMED without lease_expires"},
		{rule: "V12", name: "no folder", damage: func(_ *blackboard.State, f *Evidence) {
			f.WorktreeExists = func(path string) bool { return path != ".worktrees/claimed" }
		}, path: "tasks[claimed].worktree", subject: "claimed",
			message: "task claimed: worktree .worktrees/claimed does not exist; next: liza validate --fix"},
		{rule: "V13", name: "nothing submitted", damage: on("reviewed", func(t *blackboard.Task) { t.ReviewCommit = "" }),
			path: "tasks[reviewed].review_commit", subject: "reviewed", message: "task reviewed: READY_FOR_REVIEW without review_commit"},
		{rule: "V14", name: "nobody approved", damage: on("merging", func(t *blackboard.Task) { t.ApprovedBy = "" }),
			path: "tasks[merging].approved_by", subject: "merging", message: "task merging: APPROVED without approved_by"},
		{rule: "V14", name: "kind with writes, nothing submitted", damage: on("command", func(t *blackboard.Task) {
			t.Writes, t.ApprovedBy, t.ReviewCommit = true, "code-reviewer-1", ""
		}), path: "tasks[command].review_commit", subject: "command", message: "task command: APPROVED without review_commit"},
		{rule: "V15", name: "worktree left", damage: on("merged", func(t *blackboard.Task) { t.Worktree = ".worktrees/merged" }),
			path: "tasks[merged].worktree", subject: "merged", message: "task merged: MERGED but worktree is .worktrees/merged"},
		{rule: "V16", name: "no merge commit", damage: on("merged", func(t *blackboard.Task) { t.MergeCommit = "" }),
			path: "tasks[merged].merge_commit", subject: "merged", message: "task merged: MERGED without merge_commit"},
		{rule: "V17", name: "no worktree", damage: on("failed", func(t *blackboard.Task) { t.Worktree = "" }),
			path: "tasks[failed].worktree", subject: "failed", message: "task failed: INTEGRATION_FAILED without worktree"},
		{rule: "V18", name: "no reason", damage: on("blocked", func(t *blackboard.Task) { t.BlockedReason = " " }),
			path: "tasks[blocked].blocked_reason", subject: "blocked", message: "task blocked: BLOCKED without blocked_reason"},
		{rule: "V18", name: "no question", damage: on("blocked", func(t *blackboard.Task) { t.BlockedQuestions = blackboard.List{} }),
			path: "tasks[blocked].blocked_questions", subject: "blocked", message: "task blocked: BLOCKED without blocked_questions"},
		{rule: "V18", name: "four questions", damage: on("blocked", func(t *blackboard.Task) { t.BlockedQuestions = blackboard.List{"a", "b", "c", "d"} }),
			path: "tasks[blocked].blocked_questions", subject: "blocked", message: "task blocked: BLOCKED with 4 blocked_questions; 1 to 3 are allowed"},
		{rule: "V19", name: "no reason", damage: on("rejected", func(t *blackboard.Task) { t.RejectionReason = &blackboard.Rejection{} }),
			path: "tasks[rejected].rejection_reason", subject: "rejected", message: "task rejected: REJECTED without rejection_reason"},
		{rule: "V20", name: "by nothing", damage: on("superseded", func(t *blackboard.Task) { t.SupersededBy = nil }),
			path: "tasks[superseded].superseded_by", subject: "superseded", message: "task superseded: SUPERSEDED without superseded_by"},
		{rule: "V20", name: "for no reason", damage: on("superseded", func(t *blackboard.Task) { t.RescopeReason = "" }),
			path: "tasks[superseded].rescope_reason", subject: "superseded", message: "task superseded: SUPERSEDED without rescope_reason"},
	}
}

func linkMutations() []mutation {
	return []mutation{
		{rule: "V21", name: "unknown replacement", damage: on("superseded", func(t *blackboard.Task) { t.SupersededBy = blackboard.List{"gone"} }),
			path: "tasks[superseded].superseded_by", subject: "gone", message: "task superseded: superseded_by: no task 'gone'"},
		{rule: "V21", name: "itself", damage: on("draft", func(t *blackboard.Task) { t.Supersedes = blackboard.List{"draft"} }),
			path: "tasks[draft].supersedes", subject: "draft", message: "task draft: supersedes names the task itself"},
		{rule: "V22", name: "unknown dependency", damage: on("draft", func(t *blackboard.Task) { t.DependsOn = blackboard.List{"gone"} }),
			path: "tasks[draft].depends_on", subject: "gone", message: "task draft: depends_on: no task 'gone'"},
		{rule: "V23", name: "cycle", damage: on("unclaimed", func(t *blackboard.Task) { t.DependsOn = blackboard.List{"draft"} }),
			path: "tasks[draft].depends_on", subject: "unclaimed", message: "dependency cycle: draft → unclaimed → draft"},
		{rule: "V23", name: "itself", damage: on("draft", func(t *blackboard.Task) { t.DependsOn = blackboard.List{"draft"} }),
			path: "tasks[draft].depends_on", subject: "draft", message: "dependency cycle: draft → draft"},
		{rule: "V24", name: "claimed too early", damage: on("claimed", func(t *blackboard.Task) { t.DependsOn = blackboard.List{"blocked"} }),
			path: "tasks[claimed].depends_on", subject: "blocked", message: "task claimed: CLAIMED but depends on blocked (BLOCKED)"},
		{rule: "V25", name: "waits for what was archived as abandoned", warning: true, damage: func(s *blackboard.State, f *Evidence) {
			s.Task("unclaimed").DependsOn = blackboard.List{"archived"}
			f.Archive = taskArchive{"archived": blackboard.Abandoned}
		},
			path: "tasks[unclaimed].depends_on", subject: "archived", message: "task unclaimed: waits for abandoned archived for ever; next: liza retry, or liza abandon with --by"},
		{rule: "V25", name: "waits for ever", damage: on("draft", func(t *blackboard.Task) { t.DependsOn = blackboard.List{"abandoned"} }), warning: true,
			path: "tasks[draft].depends_on", subject: "abandoned", message: "task draft: waits for abandoned abandoned for ever; next: liza retry, or liza abandon with --by"},
		{rule: "V26", name: "two claims", damage: func(s *blackboard.State, _ *Evidence) {
			s.Agents["coder-1"].CurrentTask, s.Agents["coder-1"].Status = "", blackboard.AgentIdle
			s.Task("fixing").AssignedTo, s.Task("fixing").ClaimGeneration = "coder-1", "g-00000001"
		}, path: "tasks[fixing].assigned_to", subject: "coder-1", message: "coder-1 holds claimed and fixing"},
		{rule: "V27", name: "works on another task", damage: inState(func(s *blackboard.State) { s.Agents["coder-1"].CurrentTask = "rejected" }),
			path: "tasks[claimed]", subject: "coder-1", message: "task claimed: held by coder-1, which works on rejected"},
		{rule: "V27", name: "two at one task", damage: inState(func(s *blackboard.State) { s.Agents["coder-2"].CurrentTask = "claimed" }),
			path: "agents[coder-2].current_task", subject: "coder-1", message: "coder-1 and coder-2 both work on claimed as coder"},
		{rule: "V42", name: "malformed id", damage: inState(func(s *blackboard.State) { s.Agents["coder1"] = s.Agents["coder-2"] }),
			path: "agents[coder1]", subject: "coder1", message: "agent coder1: the id is malformed; it must be coder-N, code-reviewer-N or planner-N"},
		{rule: "V42", name: "role of another id", damage: inState(func(s *blackboard.State) { s.Agents["coder-2"].Role = blackboard.RolePlanner }),
			path: "agents[coder-2].role", subject: "coder-2", message: "agent coder-2: role is planner"},
		{rule: "V42", name: "unknown role", damage: inState(func(s *blackboard.State) { s.Agents["coder-2"].Role = "boss" }),
			path: "agents[coder-2].role", subject: "coder-2", message: "agent coder-2: unknown role 'boss'"},
		{rule: "V43", name: "unknown status", damage: inState(func(s *blackboard.State) { s.Agents["coder-2"].Status = "IDLING" }),
			path: "agents[coder-2].status", subject: "coder-2", message: "agent coder-2: unknown status 'IDLING'; nearest: IDLE"},
		{rule: "V43", name: "no task", damage: inState(func(s *blackboard.State) { s.Agents["coder-2"].Status = blackboard.AgentWorking }),
			path: "agents[coder-2].current_task", subject: "coder-2", message: "agent coder-2: WORKING without current_task"},
		{rule: "V43", name: "no lease", damage: inState(func(s *blackboard.State) { s.Agents["code-reviewer-1"].LeaseExpires = "" }),
			path: "agents[code-reviewer-1].lease_expires", subject: "code-reviewer-1", message: "agent code-reviewer-1: REVIEWING without lease_expires"},
		{rule: "V44", name: "lease over", damage: inState(func(s *blackboard.State) { s.Agents["coder-1"].LeaseExpires = ago(2) }), warning: true,
			path: "agents[coder-1].lease_expires", subject: "coder-1", message: "agent coder-1: lease expired at 2026-01-19T14:58:00Z"},
		{rule: "V45", name: "no such task", damage: inState(func(s *blackboard.State) { s.Agents["coder-2"].CurrentTask = "gone" }),
			path: "agents[coder-2].current_task", subject: "gone", message: "agent coder-2: current_task 'gone' does not exist"},
	}
}

func fieldMutations() []mutation {
	return []mutation{
		{rule: "V28", name: "no failure", damage: on("claimed", func(t *blackboard.Task) { t.IntegrationFix = true }),
			path: "tasks[claimed].integration_fix", subject: "claimed", message: "task claimed: integration_fix without integration_failed in history"},
		{rule: "V29", name: "no done_when", damage: on("claimed", func(t *blackboard.Task) { t.DoneWhen = "" }),
			path: "tasks[claimed].done_when", subject: "claimed", message: "task claimed: missing done_when"},
		{rule: "V29", name: "no description", damage: on("claimed", func(t *blackboard.Task) { t.Description = "\n" }),
			path: "tasks[claimed].description", subject: "claimed", message: "task claimed: missing description"},
		{rule: "V29", name: "no scope", damage: on("claimed", func(t *blackboard.Task) { t.Scope = "" }), warning: true,
			path: "tasks[claimed].scope", subject: "claimed", message: "task claimed: missing scope"},
		{rule: "V30", name: "no spec file", damage: func(s *blackboard.State, f *Evidence) {
			s.Task("claimed").SpecRef = "specs/x.md#y"
			f.SpecExists = func(path string) bool { return path != "specs/x.md" }
		}, path: "tasks[claimed].spec_ref", subject: "claimed", message: "task claimed: spec file specs/x.md does not exist"},
		{rule: "V30", name: "no spec file of what is merged", damage: func(s *blackboard.State, f *Evidence) {
			s.Task("merged").SpecRef = "specs/x.md"
			f.SpecExists = func(path string) bool { return path != "specs/x.md" }
		}, warning: true, path: "tasks[merged].spec_ref", subject: "merged", message: "task merged: spec file specs/x.md does not exist"},
		{rule: "V31", name: "no spec file", damage: func(s *blackboard.State, f *Evidence) {
			s.Goal.SpecRef = "specs/x.md"
			f.SpecExists = func(path string) bool { return path != "specs/x.md" }
		}, path: "goal.spec_ref", subject: "goal", message: "goal: spec file specs/x.md does not exist"},
		{rule: "V32", name: "twice", damage: on("blocked", func(t *blackboard.Task) { t.FailedBy = blackboard.List{"coder-1", "coder-1"} }),
			path: "tasks[blocked].failed_by", subject: "blocked", message: "task blocked: failed_by lists coder-1 twice"},
		{rule: "V32", name: "malformed", damage: on("blocked", func(t *blackboard.Task) { t.FailedBy = blackboard.List{"ada"} }),
			path: "tasks[blocked].failed_by", subject: "blocked", message: "task blocked: failed_by: 'ada' is not an agent id"},
		{rule: "V33", name: "no lease", damage: on("reviewed", func(t *blackboard.Task) { t.ReviewLeaseExpires = "" }),
			path: "tasks[reviewed].reviewing_by", subject: "reviewed", message: "task reviewed: reviewing_by without review_lease_expires"},
		{rule: "V33", name: "no reviewer", damage: on("reviewed", func(t *blackboard.Task) { t.ReviewingBy = "" }),
			path: "tasks[reviewed].review_lease_expires", subject: "reviewed", message: "task reviewed: review_lease_expires without reviewing_by"},
		{rule: "V33", name: "not under review", damage: on("rejected", func(t *blackboard.Task) { t.ReviewingBy, t.ReviewLeaseExpires = "code-reviewer-1", ahead(5) }),
			path: "tasks[rejected].reviewing_by", subject: "rejected", message: "task rejected: reviewing_by code-reviewer-1 on REJECTED"},
		{rule: "V34", name: "approved by its author", damage: on("merging", func(t *blackboard.Task) { t.ApprovedBy = "coder-1" }),
			path: "tasks[merging].approved_by", subject: "coder-1", message: "task merging: approved by its author coder-1"},
		{rule: "V34", name: "auto on code", damage: on("merging", func(t *blackboard.Task) { t.ApprovedBy = "auto" }),
			path: "tasks[merging].approved_by", subject: "merging", message: "task merging: approved by 'auto', which kind code does not allow"},
		{rule: "V35", name: "not blocked", damage: on("claimed", func(t *blackboard.Task) { t.Halt = &blackboard.Halt{Kind: "cost", At: ago(1)} }),
			path: "tasks[claimed].halt", subject: "claimed", message: "task claimed: halt on CLAIMED"},
		{rule: "V35", name: "unknown kind", damage: on("halted", func(t *blackboard.Task) { t.Halt.Kind = "mood" }),
			path: "tasks[halted].halt.kind", subject: "halted", message: "task halted: unknown halt kind 'mood'; it must be cost, time or iteration"},
		{rule: "V36", name: "no reason", damage: on("blocked", func(t *blackboard.Task) { t.Hold.Reason = "" }),
			path: "tasks[blocked].hold", subject: "blocked", message: "task blocked: hold without reason"},
		{rule: "V36", name: "terminal", damage: on("merged", func(t *blackboard.Task) { t.Hold = &blackboard.Hold{By: "ada", At: ago(1), Reason: "x"} }),
			path: "tasks[merged].hold", subject: "merged", message: "task merged: hold on MERGED"},
		{rule: "V37", name: "merged", damage: on("merged", func(t *blackboard.Task) { t.MergeIntent = &blackboard.MergeIntent{Commit: commitMerge} }),
			path: "tasks[merged].merge_intent", subject: "merged", message: "task merged: merge_intent on MERGED"},
		{rule: "V38", name: "more than in total", damage: on("rejected", func(t *blackboard.Task) { t.ReviewCyclesCurrent = 3 }),
			path: "tasks[rejected].review_cycles_current", subject: "rejected", message: "task rejected: review_cycles_current 3 > total 1"},
		{rule: "V38", name: "negative", damage: on("rejected", func(t *blackboard.Task) { t.Failures = -1 }),
			path: "tasks[rejected].failures", subject: "rejected", message: "task rejected: failures is -1"},
		{rule: "V39", name: "of a task", damage: on("claimed", func(t *blackboard.Task) { t.LeaseExpires = "tomorrow" }),
			path: "tasks[claimed].lease_expires", subject: "claimed", message: "task claimed: lease_expires 'tomorrow' is not a time"},
		{rule: "V40", name: "abbreviated", damage: on("claimed", func(t *blackboard.Task) { t.BaseCommit = "deadbeef" }), warning: true,
			path: "tasks[claimed].base_commit", subject: "claimed", message: "task claimed: base_commit 'deadbeef' is abbreviated"},
		{rule: "V40", name: "no commit", damage: on("rejected", func(t *blackboard.Task) { t.Attempts[0].Commit = "HEAD" }),
			path: "tasks[rejected].attempts[#1].commit", subject: "rejected", message: "task rejected: attempts[#1].commit 'HEAD' is not a commit"},
		{rule: "V41", name: "of another task", damage: on("claimed", func(t *blackboard.Task) { t.Worktree = ".worktrees/rejected" }),
			path: "tasks[claimed].worktree", subject: "claimed", message: "task claimed: worktree '.worktrees/rejected' is not allowed; it must be .worktrees/claimed"},
		{rule: "V41", name: "traversal", damage: on("claimed", func(t *blackboard.Task) { t.Worktree = "../x" }),
			path: "tasks[claimed].worktree", subject: "claimed", message: "task claimed: worktree '../x' is not allowed; it must be .worktrees/claimed"},
		{rule: "V54", name: "shortened", damage: on("claimed", func(t *blackboard.Task) { t.History = append(t.History[:1:1], t.History[2]) }),
			path: "tasks[claimed].history", subject: "claimed", message: "task claimed: history lost 2 entries"},
		{rule: "V54", name: "reordered", damage: on("claimed", func(t *blackboard.Task) { t.History[0], t.History[1] = t.History[1], t.History[0] }),
			path: "tasks[claimed].history[#1]", subject: "claimed", message: "task claimed: history entry 1 is not what it was (created)"},
		{rule: "V55", name: "another event", damage: on("merging", func(t *blackboard.Task) { t.History = append(t.History, event(1, "rejected", "code-reviewer-1")) }), warning: true,
			path: "tasks[merging].status", subject: "merging", message: "task merging: status APPROVED, but the last event is rejected"},
		{rule: "V65", name: "claim_seq", damage: on("fixing", func(t *blackboard.Task) { t.ClaimSeq = 1 }),
			path: "tasks[fixing].claim_seq", subject: "fixing", message: "task fixing: claim_seq went from 2 to 1"},
		{rule: "V65", name: "iteration", damage: on("rejected", func(t *blackboard.Task) { t.Iteration = 0 }),
			path: "tasks[rejected].iteration", subject: "rejected", message: "task rejected: iteration went from 1 to 0"},
	}
}

func sectionMutations() []mutation {
	return []mutation{
		{rule: "V46", name: "sprint", damage: inState(func(s *blackboard.State) { s.Sprint.Status = "PAUSED" }),
			path: "sprint.status", subject: "sprint", message: "sprint: unknown status 'PAUSED'"},
		{rule: "V46", name: "question", damage: inState(func(s *blackboard.State) { s.Questions[0].Status = "opened" }),
			path: "questions[q-1].status", subject: "questions", message: "question q-1: unknown status 'opened'; nearest: open"},
		{rule: "V47", name: "text for an integer", damage: inState(func(s *blackboard.State) { s.Config["lease_duration"] = "60" }),
			path: "config.lease_duration", subject: "config", message: `config.lease_duration "60" must be an integer`},
		{rule: "V47", name: "negative", damage: inState(func(s *blackboard.State) { s.Config["lease_duration"] = -1 }),
			path: "config.lease_duration", subject: "config", message: "config.lease_duration -1 must not be negative"},
		{rule: "V47", name: "branch name", damage: inState(func(s *blackboard.State) { s.Config["integration_branch"] = "a..b" }),
			path: "config.integration_branch", subject: "config", message: `config.integration_branch "a..b" is not a valid branch name`},
		{rule: "V48", name: "unknown key", damage: inState(func(s *blackboard.State) { s.Config["max_coder_iteration"] = 3 }), warning: true,
			path: "config.max_coder_iteration", subject: "config", message: "config: unknown key 'max_coder_iteration'; nearest: max_coder_iterations"},
		{rule: "V49", name: "another goal", damage: inState(func(s *blackboard.State) { s.Sprint.GoalRef = "g1" }),
			path: "sprint.goal_ref", subject: "sprint", message: "sprint.goal_ref is g1, goal.id is goal-1768831200"},
		{rule: "V49", name: "never started", damage: inState(func(s *blackboard.State) { s.Sprint.Timeline = nil }),
			path: "sprint.timeline.started", subject: "sprint", message: "sprint.timeline.started is missing"},
		{rule: "V50", name: "unknown task", damage: inState(func(s *blackboard.State) { s.Sprint.Scope.Planned = blackboard.List{"gone"} }),
			path: "sprint.scope.planned", subject: "gone", message: "sprint.scope.planned: no task 'gone'"},
		{rule: "V51", name: "no next action", damage: inState(func(s *blackboard.State) { s.Handoff["claimed"].NextAction = "" }),
			path: "handoff[claimed].next_action", subject: "handoff", message: "handoff.claimed: missing next_action"},
		{rule: "V51", name: "no task", damage: inState(func(s *blackboard.State) { s.Handoff["100%d"] = &blackboard.Handoff{Summary: "a", NextAction: "b"} }),
			path: "handoff[100%d]", subject: "100%d", message: "handoff.100%d: no task '100%d'"},
		{rule: "V52", name: "urgency", damage: inState(func(s *blackboard.State) { s.Discovered[0].Urgency = "soon" }),
			path: "discovered[disc-1].urgency", subject: "discovered", message: "discovered disc-1: urgency 'soon'; it must be deferred or immediate"},
		{rule: "V52", name: "converted to nothing", damage: inState(func(s *blackboard.State) { s.Discovered[0].ConvertedToTask = "gone" }),
			path: "discovered[disc-1].converted_to_task", subject: "gone", message: "discovered disc-1: converted_to_task: no task 'gone'"},
		{rule: "V52", name: "twice", damage: inState(func(s *blackboard.State) { s.Discovered[1].ID = "disc-1" }),
			path: "discovered[disc-1].id", subject: "discovered", message: "discovered disc-1: the id appears twice"},
		{rule: "V53", name: "unknown type", damage: inState(func(s *blackboard.State) { s.Anomalies[2].Type = "retry" }),
			path: "anomalies[anom-3].type", subject: "anomalies", message: "anomaly anom-3: unknown type 'retry'"},
		{rule: "V53", name: "no count", damage: inState(func(s *blackboard.State) { delete(s.Anomalies[0].Details, "count") }),
			path: "anomalies[anom-1].details.count", subject: "anomalies", message: "anomaly anom-1: retry_loop needs details.count"},
		{rule: "V53", name: "detail of a mild type", damage: inState(func(s *blackboard.State) { s.Anomalies[1].Details = nil }), warning: true,
			path: "anomalies[anom-2].details.what", subject: "anomalies", message: "anomaly anom-2: workaround needs details.what"},
		{rule: "V53", name: "reporter", damage: inState(func(s *blackboard.State) { s.Anomalies[1].Reporter = "coder-1" }), warning: true,
			path: "anomalies[anom-2].reporter", subject: "anomalies", message: "anomaly anom-2: coder-1 may not report workaround"},
		{rule: "V60", name: "work left", damage: func(s *blackboard.State, f *Evidence) {
			s.Goal.Status = blackboard.Completed
			justOne(s)
			f.TaskBranches, f.Worktrees = nil, nil
		}, warning: true, path: "goal.status", subject: "draft", message: "goal COMPLETED but draft is DRAFT"},
		{rule: "V64", name: "all approved", damage: inState(func(s *blackboard.State) { s.Sprint.Metrics.ReviewVerdictApprovals = 5 }), warning: true,
			path: "sprint.metrics.review_verdict_approvals", subject: "sprint", message: "5 of 5 verdicts are approvals: are reviews real?"},
	}
}

// justOne leaves the draft alone on the board.
func justOne(s *blackboard.State) {
	draft := s.Task("draft")
	draft.DependsOn = nil
	s.SetTasks([]*blackboard.Task{draft}, nil)
	s.Agents, s.Handoff, s.Discovered, s.Sprint.Scope = nil, nil, nil, nil
}

func outsideMutations() []mutation {
	return []mutation{
		{rule: "V56", name: "branch missing", damage: func(_ *blackboard.State, f *Evidence) {
			f.BranchExists = func(name string) bool { return name != "task/rejected" }
		},
			warning: true, path: "tasks[rejected]", subject: "rejected", message: "task rejected: branch task/rejected is missing"},
		{rule: "V56", name: "branch of nobody", damage: func(_ *blackboard.State, f *Evidence) { f.TaskBranches = []string{"task/x"} },
			warning: true, subject: "x", message: "branch task/x belongs to no task; next: liza gc"},
		{rule: "V56", name: "worktree of nobody", damage: func(_ *blackboard.State, f *Evidence) { f.Worktrees = []string{".worktrees/x"} },
			warning: true, subject: "x", message: "worktree .worktrees/x belongs to no task; next: liza gc"},
		{rule: "V57", name: "comes from the reader", damage: func(_ *blackboard.State, f *Evidence) {
			f.JournalProblems = []blackboard.Violation{{Rule: "V57", Subjects: []string{"log"}, Message: "log.yaml line 3: rev 50 > revision 42"}}
		}, subject: "log", message: "log.yaml line 3: rev 50 > revision 42"},
		{rule: "V58", name: "went back", damage: inState(func(s *blackboard.State) { s.Revision = 40 }),
			path: "revision", subject: "revision", message: "revision 40 is older than 42; next: liza restore"},
		{rule: "V59", name: "lost merge", damage: func(_ *blackboard.State, f *Evidence) { f.MergedIntoIntegration = func(string) bool { return false } },
			path: "tasks[merged].merge_commit", subject: "merged", message: "task merged: merge commit 77aa01b is not in integration; next: liza merge --again merged"},
		{rule: "V61", name: "comes from the reader", damage: func(_ *blackboard.State, f *Evidence) {
			f.Decode = []blackboard.Violation{{Rule: "V61", Path: "tasks[claimed].assignee", Subjects: []string{"claimed"}, Message: "task claimed: unknown key 'assignee'; nearest: assigned_to"}}
		}, warning: true, path: "tasks[claimed].assignee", subject: "claimed", message: "task claimed: unknown key 'assignee'; nearest: assigned_to"},
		{rule: "V66", name: "comes from the store", damage: func(_ *blackboard.State, f *Evidence) {
			f.Decode = []blackboard.Violation{{Rule: "V66", Path: "tasks[merging].status", Subjects: []string{"merging"}, Message: "task merging: APPROVED was not reached by a verb"}}
		}, path: "tasks[merging].status", subject: "merging", message: "task merging: APPROVED was not reached by a verb"},
		{rule: "V67", name: "comes from the store", damage: func(_ *blackboard.State, f *Evidence) {
			f.Decode = []blackboard.Violation{{Rule: "V67", Path: "tasks[claimed].status", Subjects: []string{"claimed"}, Message: "task claimed: CLAIMED was changed to REJECTED by hand"}}
		}, path: "tasks[claimed].status", subject: "claimed", message: "task claimed: CLAIMED was changed to REJECTED by hand"},
		{rule: "V68", name: "comes from the journal", damage: func(_ *blackboard.State, f *Evidence) {
			f.JournalProblems = []blackboard.Violation{{Rule: "V68", Subjects: []string{"log.yaml"}, Line: 3, Message: "this entry was changed after Liza wrote it"}}
		}, subject: "log.yaml", message: "this entry was changed after Liza wrote it"},
		{rule: "V70", name: "comes from git", damage: func(_ *blackboard.State, f *Evidence) {
			f.Decode = []blackboard.Violation{{Rule: "V70", Subjects: []string{"checkout"}, Message: "git cannot read the main checkout"}}
		}, subject: "checkout", message: "git cannot read the main checkout"},
		{rule: "V69", name: "no scope", damage: on("unclaimed", func(t *blackboard.Task) { t.ClaimSeq, t.Scope = 0, "" }),
			path: "tasks[unclaimed]", subject: "unclaimed", message: "task unclaimed: missing: scope; nobody can claim it: liza edit"},
		{rule: "V62", name: "in a task", damage: func(s *blackboard.State, f *Evidence) {
			s.Task("claimed").Scope = "use hunter2 here"
			f.Secrets = findsHunter2
		}, path: "tasks[claimed].scope", subject: "claimed", message: "task claimed: contains the value of secret 'github_token'"},
		{rule: "V62", name: "in a section", damage: func(s *blackboard.State, f *Evidence) {
			s.HumanNotes[0].Message = "hunter2"
			f.Secrets = findsHunter2
		}, path: "human_notes[#1].message", subject: "human_notes", message: "human_notes: contains the value of secret 'github_token'"},
		{rule: "V63", name: "another tip", damage: func(_ *blackboard.State, f *Evidence) { tip := commitBase; f.IntegrationTip = &tip },
			path: "integration.tip", subject: "integration", message: "integration is at 6f0c0a5b7, which Liza did not make; Liza left it at 77aa01b2c; next: liza sync --accept, or liza sync --restore"},
		{rule: "V63", name: "branch gone", damage: func(_ *blackboard.State, f *Evidence) { f.IntegrationTip = new(string) },
			path: "integration.tip", subject: "integration", message: "integration does not exist any more; Liza left it at 77aa01b2c; next: liza sync --restore"},
		{rule: "V63", name: "branch missing", damage: func(s *blackboard.State, f *Evidence) { s.Integration, f.IntegrationTip = nil, new(string) },
			path: "config.integration_branch", subject: "config", message: "branch integration does not exist; next: git branch integration <commit>"},
	}
}

func findsHunter2(text string) (string, bool) {
	return "github_token", strings.Contains(text, "hunter2")
}
