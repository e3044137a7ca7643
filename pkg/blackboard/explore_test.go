package blackboard

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"
)

// A step is something that happens on the little board of the exploration.
type step struct {
	name string
	do   func(b *board) error
}

// explored is how many different boards the exploration finds from each beginning.
const explored = 150

// littleBoard has two coders, a reviewer, and the task "b" that waits for "a".
func littleBoard(t testing.TB) *board {
	b := newBoard(t, "planner-1", "coder-1", "coder-2", "code-reviewer-1")
	b.Config["max_coder_iterations"], b.Config["max_review_cycles"] = 2, 2
	b.add("a")
	b.add("b", "a")
	b.add("spare")
	return b
}

// TestExploration lets everything happen that may happen on the little board, breadth
// first from several beginnings, and asserts after each step that a writer would accept
// the state and that nothing is held twice.
func TestExploration(t *testing.T) {
	t.Parallel()
	steps := explorationSteps()
	happened := map[string]int{}
	for _, begin := range []func(*board){
		func(*board) {},
		func(b *board) { b.readyA() },
		func(b *board) { b.readyA(); b.approve("a"); b.merge("a") },
		func(b *board) {
			b.readyA()
			b.approve("a")
			b.merge("a")
			b.claim("b", "coder-2")
			b.submit("b", 3)
			b.claimReview("b", "code-reviewer-1")
		},
		func(b *board) {
			b.readyA()
			b.approve("a")
			b.merge("a")
			b.claim("b", "coder-2")
			b.must(b.Retry("b", supervisorOf("coder-2"), Input{}, b.now))
			b.submit("b", 3)
			b.claimReview("b", "code-reviewer-1")
			in := b.reviewed("b")
			in.ReviewMode = "strict"
			_, err := b.Approve("b", programOf("code-reviewer-1"), in, b.now)
			b.must(err)
		},
	} {
		b := littleBoard(t)
		begin(b)
		b.ClearEntries()
		explore(t, b, steps, happened)
	}
	var never []string
	for _, s := range steps {
		if happened[s.name] == 0 {
			never = append(never, s.name)
		}
	}
	if len(never) > 0 {
		t.Errorf("these steps never happened: %s", strings.Join(never, ", "))
	}
}

func (b *board) readyA() {
	b.claim("a", "coder-1")
	b.submit("a", 2)
	b.claimReview("a", "code-reviewer-1")
}

// explore takes every step from every board that it finds.
func explore(t *testing.T, first *board, steps []step, happened map[string]int) {
	seen := map[uint64]bool{fingerprintOf(first): true}
	queue := []*board{first}
	for i := 0; i < len(queue) && len(queue) < explored; i++ {
		here := queue[i]
		before := here.State.Clone()
		for _, s := range steps {
			now := here.now
			if s.do(here) != nil {
				here.now = now
				continue // without a trace, as the exhaustive test shows
			}
			happened[s.name]++
			check(t, s.name, before, here)
			if print := fingerprintOf(here); !seen[print] {
				seen[print] = true
				here.ClearEntries()
				queue = append(queue, &board{t: t, now: here.now, State: here.State})
			}
			here.State, here.now = before.Clone(), now
		}
	}
}

// check asserts what holds after every step.
func check(t *testing.T, name string, before *State, b *board) {
	t.Helper()
	facts := Facts{Now: b.now, Write: true}
	for _, v := range Validate(b.State, before, facts) {
		if v.Severity == SeverityError && v.OnWrite {
			t.Fatalf("%s leaves %s: %s", name, v.Rule, v.Message)
		}
	}
	holders := map[string]string{}
	for id, a := range b.Agents {
		if a.CurrentTask == "" || !a.leaseIs(b) {
			continue
		}
		key := string(a.Role) + " " + a.CurrentTask
		if other := holders[key]; other != "" {
			t.Fatalf("%s: %s and %s both hold %s", name, other, id, a.CurrentTask)
		}
		holders[key] = id
	}
	for task := range b.each() {
		live := 0
		if task.Status == Claimed {
			live++
			if a := b.Agents[task.AssignedTo]; a != nil && a.Generation == task.ClaimGeneration && a.CurrentTask != task.ID {
				t.Fatalf("%s: %s holds %s, but works on %q", name, task.AssignedTo, task.ID, a.CurrentTask)
			}
		} else if task.ClaimGeneration != "" || !task.LeaseExpires.None() {
			t.Fatalf("%s: %s is %s, but its claim has not ended", name, task.ID, task.Status)
		}
		if task.ReviewingBy != "" && task.Status != ReadyForReview {
			t.Fatalf("%s: %s is %s, but under review", name, task.ID, task.Status)
		}
		if live > 1 {
			t.Fatalf("%s: %s is held %d times", name, task.ID, live)
		}
	}
	checkMetrics(t, name, b.State)
}

