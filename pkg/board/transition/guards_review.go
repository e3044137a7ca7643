package transition

import (
	"fmt"
	"strings"

	"liza/pkg/board/blackboard"
)

func (m *move) submission() SubmissionFacts {
	if m.in.Submission == nil {
		return SubmissionFacts{}
	}
	return *m.in.Submission
}

var branchCheckedOut = Guard{"G33", "the worktree exists and HEAD is the task's branch", onlyCode(func(m *move) error {
	f := m.submission()
	switch {
	case !f.Exists:
		return m.no("G33", ExitRefused, "the worktree %s does not exist", m.task.Worktree)
	case f.Branch == "":
		return m.no("G33", ExitRefused, "HEAD of %s is detached; it must be the branch task/%s", m.task.Worktree, m.task.ID)
	case f.Branch != "task/"+m.task.ID:
		return m.no("G33", ExitRefused, "HEAD of %s is the branch %s; it must be task/%s", m.task.Worktree, f.Branch, m.task.ID)
	}
	return nil
})}

var worktreeClean = Guard{"G34", "the worktree is clean, untracked files included", onlyCode(func(m *move) error {
	if d := m.submission().Dirty; len(d) > 0 {
		return m.no("G34", ExitRefused, "the worktree %s is not clean: %s", m.task.Worktree, listPaths(d))
	}
	return nil
})}

var commitIsHead = Guard{"G35", "the commit exists and is the worktree's HEAD", onlyCode(func(m *move) error {
	f := m.submission()
	if !f.Exists {
		return nil // G33 says it
	}
	if f.Commit == "" {
		return m.no("G35", ExitRefused, "commit %s does not exist", f.Named)
	}
	if f.Commit != f.Head {
		return m.no("G35", ExitRefused, "HEAD of the worktree is %s, not %s", blackboard.ShortCommit(f.Head), blackboard.ShortCommit(f.Commit))
	}
	return nil
})}

var commitIsNew = Guard{"G36", "something was committed since the base", onlyCode(func(m *move) error {
	f := m.submission()
	if f.Commit != "" && f.Commit == m.task.BaseCommit {
		return m.no("G36", ExitRefused, "nothing was committed since base %s", blackboard.ShortCommit(m.task.BaseCommit))
	}
	if f.Commit != "" && f.EmptyDiff {
		return m.no("G36", ExitRefused, "the commits since base %s change no file", blackboard.ShortCommit(m.task.BaseCommit))
	}
	return nil
})}

var baseIsAncestor = Guard{"G37", "the base is an ancestor of the commit", onlyCode(func(m *move) error {
	if f := m.submission(); f.Commit != "" && !f.BaseIsAncestor {
		return m.no("G37", ExitRefused, "the branch was rewritten: base %s is not an ancestor of %s", blackboard.ShortCommit(m.task.BaseCommit), blackboard.ShortCommit(f.Commit))
	}
	return nil
})}

var notRejectedBefore = Guard{"G38", "the commit is not the one that was rejected last", onlyCode(func(m *move) error {
	if c := lastRejectedCommit(m.task); c != "" && c == m.submission().Commit {
		return m.no("G38", ExitRefused, "commit %s was already rejected", blackboard.ShortCommit(c))
	}
	return nil
})}

var fixContainsIntegration = Guard{"G39", "an integration fix contains the integration head of its claim, and work that merges a commit contains that", onlyCode(func(m *move) error {
	if m.task.Merges != "" && !m.submission().HasMerges {
		return refuse("G39", ExitRefused, fmt.Sprintf("git -C %s merge %s", m.task.Worktree, blackboard.ShortCommit(m.task.Merges)),
			"merge commit %s into the task's branch first", blackboard.ShortCommit(m.task.Merges))
	}
	if m.task.IntegrationFix && m.task.FixOnto != "" && !m.submission().HasFixOnto {
		return refuse("G39", ExitRefused, fmt.Sprintf("git -C %s merge %s", m.task.Worktree, blackboard.ShortCommit(m.task.FixOnto)),
			"merge the integration branch (%s) into the task's branch first", blackboard.ShortCommit(m.task.FixOnto))
	}
	return nil
})}

var testsIncluded = Guard{"G40", "changed code comes with changed tests, or with a waiver", onlyCode(func(m *move) error {
	f := m.submission()
	if !m.state.Bool("tests_required") || f.TestGateExempt || f.SourcesChanged == 0 || f.TestsChanged > 0 || !blank(m.in.NoTests) {
		return nil
	}
	return refuse("G40", ExitRefused, fmt.Sprintf("liza submit %s --no-tests REASON", m.task.ID),
		"%s changed, no test file; add tests or give --no-tests REASON", plural(f.SourcesChanged, "code file"))
})}

var intentGiven = Guard{"G41", "with pre_execution_checkpoint required, an intent was recorded after the claim", onlyCode(func(m *move) error {
	if m.state.Text("pre_execution_checkpoint") == "required" && m.task.IntentSinceClaim(m.actor.ID) == nil {
		return refuse("G41", ExitRefused, "liza intent "+m.task.ID+" --intent T --validation T", "record the intent of %s first", m.task.ID)
	}
	return nil
})}

var nothingOfLiza = Guard{"G42", "the diff touches nothing of .liza/ or .worktrees/", onlyCode(func(m *move) error {
	if p := m.submission().ForeignPaths; len(p) > 0 {
		return m.no("G42", ExitRefused, "the commits touch files of Liza itself: %s", listPaths(p))
	}
	return nil
})}

var commitsSound = Guard{"G43", "the commits are the task's own, and git's own check accepts them", onlyCode(func(m *move) error {
	if why := m.submission().Unsound; why != "" {
		return m.no("G43", ExitRefused, "the commits cannot be taken: %s", why)
	}
	return nil
})}

