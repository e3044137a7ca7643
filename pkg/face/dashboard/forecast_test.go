package dashboard

import (
	"fmt"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// team is a board with merged tasks that took so many minutes each, and open ones.
func team(coders int, took []int, open ...*blackboard.Task) (*blackboard.State, time.Time) {
	now := time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)
	s := &blackboard.State{Goal: &blackboard.Goal{Status: blackboard.InProgress}, Agents: map[string]*blackboard.Agent{}}
	for i := range coders {
		s.Agents[fmt.Sprintf("coder-%d", i+1)] = &blackboard.Agent{Role: blackboard.RoleCoder, LeaseExpires: blackboard.TimeOf(now.Add(time.Hour)), Heartbeat: blackboard.TimeOf(now)}
	}
	for i, minutes := range took {
		end := now.Add(-time.Hour)
		s.AddTasks(&blackboard.Task{ID: fmt.Sprintf("done-%d", i), Status: blackboard.Merged, History: []*blackboard.HistoryEntry{
			{Time: blackboard.TimeOf(end.Add(-time.Duration(minutes) * time.Minute)), Event: blackboard.HistoryClaimed}, {Time: blackboard.TimeOf(end), Event: blackboard.HistoryMerged}}})
	}
	for _, t := range open {
		s.AddTasks(t)
	}
	return s, now
}

func todo(id string, after ...string) *blackboard.Task {
	return &blackboard.Task{ID: id, Status: blackboard.Unclaimed, DependsOn: after}
}

func TestWhenItWillBeDone(t *testing.T) {
	t.Parallel()
	blocked := &blackboard.Task{ID: "stuck", Status: blackboard.Blocked}
	begun := &blackboard.Task{ID: "begun", Status: blackboard.Claimed, History: []*blackboard.HistoryEntry{{Time: "2026-01-19T14:56:00Z", Event: blackboard.HistoryClaimed}}}
	for _, c := range []struct {
		name   string
		coders int
		took   []int
		open   []*blackboard.Task
		want   string
	}{
		{"nothing was merged yet", 2, nil, []*blackboard.Task{todo("a")}, "unknown: no task is merged yet"},
		{"nobody works", 0, []int{10}, []*blackboard.Task{todo("a")}, "unknown: no coder is at work"},
		{"there is no plan", 1, nil, nil, "unknown: there is no task yet"},
		{"a person is waited for", 1, []int{10}, []*blackboard.Task{blocked}, "unknown: what is open waits for you"},
		{"one after the other", 1, []int{5, 10, 60}, []*blackboard.Task{todo("a"), todo("b"), todo("c")}, "about 15:30 UTC, in 30m: 3 open tasks of 10m each, 1 coder"},
		{"side by side", 3, []int{10}, []*blackboard.Task{todo("a"), todo("b"), todo("c")}, "about 15:10 UTC, in 10m: 3 open tasks of 10m each, 3 coders"},
		{"dependencies", 3, []int{10}, []*blackboard.Task{todo("a"), todo("b", "a"), todo("c", "b")}, "about 15:30 UTC, in 30m: 3 open tasks of 10m each, 3 coders"},
		{"what is under way", 1, []int{10}, []*blackboard.Task{begun}, "about 15:06 UTC, in 6m: 1 open task of 10m each, 1 coder"},
		{"what depends on a person", 1, []int{10}, []*blackboard.Task{todo("a"), blocked, todo("b", "stuck")}, "about 15:10 UTC, in 10m: 1 open task of 10m each, 1 coder; without 2 that wait for you"},
	} {
		s, now := team(c.coders, c.took, c.open...)
		v := Build(s, Input{Now: now})
		if v.Forecast == nil || v.Forecast.String() != c.want {
			t.Errorf("%s: %v, want %s", c.name, v.Forecast, c.want)
		}
	}
	s, now := team(2, []int{10}, todo("a"), todo("b"))
	s.Stopped = map[string]*blackboard.Stop{"coder-2": {By: "ada"}}
	if got := Build(s, Input{Now: now}).Forecast; got.Seconds != 20*60 {
		t.Errorf("with a stopped coder: %v", got)
	}
	if got := Build(s, Input{Now: now, Control: []Control{{Name: "PAUSE"}}}).Forecast.String(); got != "unknown: the team is stopped" {
		t.Errorf("in a pause: %s", got)
	}
	s.Goal.Status = blackboard.Completed
	if got := Build(s, Input{Now: now}).Forecast; got != nil {
		t.Errorf("of a goal that is complete: %v", got)
	}
}
