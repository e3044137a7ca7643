package verb_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// An asked is a verb that a client calls for a task.
type asked struct{ verb, task, client string }

// A stage is where a task is, and who has it.
type stage struct {
	status          blackboard.Status
	coder, reviewer string
}

// after is what a verb that was done makes of a task; false: it cannot have been done then.
func (a asked) after(at stage) (stage, bool) {
	coders := at.status == blackboard.Claimed && at.coder == a.client
	switch a.verb {
	case "claim":
		return stage{status: blackboard.Claimed, coder: a.client}, at.status == blackboard.Unclaimed || at.status == blackboard.Rejected
	case "submit":
		return stage{status: blackboard.ReadyForReview, coder: at.coder}, coders
	case "claim-review":
		return stage{status: at.status, coder: at.coder, reviewer: a.client}, at.status == blackboard.ReadyForReview && (at.reviewer == "" || at.reviewer == a.client)
	case "approve":
		return stage{status: blackboard.Approved, coder: at.coder}, at.status == blackboard.ReadyForReview && at.reviewer == a.client
	case "reject":
		return stage{status: blackboard.Rejected, coder: at.coder}, at.status == blackboard.ReadyForReview && at.reviewer == a.client
	case "merge":
		return stage{status: blackboard.Merged, coder: at.coder}, at.status == blackboard.Approved
	}
	return at, false
}

// protocol is one task at a time.
var protocol = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		of := map[string][]porcupine.Operation{}
		for _, o := range all {
			of[o.Input.(asked).task] = append(of[o.Input.(asked).task], o)
		}
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return stage{status: blackboard.Unclaimed} },
	Step: func(state, input, output any) (bool, any) {
		at, call, answer := state.(stage), input.(asked), output.(stage)
		if call.verb == "look" {
			return at == answer, at
		}
		next, can := call.after(at)
		return can, next
	},
}

// clients call verbs at once, and take down what they are told.
type clients struct {
	t       *testing.T
	began   time.Time
	mu      sync.Mutex
	history []porcupine.Operation
}

// call takes down what a client did. A refusal says nothing: a claim that is under way refuses those of others.
func (c *clients) call(id int, a asked, do func() (bool, error)) bool {
	from := time.Since(c.began)
	done, err := do()
	if done && err == nil {
		c.took(id, a, from, stage{})
	}
	return done && err == nil
}

func (c *clients) took(id int, a asked, from time.Duration, answer stage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: id, Input: a, Call: int64(from), Output: answer, Return: int64(time.Since(c.began))})
}

// look reports whether all is merged.
func (c *clients) look(id int, p *verbtest.Place, task string) bool {
	from := time.Since(c.began)
	s, err := p.Store.View(context.Background())
	if err != nil || time.Since(c.began) > 5*time.Minute {
		c.t.Error("not all tasks were merged", err)
		return true
	}
	at := s.Task(task)
	answer := stage{status: at.Status, coder: at.AssignedTo, reviewer: at.ReviewingBy}
	if at.Status == blackboard.Unclaimed {
		answer.coder = "" // who had it before
	}
	c.took(id, asked{verb: "look", task: task}, from, answer)
	for t := range s.Tasks() {
		if t.Status != blackboard.Merged {
			return false
		}
	}
	return true
}

// code is a coder: it takes what it can get, and hands it in.
func (c *clients) code(id int, p *verbtest.Place) {
	name, ctx := fmt.Sprintf("coder-%d", id), context.Background()
	d := p.Supervised(name)
	submit := func(task string) {
		c.call(id, asked{"submit", task, name}, func() (bool, error) {
			r, err := d.Submit(ctx, verb.SubmitInput{Task: task})
			return !r.Already, err
		})
	}
	for n := 0; ; n++ {
		task := fmt.Sprintf("task-%d", 1+(id+n)%3)
		if c.look(id, p, task) {
			return
		}
		if !c.call(id, asked{"claim", task, name}, func() (bool, error) { _, err := d.Claim(ctx, task); return true, err }) {
			submit(task) // of which it may have nothing
			continue
		}
		verbtest.Write(c.t, p.Repo.WorktreePath(task)+"/"+task+".md", fmt.Sprintf("round %d of %s\n", n, name))
		p.Git(p.Repo.WorktreePath(task), "add", "-A")
		p.Git(p.Repo.WorktreePath(task), "commit", "-q", "-m", fmt.Sprintf("%s, round %d of %s", task, n, name))
		submit(task)
		submit(task) // is said to be done already
	}
}

// judge is a reviewer: every second work that it gets is rejected.
func (c *clients) judge(id int, p *verbtest.Place) {
	name, ctx := fmt.Sprintf("code-reviewer-%d", id), context.Background()
	d := p.Supervised(name)
	judged := 0
	for n := 0; ; n++ {
		task := fmt.Sprintf("task-%d", 1+(id+n)%3)
		if c.look(id, p, task) {
			return
		}
		in := verb.VerdictInput{Task: task, Verdict: verb.Approve}
		if c.call(id, asked{"claim-review", task, name}, func() (bool, error) { _, err := d.Reviews.ClaimReview(ctx, task); return true, err }) {
			judged++
		}
		if judged%2 == 1 {
			in = verb.VerdictInput{Task: task, Verdict: verb.Reject, Reason: task + ".md:1 has to have another round"}
		}
		c.call(id, asked{string(in.Verdict), task, name}, func() (bool, error) { // of which it may not have the review
			r, err := d.Reviews.Verdict(ctx, in)
			return !r.Already, err
		})
		c.call(id, asked{"merge", task, name}, func() (bool, error) {
			r, err := d.Merges.Merge(ctx, task)
			return len(r) == 1 && r[0].Status == blackboard.Merged && !r[0].Already, err
		})
	}
}

// Coders and reviewers who call claim, submit, claim-review, verdict and merge at once, for the same few tasks: there is an order of all
// that was done in which each verb was allowed, and in which each look saw what was done before it.
func TestHistoriesOfVerbsAreThoseOfOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	histories(t, p, p)
}

// The same, with every second client on another host: work and the branch go over a remote.
func TestHistoriesOfVerbsOnTwoHosts(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	histories(t, one, two)
}

func histories(t *testing.T, places ...*verbtest.Place) {
	places[0].AddTask("task-2")
	places[0].AddTask("task-3")
	c := &clients{t: t, began: time.Now()}
	var running sync.WaitGroup
	for id := range 4 {
		running.Go(func() { c.code(id+1, places[id%2]) })
	}
	for id := range 2 {
		running.Go(func() { c.judge(id+5, places[id%2]) })
	}
	running.Wait()
	if !porcupine.CheckOperations(protocol, c.history) {
		t.Errorf("no order of these calls is one that the protocol allows: %+v", c.history)
	}
	did := map[string]int{}
	for _, o := range c.history {
		did[o.Input.(asked).verb]++
	}
	t.Log(did)
	for _, name := range strings.Fields("claim submit claim-review approve reject merge") {
		if did[name] == 0 {
			t.Errorf("nobody came to %s", name)
		}
	}
}
