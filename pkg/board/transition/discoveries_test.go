package transition

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

func (b *board) discover(urgency string) *blackboard.Discovery {
	b.t.Helper()
	d := &blackboard.Discovery{During: "x", Description: "the retry helper swallows errors", Urgency: urgency}
	b.must(Discover(b.State, d, programOf("coder-1"), b.now))
	return d
}

func (b *board) dueKinds() (kinds []string) {
	due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
	for _, t := range due {
		kinds = append(kinds, string(t.Kind))
	}
	return kinds
}

// P-151: an immediate discovery wakes the planner once; converted, it does not wake it again.
func TestAnImmediateDiscoveryWakesThePlannerUntilItIsDecided(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	d := b.discover("immediate")
	wantList(t, "due", b.dueKinds(), []string{"IMMEDIATE_DISCOVERY"})
	want(t, "completion", CompletionOf(b.State, CompletionFacts{}, b.now), CompletionOpen)
	a := supervisorOf("planner-1")
	due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
	b.must(BeginPlanning(b.State, a, due, b.now))
	wantList(t, "due after the launch", b.dueKinds(), nil)
	b.must(Create(b.State, codeTask("y"), false, a, Input{}, b.now))
	b.must(ConvertDiscovery(b.State, d.ID, "y", a, b.now))
	b.must(EndPlanning(b.State, a, due, true, false, b.now))
	b.after(time.Hour)
	wantList(t, "due an hour later", b.dueKinds(), nil)
	b.discover("deferred")
	wantList(t, "due for one that can wait", b.dueKinds(), nil)
	second := b.discover("immediate")
	wantList(t, "due for another one", b.dueKinds(), []string{"IMMEDIATE_DISCOVERY"})
	b.must(DeferDiscovery(b.State, second.ID, "next sprint", person, b.now))
	wantList(t, "due when it is deferred", b.dueKinds(), nil)
	want(t, "the tasks that were touched", len(b.Task("x").History), 2)
	b.valid()
}

func TestADiscoveryIsRecordedWhole(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	d := b.discover("")
	want(t, "the entry", *b.Discovered[0], blackboard.Discovery{ID: "disc-1", By: "coder-1", During: "x", Description: "the retry helper swallows errors",
		Severity: "low", Urgency: "deferred", Created: blackboard.TimeOf(b.now)})
	e := b.Entries()[len(b.Entries())-1]
	want(t, "the journal", e.Agent+" "+string(e.Action)+" "+e.Task+" "+e.Detail, "coder-1 discovered x disc-1 (low, deferred): the retry helper swallows errors")
	b.must(DeferDiscovery(b.State, d.ID, " later ", person, b.now))
	want(t, "deferred", *d.Deferred, blackboard.Deferred{By: "ada", At: blackboard.TimeOf(b.now), Reason: "later"})
	b.must(DeferDiscovery(b.State, d.ID, "much later", personAs("planner-2"), b.now))
	want(t, "deferred again", d.Deferred.By+": "+d.Deferred.Reason, "planner-2: much later")
	b.must(ConvertDiscovery(b.State, d.ID, "x", person, b.now))
	want(t, "converted", d.ConvertedToTask, "x")
	wantList(t, "the journal", actions(b.State, "x")[1:], []string{"discovered", "discovery_deferred", "discovery_deferred", "discovery_converted"})
	b.already("convert", func() error { return ConvertDiscovery(b.State, d.ID, "x", person, b.now) })
	for range 2 {
		b.must(Discover(b.State, &blackboard.Discovery{During: "x", Description: "more", Severity: "critical"}, programOf("code-reviewer-1"), b.now))
	}
	want(t, "the third id", b.Discovered[2].ID, "disc-3")
	b.must(DeferDiscovery(b.State, "disc-2", "later", person, b.now))
	b.already("defer", func() error { return DeferDiscovery(b.State, "disc-2", "later", person, b.now) })
	b.valid()
}