// onlyCode limits a guard to tasks that change files (specs/protocol.md#4.5). A command that could
// have changed some and did not is no such task.
func onlyCode(check func(*move) error) func(*move) error {
	return func(m *move) error {
		f := m.submission()
		unchanged := m.task.KindOf() != blackboard.CodeTask && f.Commit != "" && f.Commit == m.task.BaseCommit && len(f.Dirty) == 0
		if !m.task.ChangesFiles() || unchanged {
			return nil
		}
		return check(m)
	}
}

var reviewFree = Guard{"G50", "nobody reviews the task, or that lease has expired", func(m *move) error {
	t := m.task
	if t.ReviewingBy == "" {
		return nil
	}
	if t.ReviewLeaseExpires.None() {
		return refuse("G50", ExitRefused, "liza release "+t.ID+" --reviewer --reason T", "task %s has reviewing_by %s without a lease", t.ID, t.ReviewingBy)
	}
	switch live, why := m.state.ReviewLiveness(t, m.now, m.actor.Facts); live {
	case blackboard.Expired, blackboard.Dead:
		return nil
	case blackboard.Unknown:
		return m.no("G50", ExitRefused, "task %s is under review by %s, whose liveness is unknown: %s", t.ID, t.ReviewingBy, why)
	}
	return m.no("G50", ExitRefused, "task %s is under review by %s until %s", t.ID, t.ReviewingBy, t.ReviewLeaseExpires)
}}

var notAuthor = Guard{"G51", "the reviewer did not write the work", func(m *move) error {
	author := m.task.AssignedTo == m.actor.ID
	for _, a := range m.task.Attempts {
		author = author || a.Agent == m.actor.ID && (a.Kind == "" || a.Kind == string(blackboard.RoleCoder))
	}
	if coder := m.state.Agents[m.task.AssignedTo]; coder != nil && m.me() != nil && coder != m.me() {
		author = author || coder.Generation != "" && coder.Generation == m.me().Generation ||
			coder.TokenHash != "" && coder.TokenHash == m.me().TokenHash
	}
	if author {
		return m.refuseNext("liza status", "G51", ExitRefused, "%s wrote the work of %s; another reviewer has to judge it", m.actor.ID, m.task.ID)
	}
	return m.mayTake("G51")
}}

var reviewerFree = Guard{"G52", "the reviewer has no other task", func(m *move) error {
	if a := m.me(); a != nil && a.CurrentTask != "" && a.CurrentTask != m.task.ID {
		return m.refuseNext("liza show "+a.CurrentTask, "G52", ExitRefused, "%s already reviews %s", m.actor.ID, a.CurrentTask)
	}
	return nil
}}

var callerIsReviewer = Guard{"G53", "the caller is the task's reviewer", func(m *move) error {
	switch m.task.ReviewingBy {
	case m.actor.ID:
		return nil
	case "":
		return refuse("G53", ExitRefused, "liza claim-review "+m.task.ID, "task %s is under review by nobody; claim the review first", m.task.ID)
	}
	return m.no("G53", ExitRefused, "task %s is under review by %s", m.task.ID, m.task.ReviewingBy)
}}

var holdsReview = Guard{"G54", "the review claim is that of the caller's registration", func(m *move) error {
	if a := m.me(); a != nil && m.task.ReviewingGeneration != "" && m.task.ReviewingGeneration != a.Generation {
		return m.no("G54", ExitLeaseLost, "the review claim on %s belongs to an earlier registration of %s", m.task.ID, m.actor.ID)
	}
	return nil
}}

var reasonGiven = Guard{"G57", "a reason is given", func(m *move) error {
	if blank(m.in.Reason) {
		return m.no("G57", ExitUsage, "--reason is empty: say file, defect and fix")
	}
	return nil
}}

// noErrorFinding says what Approve does: an approval against an error finding becomes T15
// or T16 with the errors as reason.
var noErrorFinding = Guard{"G58", "no finding is of severity error; otherwise the gate turns the approval into T15 or T16", func(*move) error { return nil }}

func (m *move) reviewed() ReviewFacts {
	if m.in.Review == nil {
		return ReviewFacts{}
	}
	return *m.in.Review
}

var headUnmoved = Guard{"G55", "branch and worktree are still at the review commit", onlyCode(func(m *move) error {
	f := m.reviewed()
	for _, at := range []string{f.BranchTip, f.Head} {
		if at != m.task.ReviewCommit {
			return m.refuseNext(m.lookCommand(), "G55", ExitRefused, "HEAD moved from %s to %s after the submission, and only what was submitted can be approved", blackboard.ShortCommit(m.task.ReviewCommit), orNone(blackboard.ShortCommit(at)))
		}
	}
	return nil
})}

// lookCommand is what the caller of an approval that cannot be had does next. A reviewer may have
// moved HEAD itself, and must not reject the coder's work for it.
func (m *move) lookCommand() string {
	if m.rule.Event == EvApproveMerge {
		return "liza reject-merge " + m.task.ID + " --reason 'HEAD moved'"
	}
	return "git -C " + m.task.Worktree + " status"
}

func orNone(commit string) string {
	if commit == "" {
		return "nothing"
	}
	return commit
}

var cleanForApproval = Guard{"G56", "the worktree is clean", onlyCode(func(m *move) error {
	if d := m.reviewed().Dirty; len(d) > 0 {
		return refuse("G56", ExitRefused, fmt.Sprintf("git -C %s status", m.task.Worktree),
			"the worktree was changed during the review: %s", listPaths(d))
	}
	return nil
})}

func listPaths(paths []string) string {
	const most = 10
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}
