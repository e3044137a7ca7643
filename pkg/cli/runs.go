package cli

import (
	"slices"
	"strings"
	"sync"
)

// runs are those of the agent programs of this process that are under way, and those that ended since they were forgotten.
// The board would not do: it shows a run after its beginning, and no longer after its end. Its zero value is ready for use,
// by several goroutines.
type runs struct {
	mu  sync.Mutex
	all map[*run]bool // true: ended
}

// run is one of an agent program, as people are told of it.
type run struct{ agent, task string }

func (r *run) String() string {
	if r.task == "" {
		return r.agent
	}
	return r.agent + " on " + r.task
}

// begin notes a run until the function that it returns is called, and on until it is forgotten.
func (r *runs) begin(agent, task string) (end func()) {
	one := &run{agent, task}
	r.set(one, false)
	return func() { r.set(one, true) }
}

func (r *runs) set(one *run, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*run]bool{}
	}
	r.all[one] = ended
}

// ended are the runs that have ended.
func (r *runs) ended() (all []*run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one, over := range r.all {
		if over {
			all = append(all, one)
		}
	}
	return all
}

// during names all runs, and forgets those given.
func (r *runs) during(forget []*run) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.all))
	for one := range r.all {
		names = append(names, one.String())
	}
	for _, one := range forget {
		delete(r.all, one)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