func TestDiscoveriesAreRefusedWithoutATrace(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.discover("immediate")
	coder, planner := programOf("coder-1"), programOf("planner-1")
	found := func(d blackboard.Discovery, a Actor) func() error {
		return func() error { return Discover(b.State, &d, a, b.now) }
	}
	ok := blackboard.Discovery{During: "x", Description: "odd"}
	with := func(change func(*blackboard.Discovery)) blackboard.Discovery { d := ok; change(&d); return d }
	b.refused("G03", ExitRefused, "a planner may not discover", found(ok, planner))
	b.refused("G02", ExitLeaseLost, "no longer coder-1", found(ok, Actor{ID: "coder-1", TokenHash: "sha256:old"}))
	b.refused("G09", ExitUsage, "the text is empty", found(with(func(d *blackboard.Discovery) { d.Description = " " }), coder))
	b.refused("G09", ExitUsage, "--task is empty", found(with(func(d *blackboard.Discovery) { d.During = "" }), coder))
	b.refused("G05", ExitRefused, "no task 'xx'; did you mean 'x'?", found(with(func(d *blackboard.Discovery) { d.During = "xx" }), coder))
	b.refused("G09", ExitUsage, "'urgent' must be critical, high, medium or low", found(with(func(d *blackboard.Discovery) { d.Severity = "urgent" }), coder))
	b.refused("G09", ExitUsage, "'soon' must be deferred or immediate", found(with(func(d *blackboard.Discovery) { d.Urgency = "soon" }), coder))

	convert := func(id, task string, a Actor) func() error {
		return func() error { return ConvertDiscovery(b.State, id, task, a, b.now) }
	}
	postpone := func(id, reason string, a Actor) func() error {
		return func() error { return DeferDiscovery(b.State, id, reason, a, b.now) }
	}
	b.refused("G03", ExitRefused, "a coder may not convert; planner or human may", convert("disc-1", "x", coder))
	b.refused("G03", ExitRefused, "a code_reviewer may not defer", postpone("disc-1", "later", programOf("code-reviewer-1")))
	b.refused("G05", ExitRefused, "no discovery 'disc-2'; did you mean 'disc-1'?", convert("disc-2", "x", planner))
	b.refused("G05", ExitRefused, "no discovery", postpone("", "later", planner))
	b.refused("G05", ExitRefused, "no task 'z'", convert("disc-1", "z", planner))
	b.refused("G09", ExitUsage, "--task is empty", convert("disc-1", "", planner))
	b.refused("G09", ExitUsage, "--reason is empty", postpone("disc-1", "\n", planner))
	b.must(ConvertDiscovery(b.State, "disc-1", "x", planner, b.now))
	b.add("y")
	b.refused("G06", ExitRefused, "disc-1 was converted to x", convert("disc-1", "y", planner))
	b.refused("G06", ExitRefused, "disc-1 was converted to x", postpone("disc-1", "later", planner))
}

