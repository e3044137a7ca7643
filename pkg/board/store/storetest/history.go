package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// A Call is what a client asks of a task in a history.
type Call struct{ Verb, Task, Client string }

// A Seen is where the task was, and whether the client moved it.
type Seen struct {
	Status blackboard.Status
	Holder string
	Done   bool
}

// steps are claims, verdicts and merges, as few as a history needs.
var steps = map[string]struct{ from, to blackboard.Status }{
	"claim":   {blackboard.Unclaimed, blackboard.Claimed},
	"submit":  {blackboard.Claimed, blackboard.ReadyForReview},
	"approve": {blackboard.ReadyForReview, blackboard.Approved},
	"reject":  {blackboard.ReadyForReview, blackboard.Unclaimed},
	"merge":   {blackboard.Approved, blackboard.Merged},
	"look":    {},
}

// next is what a call makes of a task, as far as one that follows the rules can.
func (c Call) next(at Seen) Seen {
	s := steps[c.Verb]
	if c.Verb == "look" || at.Status != s.from || c.Verb == "submit" && at.Holder != c.Client {
		return Seen{at.Status, at.Holder, false}
	}
	after := Seen{s.to, at.Holder, true}
	switch c.Verb {
	case "claim":
		after.Holder = c.Client
	case "reject":
		after.Holder = ""
	}
	return after
}

// model is one task at a time: each call sees what the calls before it have left.
var model = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		of := map[string][]porcupine.Operation{}
		for _, o := range all {
			task := o.Input.(Call).Task
			of[task] = append(of[task], o)
		}
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return Seen{Status: blackboard.Unclaimed} },
	Step: func(state, input, output any) (bool, any) {
		at, seen := state.(Seen), output.(Seen)
		after := input.(Call).next(at)
		return at.Status == seen.Status && at.Holder == seen.Holder && after.Done == seen.Done, Seen{Status: after.Status, Holder: after.Holder}
	},
}

// Linearizable reports whether a history can be put into an order in which each call sees what those before it have left.
func Linearizable(all []porcupine.Operation) bool { return porcupine.CheckOperations(model, all) }

var verbs = []string{"claim", "submit", "claim", "reject", "look", "claim", "submit", "approve", "look", "submit", "merge"}

var errNotNow = errors.New("not in this status")

// do asks a store.
func (c Call) do(t *testing.T, st store.Store) (seen Seen, err error) {
	if c.Verb == "look" {
		s, err := st.View(t.Context())
		if err != nil {
			return seen, err
		}
		return Seen{s.Task(c.Task).Status, s.Task(c.Task).AssignedTo, false}, nil
	}
	err = st.Update(t.Context(), op, func(s *blackboard.State) error {
		task := s.Task(c.Task)
		seen = Seen{task.Status, task.AssignedTo, false}
		after := c.next(seen)
		if seen.Done = after.Done; !after.Done {
			return errNotNow
		}
		task.Status, task.AssignedTo = after.Status, after.Holder
		return nil
	})
	if errors.Is(err, errNotNow) {
		err = nil
	}
	return seen, err
}

// Histories lets clients claim, judge and merge a few tasks at once, each with a store of its own on a board that begins with First, and
// checks the history of their calls.
func Histories(t *testing.T, clients, calls int, open func(t *testing.T) store.Store) {
	t.Helper()
	var mu sync.Mutex
	var all []porcupine.Operation
	var running sync.WaitGroup
	began := time.Now()
	for i := range clients {
		st := open(t)
		running.Go(func() {
			for n := range calls {
				call := Call{Verb: verbs[(i+n)%len(verbs)], Task: fmt.Sprintf("task-%d", 1+(i+n/3)%2), Client: "coder-" + strconv.Itoa(i)}
				from := time.Since(began)
				seen, err := call.do(t, st)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, porcupine.Operation{ClientId: i, Input: call, Call: int64(from), Output: seen, Return: int64(time.Since(began))})
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if !Linearizable(all) {
		t.Errorf("no order of these calls explains what they saw: %+v", all)
	}
	done := 0
	for _, o := range all {
		if o.Output.(Seen).Done {
			done++
		}
	}
	if len(all) != clients*calls || done < 2 {
		t.Errorf("%d calls, %d of them did something", len(all), done)
	}
}
