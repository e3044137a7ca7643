package source

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
)

func (s *Source) now(name string) activity.Now {
	s.tails.mu.Lock()
	defer s.tails.mu.Unlock()
	if s.tails.byName == nil {
		s.tails.byName = map[string]*activity.Tail{}
	}
	t := s.tails.byName[name]
	if t == nil {
		t = &activity.Tail{}
		s.tails.byName[name] = t
	}
	now, err := t.Look(s.Service.Board.Project.Activity(name))
	if err != nil {
		return activity.Now{} // it is not known what is done; nothing else depends on it
	}
	return now
}

// Doing is what the programs of agents do now, by agent. An agent whose program does not run is not in it.
func (s *Source) Doing(ctx context.Context) map[string]dashboard.Doing {
	st, _ := s.State(ctx)
	if st == nil {
		return nil
	}
	return s.DoingOn(st)
}

// DoingOn is Doing for a state that was read already.
func (s *Source) DoingOn(st *blackboard.State) map[string]dashboard.Doing {
	all := map[string]dashboard.Doing{}
	for id, a := range st.Agents {
		if a.Child == nil && a.CurrentTask == "" {
			continue
		}
		name := cmp.Or(a.CurrentTask, id)
		if a.Child != nil {
			name = cmp.Or(a.Child.Task, id)
		}
		n := s.now(name)
		if n.Run.Agent == id && !n.Ended && (a.Child == nil || n.Run.ID == a.Child.RunID) {
			all[id] = doing(n, s.Service.Board.Now())
		}
	}
	return all
}

func doing(n activity.Now, now time.Time) dashboard.Doing {
	d := dashboard.Doing{Kind: string(n.Last.Kind), Tool: n.Last.Tool, Text: prose.OneLine(firstLine(n.Last.Text), 300), Started: blackboard.TimeOf(n.Run.At),
		Seconds: max(0, int(now.Sub(n.Run.At)/time.Second)), TokensIn: n.In, TokensOut: n.Out}
	if n.Last.Kind != "" {
		d.At = blackboard.TimeOf(n.Last.At)
	}
	if u := n.Last.Until; u != nil {
		d.Text = strings.TrimPrefix(d.Text+", until "+u.UTC().Format("15:04:05 UTC"), ", ")
	}
	if n.Cents != nil {
		cents := blackboard.AmountOf(*n.Cents)
		d.Cents = &cents
	}
	return d
}

// firstLine is the first line of a text that says something.
func firstLine(text string) string { return prose.FirstLine(strings.TrimSpace(text)) }

// Places in the output of an agent have the number of its run in them, because each run may be in
// another file. They stay below 2^53, so that JSON's numbers can say them.
const (
	placeBits = 40
	placeMask = 1<<placeBits - 1
	runMask   = 1<<12 - 1
)

func placeOf(run int, offset int64) int64 { return int64(run&runMask)<<placeBits | offset&placeMask }

// Output is what the programs of a task, or the newest run of an agent, have said and done after a place, 0 for the
// beginning of the newest run; next is the place after it.
func (s *Source) Output(name string, after int64) (events []activity.Event, next int64, err error) {
	if _, _, agent := blackboard.ParseAgentID(name); agent {
		return s.outputOf(name, after)
	}
	path := s.Service.Board.Project.Activity(name)
	if after == 0 {
		after, _ = activity.Newest(path)
	}
	return activity.Read(path, after)
}

func (s *Source) outputOf(agent string, after int64) ([]activity.Event, int64, error) {
	run := s.now(agent).Run
	path := s.Service.Board.Project.Activity(cmp.Or(run.Task, agent))
	offset := after & placeMask
	if after>>placeBits != int64(run.Number&runMask) {
		offset = 0 // of a run before
	}
	events, next, err := activity.Read(path, offset)
	if offset == 0 { // other runs are before it, and perhaps after it
		events = ownRun(events, run)
	}
	for i, e := range events {
		if i > 0 && e.Kind == activity.Run {
			events = events[:i]
			break
		}
	}
	return events, placeOf(run.Number, next), err
}

// ownRun are the events from the beginning of a run on.
func ownRun(events []activity.Event, run activity.Event) []activity.Event {
	for i := len(events) - 1; i >= 0; i-- {
		if sameRun(events[i], run) {
			return events[i:]
		}
	}
	return nil
}

func sameRun(a, b activity.Event) bool {
	return a.Kind == activity.Run && a.Agent == b.Agent && a.ID == b.ID && a.Number == b.Number
}

// FollowOutput is Output that goes on until ctx ends: over all further runs of the task or the agent.
func (s *Source) FollowOutput(ctx context.Context, name string, after int64) iter.Seq2[activity.Event, int64] {
	path := s.Service.Board.Project.Activity(name)
	if _, _, agent := blackboard.ParseAgentID(name); agent {
		return func(yield func(activity.Event, int64) bool) { s.followAgent(ctx, name, after, yield) }
	}
	if after == 0 {
		after, _ = activity.Newest(path)
	}
	return activity.Follow(ctx, path, after)
}

// followAgent goes from run to run by the agent's own file, which has the beginnings and ends of all of them.
func (s *Source) followAgent(ctx context.Context, agent string, after int64, yield func(activity.Event, int64) bool) {
	own := s.Service.Board.Project.Activity(agent)
	from, _ := activity.Newest(own)
	elsewhere := false // the run is kept with its task
	first := true
	for e, next := range activity.Follow(ctx, own, from) {
		switch {
		case e.Kind == activity.Run && e.Task != "":
			elsewhere = true
			offset := int64(0)
			if first && after>>placeBits == int64(e.Number&runMask) {
				offset = after & placeMask
			}
			first = false
			if !s.followRun(ctx, e, offset, next, yield) {
				return
			}
			continue
		case e.Kind == activity.Run:
			elsewhere = false
		case elsewhere:
			continue
		}
		if first && next <= after&placeMask && after>>placeBits == int64(s.now(agent).Run.Number&runMask) {
			continue // was seen
		}
		if !yield(e, placeOf(s.now(agent).Run.Number, next)) {
			return
		}
	}
}

// lateEnd is how long the last events of a run may come after the beginning of the next one was seen.
const lateEnd = 500 * time.Millisecond

// followRun follows one run in the file of its task, to its end or to the beginning of the agent's next run: a supervisor
// that was killed has not written the end of its run.
func (s *Source) followRun(ctx context.Context, run activity.Event, after, next int64, yield func(activity.Event, int64) bool) bool {
	within, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for e := range activity.Follow(within, s.Service.Board.Project.Activity(run.Agent), next) {
			if e.Kind == activity.Run || e.Kind == activity.End {
				time.AfterFunc(lateEnd, stop)
				return
			}
		}
	}()
	in := after > 0
	for e, at := range activity.Follow(within, s.Service.Board.Project.Activity(run.Task), after) {
		if e.Kind == activity.Run {
			if in && !sameRun(e, run) {
				return true
			}
			in = sameRun(e, run)
		}
		if !in {
			continue
		}
		if !yield(e, placeOf(run.Number, at)) {
			return false
		}
		if e.Kind == activity.End {
			return true
		}
	}
	return ctx.Err() == nil
}