func TestASpecChangeIsToldAndWakesThePlanner(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.add("y")
	other := codeTask("z")
	other.SpecRef = "specs/other.md"
	b.create(other)
	b.done("w", 5)
	change := blackboard.SpecChange{Spec: "specs/vision.md#x", Change: "names may contain spaces", Hash: "sha256:11"}
	first := change
	affected, err := ChangeSpec(b.State, &first, "x", person, b.now)
	b.must(err)
	wantList(t, "the tasks that are told", affected, []string{"x", "y"})
	want(t, "the entry", *b.SpecChanges[0], blackboard.SpecChange{Timestamp: blackboard.TimeOf(b.now), Spec: "specs/vision.md#x", Change: "names may contain spaces", TriggeredBy: "ada", Hash: "sha256:11"})
	aligned := b.Goal.AlignmentHistory[len(b.Goal.AlignmentHistory)-1]
	want(t, "the goal's history", aligned.Event+" "+aligned.Summary, "spec_change specs/vision.md#x: names may contain spaces")
	wantList(t, "the journal", actions(b.State, "x")[1:], []string{"spec_updated"})
	wantList(t, "due", b.dueKinds(), []string{"SPEC_CHANGED"})
	b.already("spec-change", func() error { again := change; _, err := ChangeSpec(b.State, &again, "", person, b.now); return err })

	// What the planner was not told in its launch wakes it again, even within the same second.
	a := supervisorOf("planner-1")
	due, _ := DueTriggers(b.State, TriggerFacts{}, b.now)
	b.must(BeginPlanning(b.State, a, due, b.now))
	second := change
	second.Hash = "sha256:22"
	if _, err := ChangeSpec(b.State, &second, "", person, b.now); err != nil {
		t.Fatal(err)
	}
	b.must(EndPlanning(b.State, a, due, true, false, b.now))
	b.after(time.Second)
	wantList(t, "due", b.dueKinds(), []string{"SPEC_CHANGED"})
	due, _ = DueTriggers(b.State, TriggerFacts{}, b.now)
	b.must(BeginPlanning(b.State, a, due, b.now))
	b.must(EndPlanning(b.State, a, due, true, false, b.now))
	wantList(t, "due when it was told", b.dueKinds(), nil)
	b.valid()

	record := func(c blackboard.SpecChange, task string, a Actor) func() error {
		return func() error { _, err := ChangeSpec(b.State, &c, task, a, b.now); return err }
	}
	b.refused("G03", ExitRefused, "a coder may not record a spec change; human may", record(change, "", programOf("coder-1")))
	b.refused("G09", ExitUsage, "--spec is empty", record(blackboard.SpecChange{Change: "x"}, "", person))
	b.refused("G09", ExitUsage, "--change is empty", record(blackboard.SpecChange{Spec: "specs/vision.md"}, "", person))
	b.refused("G05", ExitRefused, "no task 'q'", record(blackboard.SpecChange{Spec: "specs/vision.md", Change: "y"}, "q", person))
}

// The spec's hash is that of the claim; a review has its own (specs/protocol.md#2.3).
func TestTheSpecsHashIsKeptAtClaimAndAtReview(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	in := claimed("x")
	in.SpecHash = "sha256:1"
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), in, b.now))
	b.submit("x", 2)
	b.must(ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{SpecHash: "sha256:2"}, b.now))
	want(t, "the hashes", b.Task("x").SpecHash+" "+b.Task("x").ReviewSpecHash, "sha256:1 sha256:2")
	b.reject("x", "greeting.go:1 misses the name")
	in = kept("x")
	in.SpecHash = "sha256:2"
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), in, b.now))
	want(t, "the hash of the next attempt", b.Task("x").SpecHash, "sha256:2")
}

// P-150: a handoff leaves claim and iteration as they are, and counts as told once an agent
// of the same role has it in its prompt (13.7).
func TestAHandoffGoesToTheNextRunOfTheSameRole(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	left := Input{Handoff: &blackboard.Handoff{Summary: "parser done", NextAction: "write writer.go"},
		Texts: []Text{{"--summary", "parser done"}, {"--next-action", "write writer.go"}}}
	b.must(HandOff(b.State, "x", programOf("coder-1"), left, b.now))
	x := b.status("x", blackboard.Claimed)
	want(t, "pending", x.HandoffPending, true)
	want(t, "the agent", b.Agents["coder-1"].Status, blackboard.AgentHandoff)
	b.must(Spawned(b.State, supervisorOf("code-reviewer-1"), blackboard.Child{PID: 1, Run: 2, Task: "x"}, b.now))
	want(t, "told to a reviewer", b.Handoff["x"].ConsumedBy, "")
	b.after(time.Minute)
	b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 2, Run: 2, Task: "x", TokenHash: "sha256:run-coder-1"}, b.now))
	h := b.Handoff["x"]
	want(t, "told", h.ConsumedBy+" at "+string(h.ConsumedAt), "coder-1 at "+string(blackboard.TimeOf(b.now)))
	x = b.status("x", blackboard.Claimed)
	want(t, "pending", x.HandoffPending, false)
	want(t, "iteration and attempt", [2]int{x.Iteration, x.ClaimSeq}, [2]int{1, 1})
	want(t, "the agent", b.Agents["coder-1"].Status, blackboard.AgentWorking)
	b.valid()
}