// leaseIs tells whether the agent's lease stands.
func (a *Agent) leaseIs(b *board) bool { return !a.leaseOver(b.now.Add(-b.Duration("lease_grace"))) }

// explorationSteps are all events with plausible inputs on each task, and time.
func explorationSteps() []step {
	var steps []step
	add := func(name string, do func(b *board) error) { steps = append(steps, step{name, do}) }
	for _, id := range []string{"a", "b"} {
		commit := func(b *board) string { return commitOf(100 + len(b.Task(id).History)) }
		for _, coder := range []string{"coder-1", "coder-2"} {
			sup, run := supervisorOf(coder), programOf(coder)
			add("reserve "+id+" "+coder, func(b *board) error { return b.Reserve(id, sup, claimed(id), b.now) })
			add("claim "+id+" "+coder, func(b *board) error {
				task := b.Task(id)
				in := claimed(id)
				keep := task.HandoffPending || task.Status == IntegrationFailed || task.AssignedTo == coder
				in.Claim.Fresh = !keep || task.Worktree == ""
				return b.Claim(id, sup, in, b.now)
			})
			add("submit "+id+" "+coder, func(b *board) error { return b.Submit(id, run, submitted(id, commit(b)), b.now) })
			add("block "+id+" "+coder, func(b *board) error {
				return b.Block(id, run, Input{Reason: "r", Questions: List{"q?"}, Attempted: List{"this"}}, b.now)
			})
			add("handoff "+id+" "+coder, func(b *board) error {
				return b.HandOff(id, run, Input{Handoff: &Handoff{Summary: "s", NextAction: "n"}}, b.now)
			})
			add("retry "+id+" "+coder, func(b *board) error { return b.Retry(id, sup, Input{}, b.now) })
			add("timeout "+id+" "+coder, func(b *board) error { return b.RunFailed(id, sup, Input{Outcome: "timeout"}, b.now) })
			add("release "+id+" "+coder, func(b *board) error { return b.Release(id, sup, Input{Reason: "r", HasWork: true}, b.now) })
		}
		reviewer, judge := supervisorOf("code-reviewer-1"), programOf("code-reviewer-1")
		add("claim-review "+id, func(b *board) error { return b.ClaimReview(id, reviewer, Input{}, b.now) })
		add("approve "+id, func(b *board) error { _, err := b.Approve(id, judge, b.reviewed(id), b.now); return err })
		add("approve strictly "+id, func(b *board) error {
			in := b.reviewed(id)
			in.ReviewMode = "strict"
			_, err := b.Approve(id, judge, in, b.now)
			return err
		})
		add("reject "+id, func(b *board) error { return b.Reject(id, judge, Input{Reason: "a.go:1"}, b.now) })
		add("replan "+id, func(b *board) error { return b.Replan(id, judge, Input{Reason: "another way"}, b.now) })
		add("stuck "+id, func(b *board) error {
			return b.ReleaseReview(id, judge, Input{What: "stuck", Reason: "no idea"}, b.now)
		})
		add("review failed "+id, func(b *board) error { return b.ReleaseReview(id, reviewer, Input{What: "failed", Reason: "r"}, b.now) })
		add("approve-merge "+id, func(b *board) error { return b.ApproveMerge(id, person, Input{}, b.now) })
		add("reject-merge "+id, func(b *board) error { return b.RejectMerge(id, person, Input{Reason: "r"}, b.now) })
		add("intend "+id, func(b *board) error { return b.IntendMerge(id, system, mergeable(commitOf(901)), b.now) })
		add("merge "+id, func(b *board) error { return b.FinishMerge(id, system, mergeable(commitOf(901)), b.now) })
		add("fail "+id, func(b *board) error {
			return b.FailIntegration(id, system, Input{Merge: &MergeFacts{Reason: "conflict"}}, b.now)
		})
		add("limit "+id, func(b *board) error { return b.LimitIterations(id, system, Input{}, b.now) })
		add("halt "+id, func(b *board) error {
			return b.HaltTask(id, system, Input{Halt: &Halt{Kind: "cost", Value: 2, Limit: 1}}, b.now)
		})
		add("unblock "+id, func(b *board) error { return b.Unblock(id, person, Input{Reason: "r", DependsOn: List{}}, b.now) })
		add("resubmit "+id, func(b *board) error {
			return b.Resubmit(id, person, Input{Limits: Settings{"max_iterations": 9}}, b.now)
		})
		add("supersede "+id, func(b *board) error {
			return b.Supersede(id, supervisorOf("planner-1"), Input{Reason: "r", By: List{"spare"}, RootCause: "c"}, b.now)
		})
		add("abandon "+id, func(b *board) error {
			_, err := b.Abandon(id, person, Input{Reason: "r", RootCause: "c"}, b.now)
			return err
		})
		add("hold "+id, func(b *board) error { return b.HoldTask(id, person, Input{Reason: "r"}, b.now) })
		add("unhold "+id, func(b *board) error { return b.UnholdTask(id, person, Input{}, b.now) })
		add("rerun "+id, func(b *board) error { return b.Rerun(id, person, Input{CleanGit: true}, b.now) })
		add("restep "+id, func(b *board) error { return b.Restep(id, person, Input{Tip: commitOf(2)}, b.now) })
	}
	add("all leases run out", func(b *board) error {
		for _, a := range b.Agents {
			if a.leaseIs(b) {
				b.after(2 * time.Hour)
				return nil
			}
		}
		return fmt.Errorf("they have run out")
	})
	for _, id := range []string{"coder-1", "coder-2", "code-reviewer-1"} {
		add("heartbeat of "+id, func(b *board) error {
			if b.Agents[id].leaseIs(b) {
				return fmt.Errorf("it is alive")
			}
			return b.Beat(supervisorOf(id), b.now)
		})
	}
	return steps
}

