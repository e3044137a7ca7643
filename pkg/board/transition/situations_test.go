package transition

import (
	"slices"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// A situation is a task "x" in one status, in one of the conditions that rules tell apart.
type situation struct {
	name   string
	status blackboard.Status // "": there is no such task
	make   func(*board)
}

var situations = slices.Concat(free, onHoldToo(), attemptsToo())

// onHoldToo are the situations of each status once more, on hold by a person.
func onHoldToo() []situation {
	var list []situation
	for _, s := range free {
		if slices.ContainsFunc(list, func(x situation) bool { return x.status == s.status }) || s.status == "" || s.status.Terminal() {
			continue
		}
		list = append(list, situation{s.name + ", on hold", s.status, func(b *board) {
			s.make(b)
			b.must(HoldTask(b.State, "x", person, Input{Reason: "wait"}, b.now))
		}})
	}
	return list
}

// attemptsToo are the situations of each open status once more, as one of two attempts: the other is handed in and under review.
func attemptsToo() []situation {
	var list []situation
	for _, s := range free {
		if slices.ContainsFunc(list, func(x situation) bool { return x.status == s.status }) || s.status == "" || s.status.Terminal() {
			continue
		}
		for _, reviewer := range []string{"code-reviewer-1", "code-reviewer-2"} {
			list = append(list, situation{s.name + ", one of two attempts, " + reviewer + " has the other", s.status, func(b *board) {
				s.make(b)
				if b.Task("aside") == nil {
					b.add("aside")
				}
				b.claim("aside", "coder-2")
				b.submit("aside", 7)
				if b.Agents[reviewer].CurrentTask == "" {
					b.claimReview("aside", reviewer)
				}
				b.Task("x").AttemptOf, b.Task("aside").AttemptOf = "x", "x"
			}})
		}
	}
	return list
}

var free = []situation{
	{"no task", "", func(*board) {}},
	{"a draft", blackboard.Draft, func(b *board) { b.must(Create(b.State, codeTask("x"), true, person, Input{}, b.now)) }},
	{"unclaimed", blackboard.Unclaimed, func(b *board) { b.add("x") }},
	{"unclaimed, reserved by coder-1", blackboard.Unclaimed, func(b *board) {
		b.add("x")
		b.must(Reserve(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now))
	}},
	{"unclaimed, released by the only coder in its last iteration", blackboard.Unclaimed, func(b *board) {
		b.add("x").MaxIterations = 1
		b.claim("x", "coder-1")
		b.must(Release(b.State, "x", supervisorOf("coder-1"), Input{Reason: "three crashes", HasWork: true}, b.now))
		b.Agents["coder-2"].LeaseExpires = blackboard.TimeOf(b.now.Add(-time.Hour))
	}},
	{"unclaimed, waiting for another", blackboard.Unclaimed, func(b *board) {
		b.add("first")
		b.add("x", "first")
	}},
	{"claimed by coder-1", blackboard.Claimed, func(b *board) { b.add("x"); b.claim("x", "coder-1") }},
	{"claimed, the lease is over", blackboard.Claimed, func(b *board) { b.add("x"); b.claim("x", "coder-1"); b.after(2 * time.Hour) }},
	{"claimed, the last iteration", blackboard.Claimed, func(b *board) { b.add("x").MaxIterations = 1; b.claim("x", "coder-1") }},
	{"claimed, a message", blackboard.Claimed, func(b *board) {
		b.create(plainTask("x", "msg"))
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), Input{Claim: &ClaimFacts{Base: integrationHead}}, b.now))
	}},
	{"claimed for an integration fix", blackboard.Claimed, func(b *board) {
		b.failed("x", 2)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
	}},
	{"ready, nobody reviews", blackboard.ReadyForReview, func(b *board) { b.ready("x", 2) }},
	{"ready, under review", blackboard.ReadyForReview, func(b *board) { b.ready("x", 2); b.claimReview("x", "code-reviewer-1") }},
	{"ready, under review for the last time", blackboard.ReadyForReview, func(b *board) {
		b.ready("x", 2).MaxReviewCycles = 1
		b.claimReview("x", "code-reviewer-1")
	}},
	{"ready, review failed too often", blackboard.ReadyForReview, func(b *board) {
		b.ready("x", 2).ReviewFailures = 2
		b.claimReview("x", "code-reviewer-1")
	}},
	{"ready, the review lease is over", blackboard.ReadyForReview, func(b *board) {
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		b.after(2 * time.Hour)
	}},
	{"ready, the review is stuck", blackboard.ReadyForReview, func(b *board) {
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		b.must(ReleaseReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{What: "stuck", Reason: "no idea"}, b.now))
	}},
	{"ready, without need of a reviewer", blackboard.ReadyForReview, func(b *board) {
		b.create(plainTask("x", "msg"))
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), Input{Claim: &ClaimFacts{Base: integrationHead}}, b.now))
		b.must(HoldTask(b.State, "x", person, Input{Reason: "wait"}, b.now))
		b.must(Submit(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
		b.must(UnholdTask(b.State, "x", person, Input{}, b.now))
	}},
	{"ready, one of two has approved", blackboard.ReadyForReview, func(b *board) { b.halfApproved("x") }},
	{"ready, one of two has approved in a run that goes on", blackboard.ReadyForReview, func(b *board) {
		b.halfApproved("x")
		b.must(Spawned(b.State, supervisorOf("code-reviewer-1"), blackboard.Child{PID: 4711, Run: 2, TokenHash: "sha256:run-code-reviewer-1", Task: "x", CLI: "claude"}, b.now))
	}},
	{"ready, one of two has approved, the other reviews", blackboard.ReadyForReview, func(b *board) { b.halfApproved("x"); b.claimReview("x", "code-reviewer-2") }},
	{"rejected", blackboard.Rejected, func(b *board) { b.rejected("x", 2) }},
	{"rejected long ago", blackboard.Rejected, func(b *board) { b.rejected("x", 2); b.after(time.Hour) }},
	{"rejected, iterations used up", blackboard.Rejected, func(b *board) { b.rejected("x", 2).MaxIterations = 1 }},
	{"approved", blackboard.Approved, func(b *board) { b.ready("x", 2); b.claimReview("x", "code-reviewer-1"); b.approve("x") }},
	{"approved in a run that goes on", blackboard.Approved, func(b *board) {
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		b.approve("x")
		b.must(Spawned(b.State, supervisorOf("code-reviewer-1"), blackboard.Child{PID: 4711, Run: 2, TokenHash: "sha256:run-code-reviewer-1", Task: "x"}, b.now))
	}},
	{"approved, waiting for a person", blackboard.Approved, func(b *board) { b.approvedStrict("x") }},
	{"approved, waiting, in the last cycle", blackboard.Approved, func(b *board) { b.approvedStrict("x").MaxReviewCycles = 1 }},
	{"merged", blackboard.Merged, func(b *board) { b.done("x", 2) }},
	{"blocked with a question", blackboard.Blocked, func(b *board) { b.blocked("x") }},
	{"blocked by its cost", blackboard.Blocked, func(b *board) {
		b.add("x")
		b.claim("x", "coder-1")
		b.must(HaltTask(b.State, "x", supervisorOf("coder-1"), Input{Halt: &blackboard.Halt{Kind: "cost", Value: 1200, Limit: 1000}}, b.now))
	}},
	{"abandoned", blackboard.Abandoned, func(b *board) {
		b.add("x")
		_, err := Abandon(b.State, "x", person, Input{Reason: "not wanted"}, b.now)
		b.must(err)
	}},
	{"superseded", blackboard.Superseded, func(b *board) {
		b.add("x")
		b.add("other")
		b.must(Supersede(b.State, "x", person, Input{Reason: "too large", By: blackboard.List{"other"}}, b.now))
	}},
	{"integration failed", blackboard.IntegrationFailed, func(b *board) { b.failed("x", 2) }},
	{"integration failed, iterations used up", blackboard.IntegrationFailed, func(b *board) { b.failed("x", 2).MaxIterations = 1 }},
}