func TestTooManyHandoffsAreIterations(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.Overrides = blackboard.Settings{"max_handoffs": 2, "max_coder_iterations": 2}
	b.add("x")
	b.claim("x", "coder-1")
	for i, wants := range []struct {
		iteration int
		past      bool
	}{{1, false}, {1, false}, {2, false}, {3, true}} {
		text := "part " + strconv.Itoa(i)
		b.must(HandOff(b.State, "x", supervisorOf("coder-1"), Input{Handoff: &blackboard.Handoff{Summary: text, NextAction: "go on"}, Texts: []Text{{"--summary", text}, {"--next-action", "go on"}}}, b.now))
		want(t, "iteration after handoff "+strconv.Itoa(i+1), b.Task("x").Iteration, wants.iteration)
		want(t, "too many", IterationsPast(b.State, b.Task("x")), wants.past)
		b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 2, Run: i, Task: "x", TokenHash: "sha256:run-coder-1"}, b.now))
	}
	b.must(LimitIterations(b.State, "x", supervisorOf("coder-1"), Input{Reason: "too much to read"}, b.now))
	want(t, "blocked", b.status("x", blackboard.Blocked).BlockedKind, "max_iterations")
}

func TestNotesForATaskAreSeenByItsRuns(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	for _, n := range []*blackboard.Note{{Message: "use argparse", For: "x"}, {Message: "for all"}} {
		b.must(AddNote(b.State, n, person, b.now))
	}
	for range 2 {
		b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 2, Task: "x"}, b.now))
		PromptHad(b.State, "coder-1", []string{"note-1"}, false, b.now)
	}
	b.must(Spawned(b.State, supervisorOf("code-reviewer-1"), blackboard.Child{PID: 3, Task: "x"}, b.now))
	PromptHad(b.State, "code-reviewer-1", []string{"note-1"}, false, b.now)
	wantList(t, "seen by", b.HumanNotes[0].SeenBy, []string{"coder-1", "code-reviewer-1"})
	wantList(t, "the other is seen by", b.HumanNotes[1].SeenBy, nil)
	wantList(t, "due", b.dueKinds(), []string{"HUMAN_NOTE"})
}

// The first intent of an attempt counts (13.11); commits from before it are others' work.
func TestTheFirstIntentOfAnAttempt(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	_, given := b.Task("x").FirstIntent()
	want(t, "given", given, false)
	began := b.now
	for _, text := range []string{"parse", "parse with argparse"} {
		b.must(RecordIntent(b.State, "x", programOf("coder-1"), Input{Intent: &blackboard.Intent{Intent: text, Validation: "make test"}, Texts: []Text{{"--intent", text}, {"--validation", "make test"}}}, b.now))
		b.after(time.Minute)
	}
	at, given := b.Task("x").FirstIntent()
	want(t, "the first", string(at), string(blackboard.TimeOf(began)))
	want(t, "given", given, true)
	wantList(t, "earlier commits", b.Task("x").EarlierCommits(), nil)
	b.submit("x", 2)
	b.claimReview("x", "code-reviewer-1")
	b.reject("x", "greeting.go:1 misses the name")
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
	_, given = b.Task("x").FirstIntent()
	want(t, "given in the second attempt", given, false)
	b.Task("x").Attempts = append(b.Task("x").Attempts, &blackboard.Attempt{ClaimSeq: 1, Commit: commitOf(3)}, &blackboard.Attempt{ClaimSeq: 2, Commit: commitOf(4)})
	got := b.Task("x").EarlierCommits()
	slices.Sort(got)
	wantList(t, "earlier commits", got, []string{commitOf(2), commitOf(3)})
}