// fingerprintOf is what tells boards apart: everything but times, texts and the length of
// histories, and counters up to their limits.
func fingerprintOf(b *board) uint64 {
	h := fnv.New64a()
	for task := range b.each() {
		reserved, hold := "", ""
		if c := task.Claiming; c != nil && !past(c.Expires, b.now) {
			reserved = c.By
		}
		if task.Hold != nil {
			hold = task.Hold.By
		}
		fmt.Fprintln(h, task.ID, task.Status, task.AssignedTo, task.lastClaimant(), task.ReviewingBy, reserved, hold, task.BlockedKind, task.Halt != nil,
			min(task.Iteration, 2), min(task.ReviewCyclesCurrent, 2), min(task.ReviewFailures, 3), task.FailedBy, min(task.Failures, 3), task.IntegrationFix,
			task.HandoffPending, task.Worktree != "", task.MergeIntent != nil, task.MergeApproval != nil && task.MergeApproval.Decision == "", task.DependsOn, task.MaxIterations)
	}
	var agents []string
	for id, a := range b.Agents {
		agents = append(agents, fmt.Sprint(id, a.Status, a.CurrentTask, a.leaseIs(b)))
	}
	sort.Strings(agents)
	fmt.Fprintln(h, agents)
	return h.Sum64()
}

// TestRandomSequences takes long random walks over the same steps.
func TestRandomSequences(t *testing.T) {
	t.Parallel()
	steps := explorationSteps()
	for seed := range int64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewSource(seed))
			b := littleBoard(t)
			var way []string
			for range 300 {
				before := b.State.Clone()
				s := steps[random.Intn(len(steps))]
				b.after(time.Duration(random.Intn(600)) * time.Second)
				if s.do(b) != nil {
					continue
				}
				way = append(way, s.name)
				check(t, strings.Join(way, ", "), before, b)
			}
		})
	}
}