// approvedStrict brings a task to APPROVED in mode strict: a person decides about the merge.
func (b *board) approvedStrict(id string) *blackboard.Task {
	b.t.Helper()
	b.ready(id, 2)
	b.claimReview(id, "code-reviewer-1")
	in := b.reviewed(id)
	in.ReviewMode = "strict"
	_, err := Approve(b.State, id, programOf("code-reviewer-1"), in, b.now)
	b.must(err)
	return b.Task(id)
}

// halfApproved is work of coder-1 that code-reviewer-1 has approved and that needs two.
func (b *board) halfApproved(id string) *blackboard.Task {
	b.t.Helper()
	b.ready(id, 2)
	b.claimReview(id, "code-reviewer-1")
	_, err := Approve(b.State, id, programOf("code-reviewer-1"), b.reviewedForTwo(id), b.now)
	b.must(err)
	return b.Task(id)
}

func (b *board) reviewedForTwo(id string) Input {
	in := b.reviewed(id)
	in.Review.Tree, in.Quorum = "tree", &blackboard.Quorum{Reviewers: 2, Paths: blackboard.List{"auth/**"}}
	return in
}

// A trial says how it is tried on task "x".
type trial struct {
	name  string
	event Event
	do    func(b *board, a Actor) error
}

// trials try every event with inputs that let it happen where it may, in each of the ways
// that rules tell apart.
var trials = []trial{
	{"draft", evDraft, func(b *board, a Actor) error { return Create(b.State, codeTask("new"), true, a, Input{}, b.now) }},
	{"create", evCreate, func(b *board, a Actor) error { return Create(b.State, codeTask("new"), false, a, Input{}, b.now) }},
	{"finalize", evFinalize, func(b *board, a Actor) error { return Finalize(b.State, []string{"x"}, a, Input{}, b.now) }},
	{"reserve", evReserve, func(b *board, a Actor) error { return Reserve(b.State, "x", a, claimed("x"), b.now) }},
	{"claim afresh", evClaim, func(b *board, a Actor) error { return Claim(b.State, "x", a, claimed("x"), b.now) }},
	{"claim and go on", evClaim, func(b *board, a Actor) error { return Claim(b.State, "x", a, kept("x"), b.now) }},
	{"intent", evIntent, func(b *board, a Actor) error {
		return RecordIntent(b.State, "x", a, Input{Intent: &blackboard.Intent{Intent: "add a flag", Validation: "go test"}}, b.now)
	}},
	{"submit", evSubmit, func(b *board, a Actor) error { return Submit(b.State, "x", a, submitted("x", commitOf(7)), b.now) }},
	{"pass", evPass, func(b *board, a Actor) error { return run(b.State, evPass, "x", a, Input{}, b.now) }},
	{"claim_review", evClaimReview, func(b *board, a Actor) error { return ClaimReview(b.State, "x", a, Input{}, b.now) }},
	{"approve", evApprove, func(b *board, a Actor) error {
		_, err := Approve(b.State, "x", a, b.reviewed("x"), b.now)
		return err
	}},
	{"approve, one of two", evApprove, func(b *board, a Actor) error {
		_, err := Approve(b.State, "x", a, b.reviewedForTwo("x"), b.now)
		return err
	}},
	{"approve against an error", evApprove, func(b *board, a Actor) error {
		in := b.reviewed("x")
		in.Verdict = &VerdictInput{Findings: []*blackboard.Finding{{Severity: "error", Message: "broken"}}}
		_, err := Approve(b.State, "x", a, in, b.now)
		return err
	}},
	{"reject", evReject, func(b *board, a Actor) error { return Reject(b.State, "x", a, Input{Reason: "a.go:1 is wrong"}, b.now) }},
	{"replan", evReplan, func(b *board, a Actor) error {
		return Replan(b.State, "x", a, Input{Reason: "another way is needed"}, b.now)
	}},
	{"verdict stuck", evReviewRelease, func(b *board, a Actor) error {
		return ReleaseReview(b.State, "x", a, Input{What: "stuck", Reason: "no idea what to say"}, b.now)
	}},
	{"review failed", evReviewRelease, func(b *board, a Actor) error {
		return ReleaseReview(b.State, "x", a, Input{What: "failed", Reason: "crashed"}, b.now)
	}},
	{"release the review", evReviewRelease, func(b *board, a Actor) error {
		return ReleaseReview(b.State, "x", a, Input{Reason: "not now", Force: true}, b.now)
	}},
	{"approve_merge", evApproveMerge, func(b *board, a Actor) error { return ApproveMerge(b.State, "x", a, b.reviewed("x"), b.now) }},
	{"approve_merge, mode disabled", evApproveMerge, func(b *board, a Actor) error {
		in := b.reviewed("x")
		in.ReviewMode = "disabled"
		return ApproveMerge(b.State, "x", a, in, b.now)
	}},
	{"approve_merge, one of three", evApproveMerge, func(b *board, a Actor) error {
		in := b.reviewedForTwo("x")
		in.Quorum.Reviewers = 3
		return ApproveMerge(b.State, "x", a, in, b.now)
	}},
	{"ask_again", evAskAgain, func(b *board, a Actor) error { return AskAgain(b.State, "x", a, b.reviewedForTwo("x"), b.now) }},
	{"reject_merge", evRejectMerge, func(b *board, a Actor) error {
		return RejectMerge(b.State, "x", a, Input{Reason: "not this way"}, b.now)
	}},
	{"reject_merge, mode disabled", evRejectMerge, func(b *board, a Actor) error {
		return RejectMerge(b.State, "x", a, Input{Reason: "not this way", ReviewMode: "disabled"}, b.now)
	}},
	{"void_approval", evVoidApproval, func(b *board, a Actor) error {
		return VoidApproval(b.State, "x", a, Input{Reason: "the exit command says needs_fix"}, b.now)
	}},
	{"merge_intent", evMergeIntent, func(b *board, a Actor) error { return IntendMerge(b.State, "x", a, mergeable(commitOf(901)), b.now) }},
	{"merge", evMerge, func(b *board, a Actor) error { return FinishMerge(b.State, "x", a, mergeable(commitOf(901)), b.now) }},
	{"integration_failed", evIntegrationFailed, func(b *board, a Actor) error {
		return FailIntegration(b.State, "x", a, Input{Merge: &MergeFacts{Reason: "checks", Log: ".liza/output/x.log"}}, b.now)
	}},
	{"block", evBlock, func(b *board, a Actor) error {
		return Block(b.State, "x", a, Input{Reason: "the spec contradicts itself", Questions: blackboard.List{"Which half holds?"}}, b.now)
	}},
	{"block after attempts", evBlock, func(b *board, a Actor) error {
		return Block(b.State, "x", a, Input{Reason: "nothing works", Questions: blackboard.List{"What else?"}, Attempted: blackboard.List{"this", "that"}}, b.now)
	}},
	{"limit", evLimit, func(b *board, a Actor) error {
		return LimitIterations(b.State, "x", a, Input{Reason: "undefined: Foo"}, b.now)
	}},
	{"halt", evHalt, func(b *board, a Actor) error {
		return HaltTask(b.State, "x", a, Input{Halt: &blackboard.Halt{Kind: "time", Value: 61, Limit: 60}}, b.now)
	}},
	{"dependency_lost", evDependencyLost, func(b *board, a Actor) error {
		return run(b.State, evDependencyLost, "x", a, Input{What: "gone"}, b.now)
	}},
	{"unblock", evUnblock, func(b *board, a Actor) error { return Unblock(b.State, "x", a, Input{Reason: "Windows is out"}, b.now) }},
	{"resubmit", evResubmit, func(b *board, a Actor) error {
		return Resubmit(b.State, "x", a, Input{Limits: blackboard.Settings{"cost_cents": 2000}}, b.now)
	}},
	{"retarget", evRetarget, func(b *board, a Actor) error {
		return run(b.State, evRetarget, "x", a, Input{What: "gone", By: blackboard.List{"aside"}}, b.now)
	}},
	{"supersede", evSupersede, func(b *board, a Actor) error {
		return Supersede(b.State, "x", a, Input{Reason: "too large", By: blackboard.List{"aside"}}, b.now)
	}},
	{"pick", evPick, func(b *board, a Actor) error {
		return Pick(b.State, "aside", []string{"x"}, a, nil, Input{Reason: "it is simpler"}, b.now)
	}},
	{"abandon", evAbandon, func(b *board, a Actor) error {
		_, err := Abandon(b.State, "x", a, Input{Reason: "not wanted"}, b.now)
		return err
	}},
	{"hold", evHold, func(b *board, a Actor) error {
		return HoldTask(b.State, "x", a, Input{Reason: "wait for the customer"}, b.now)
	}},
	{"unhold", evUnhold, func(b *board, a Actor) error { return UnholdTask(b.State, "x", a, Input{}, b.now) }},
	{"release", evRelease, func(b *board, a Actor) error {
		return Release(b.State, "x", a, Input{Reason: "the coder is ill", Force: true, HasWork: true}, b.now)
	}},
	{"handoff", evHandoff, func(b *board, a Actor) error {
		return HandOff(b.State, "x", a, Input{Handoff: &blackboard.Handoff{Summary: "half done", NextAction: "the other half"}}, b.now)
	}},
	{"retry", evRetry, func(b *board, a Actor) error { return Retry(b.State, "x", a, Input{}, b.now) }},
	{"run crashed", evRunFailed, func(b *board, a Actor) error { return RunFailed(b.State, "x", a, Input{Outcome: "crashed"}, b.now) }},
	{"run timed out", evRunFailed, func(b *board, a Actor) error { return RunFailed(b.State, "x", a, Input{Outcome: "timeout"}, b.now) }},
}

