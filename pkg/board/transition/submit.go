package transition

import (
	"fmt"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// submitRules are the rows of submit and pass.
var submitRules = []Rule{
	{ID: "T11", Event: evSubmit, From: from(blackboard.Claimed), To: blackboard.ReadyForReview, Who: ByCoder | SCoder,
		Needs: needs(callerIsCoder, holdsClaim),
		All: needs(branchCheckedOut, worktreeClean, commitIsHead, commitIsNew, baseIsAncestor, notRejectedBefore,
			fixContainsIntegration, testsIncluded, intentGiven, nothingOfLiza, commitsSound),
		Does:    does(storeSubmission, endClaim),
		History: records(blackboard.HistoryReadyForReview), Log: names(blackboard.ActionReadyForReview)},
	{ID: "T12", Event: evPass, From: from(blackboard.ReadyForReview), To: blackboard.Approved, Who: BySystem, When: needsNoReviewer,
		Needs:   needs(notHeld),
		Does:    does(approveByItself, endReview),
		History: records(blackboard.HistoryApproved), Log: names(blackboard.ActionApproved)},
}

// SubmissionFacts are the facts that the submit guards G33 to G42 need.
type SubmissionFacts struct {
	Exists         bool
	Branch         string // "" when HEAD is detached
	Head           string
	Dirty          []string
	Commit         string // resolved commit; "" when it does not exist
	Named          string // as the caller named it
	EmptyDiff      bool
	SameTree       bool // as that of the last failure
	OtherChecks    bool // than those of the last failure
	BaseIsAncestor bool
	HasFixOnto     bool
	HasMerges      bool
	ForeignPaths   []string // paths under .liza/ or .worktrees/, gitlinks
	Unsound        string   // why the commits must not be merged, or ""
	SourcesChanged int
	TestsChanged   int
	TestGateExempt bool
}

func (m *move) submission() SubmissionFacts {
	if m.in.Submission == nil {
		return SubmissionFacts{}
	}
	return *m.in.Submission
}

// Submit hands a claimed task in for review (T11). A task that needs no reviewer goes
// on to MERGED in the same write (T12, T22; specs/protocol.md#4.5).
func Submit(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	if err := run(s, evSubmit, id, a, in, now); err != nil {
		return err
	}
	system, pass := SystemActor(a.Facts), Input{Proceed: in.Proceed}
	if t := s.Task(id); t.Hold != nil || !needsNoReviewer.Holds(&move{state: s, task: t, in: pass}) {
		return nil
	}
	if err := run(s, evPass, id, system, pass, now); err != nil {
		return err
	}
	return run(s, evMerge, id, system, Input{}, now)
}

var needsNoReviewer = &Condition{Text: "its kind is not code, it writes nothing, and it asks for no review, or has no review left with on_review_depth proceed",
	Holds: func(m *move) bool { return reviewsItself(m.task) || m.unreviewed() }}

// reviewsItself reports whether the task is APPROVED without a reviewer (specs/protocol.md#4.5).
func reviewsItself(t *blackboard.Task) bool { return !t.ChangesFiles() && !t.ReviewRequired }

// unreviewed reports whether a result is accepted although the reviewer wanted another one: the
// cycles are used up, nothing of it is merged, and the project wants that (on_review_depth).
func (m *move) unreviewed() bool {
	return m.proceeds() && m.task.ReviewCyclesCurrent >= maxReviewCycles(m.state, m.task)
}

func (m *move) proceeds() bool { return m.in.Proceed && !m.task.ChangesFiles() }

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

var notRejectedBefore = Guard{"G38", "something is new since the last rejection, or since the checks failed", onlyCode(func(m *move) error {
	failed, f := LastFailure(m.task), m.submission()
	switch {
	case failed == nil || failed.Commit == "" || f.Commit == "" || f.OtherChecks:
		return nil
	case failed.Event == blackboard.HistoryRejected:
		if f.Commit != failed.Commit {
			return nil
		}
		return m.no("G38", ExitRefused, "nothing new since commit %s was already rejected: %s", blackboard.ShortCommit(failed.Commit), oneLine(failed.Reason))
	}
	if f.Commit != failed.Commit && !f.SameTree || !strings.HasPrefix(failed.Reason, "checks") {
		return nil
	}
	return m.no("G38", ExitRefused, "nothing new since commit %s failed in its merge: %s", blackboard.ShortCommit(failed.Commit), oneLine(failed.Reason))
})}

// LastFailure returns the newest rejection of the task, or failure of its merge, that still counts: an unblock starts the
// task again. Its commit fails in the same way as long as the branch and the checks are the same.
func LastFailure(t *blackboard.Task) *blackboard.HistoryEntry {
	for h := range t.Backwards() {
		switch {
		case h.Event == blackboard.HistoryRejected, h.Event == blackboard.HistoryIntegrationFailed:
			return h
		case h.Event == blackboard.HistoryUnblocked:
			return nil
		}
	}
	return nil
}

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

func listPaths(paths []string) string {
	const most = 10
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}

var storeSubmission = Effect{"review_commit, no_tests; fixes done; review, approvals, quorum null; handoff_pending false", func(m *move) {
	t := m.task
	t.ReviewCommit = t.BaseCommit
	if t.ChangesFiles() {
		t.ReviewCommit = m.submission().Commit
	}
	t.NoTests, t.Review = nil, nil
	dropApprovals(t)
	if !blank(m.in.NoTests) {
		t.NoTests = &blackboard.NoTests{Reason: m.in.NoTests, By: m.actor.ID, At: blackboard.TimeOf(m.now)}
		m.h.NoTests = m.in.NoTests
	}
	for _, f := range t.Fixes {
		f.Done = true
	}
	t.HandoffPending = false
	m.h.Commit = t.ReviewCommit
	m.detail = "commit " + blackboard.ShortCommit(t.ReviewCommit)
	if m.in.Summary != "" {
		m.detail += ": " + m.in.Summary
	}
}}

var approveByItself = Effect{"approved_by auto, approved_commit", func(m *move) {
	t := m.task
	t.ApprovedBy, t.ApprovedCommit, t.RejectionReason, t.Fixes = "auto", t.ReviewCommit, nil, nil
	m.h.Auto, m.h.Commit = true, t.ReviewCommit
	m.detail = "auto: no review is asked for"
	if m.unreviewed() {
		m.detail = "auto: accepted after the last review"
		m.state.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(m.now), Agent: blackboard.System, Action: blackboard.ActionAcceptedUnreviewed, Task: t.ID, Extra: map[string]any{"level": "warning"},
			Detail: fmt.Sprintf("accepted without another review after %d rejections (limits.on_review_depth)", t.ReviewCyclesCurrent)})
	}
}}