// A somebody is one of the kinds of callers that the table of the protocol tells apart.
type somebody struct {
	kind  string
	party Party // what the table calls him; 0: nobody
	actor func(*board) Actor
	guard string // of a nobody: what refuses him
}

func as(a Actor) func(*board) Actor { return func(*board) Actor { return a } }

var everybody = slices.Concat(
	[]somebody{
		{kind: "human", party: ByHuman, actor: as(person)},
		{kind: "system", party: BySystem, actor: as(system)},
	},
	agentCallers("planner-1", "coder-1", "coder-2", "code-reviewer-1", "code-reviewer-2"),
	[]somebody{
		{kind: "unregistered", actor: as(supervisorOf("coder-9")), guard: "G01"},
		{kind: "malformed id", actor: as(supervisorOf("my-coder-1")), guard: "G01"},
		{kind: "human --as malformed", actor: as(personAs("coder")), guard: "G01"},
		{kind: "no token", actor: as(Actor{ID: "coder-1"}), guard: "G02"},
		{kind: "wrong token", actor: as(Actor{ID: "coder-1", TokenHash: "sha256:another"}), guard: "G02"},
		{kind: "human inside coder-1", actor: as(Actor{ID: blackboard.Human, Inside: "coder-1"}), guard: "G04"},
		{kind: "--as code-reviewer-1 inside coder-1", actor: func(*board) Actor {
			a := personAs("code-reviewer-1")
			a.Inside = "coder-1"
			return a
		}, guard: "G04"},
		{kind: "--as coder-1 inside coder-1", actor: func(*board) Actor {
			a := personAs("coder-1")
			a.Inside = "coder-1"
			return a
		}, guard: "G04"},
	},
)

// agentCallers are, for each agent, its program, its supervisor, and a person with --as.
func agentCallers(ids ...string) []somebody {
	var list []somebody
	for _, id := range ids {
		role, _, _ := blackboard.ParseAgentID(id)
		both := agentParty(role) | supervisorParty(role)
		list = append(list,
			somebody{kind: "program of a " + string(role), party: agentParty(role), actor: as(programOf(id))},
			somebody{kind: "supervisor of a " + string(role), party: both, actor: as(supervisorOf(id))},
			somebody{kind: "human --as a " + string(role), party: both, actor: func(*board) Actor { return personAs(id) }})
	}
	return list
}

// situated makes a board on which task "x" is in that situation; "aside" is another task
// and "gone" one that "x" may have waited for.
func situated(t testing.TB, s situation) *board {
	t.Helper()
	b := team(t)
	b.add("aside")
	s.make(b)
	if s.status != "" {
		b.status("x", s.status)
	}
	b.TakeEntries(0)
	b.valid()
	return b
}
