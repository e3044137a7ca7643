package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

func TestATimelineHasALaneForEachAgentInTheOrderOfATeam(t *testing.T) {
	t.Parallel()
	s, runs := story()
	s.Agents["coder-10"] = &blackboard.Agent{Role: blackboard.RoleCoder}
	runs = append(runs, history.UsageLine{At: ago(500), Agent: "coder-1", Task: "before the sprint"}, history.UsageLine{At: "never", Agent: "coder-1"}, history.UsageLine{At: ago(3)},
		history.UsageLine{At: ago(3), Agent: "messenger", Kind: "messenger", Seconds: 30, Task: "tell", Outcome: "finished"})
	tl := BuildTimeline(s, s.TaskList(), runs, now)
	var lanes []string
	for _, l := range tl.Lanes {
		lanes = append(lanes, l.Agent)
		for i, sp := range l.Spans {
			if i > 0 && compareTimes(sp.From, l.Spans[i-1].From) < 0 || !sp.Until.None() && compareTimes(sp.Until, sp.From) < 0 {
				t.Errorf("%s: %+v is out of order", l.Agent, sp)
			}
		}
	}
	if want := []string{"planner-1", "coder-1", "coder-2", "coder-10", "code-reviewer-1", "messenger"}; !slices.Equal(lanes, want) {
		t.Errorf("lanes %v", lanes)
	}
	if first := tl.Lanes[1].Spans[0]; first != (Span{Task: "greet", Kind: "work", From: ago(122), Until: ago(110), Outcome: "finished"}) {
		t.Errorf("%+v", first)
	}
	if last := tl.Lanes[1].Spans[len(tl.Lanes[1].Spans)-1]; last != (Span{Task: "usage", Kind: "work", From: ago(6)}) {
		t.Errorf("what goes on: %+v", last)
	}
	if tl.Lanes[0].Spans[0].Kind != "plan" || tl.Lanes[4].Spans[0].Kind != "review" || tl.From != ago(128) || tl.To != ago(0) {
		t.Errorf("%+v", tl)
	}
	count := map[string]int{}
	for i, m := range tl.Marks {
		count[m.Kind]++
		if i > 0 && compareTimes(m.At, tl.Marks[i-1].At) < 0 {
			t.Errorf("%+v is out of order", m)
		}
	}
	if fmt.Sprint(count) != "map[approved:5 blocked:1 checkpoint:1 merged:5 rejected:1 replaced:1 submitted:6]" {
		t.Errorf("marks %v", count)
	}
}

func TestATimelineWithoutASprintBeginsWithWhatHappenedFirst(t *testing.T) {
	t.Parallel()
	s, runs := story()
	s.Sprint = nil
	if tl := BuildTimeline(s, s.TaskList(), runs, now); tl.From != ago(128) { // the planner's run
		t.Errorf("it begins at %s", tl.From)
	}
	for _, empty := range []*blackboard.State{nil, {}} {
		tl := BuildTimeline(empty, nil, nil, now)
		if tl.Lanes == nil || tl.Marks == nil || tl.To != ago(0) {
			t.Errorf("%+v", tl)
		}
	}
}

// The ledger goes on after a sprint; its report does not.
func TestWhatCameAfterASprintIsNotPartOfIt(t *testing.T) {
	t.Parallel()
	s, runs := story()
	s.Sprint.Timeline.Ended = ago(100)
	tl, f := BuildTimeline(s, s.TaskList(), runs, now), BuildFigures(s, s.TaskList(), runs, now)
	if tl.To != ago(100) || len(f.ByTask) != 2 || len(f.Merged) != 1 {
		t.Errorf("until %s: %+v", tl.To, f.ByTask)
	}
	for _, m := range tl.Marks {
		if compareTimes(m.At, ago(99)) > 0 {
			t.Errorf("%+v", m)
		}
	}
}

func TestFiguresSayHowItGoes(t *testing.T) {
	t.Parallel()
	s, runs := story()
	f := BuildFigures(s, s.TaskList(), runs, now)
	if last := f.Spent[len(f.Spent)-1]; blackboard.AmountOf(last.Value) != f.Total.Cents || f.Total.Cents.Dollars() != "$3.63" {
		t.Errorf("spent %v of %v", last, f.Total)
	}
	if m := f.Merged; len(m) != 5 || m[4].Value != 5 || f.ByTask[0].Name != "name" || f.ByTask[0].Cost.Runs != 4 || f.ByAgent[0].Name != "coder-1" {
		t.Errorf("%+v\n%+v", f.Merged, f.ByTask)
	}
	var text []string
	for _, q := range f.Quality {
		text = append(text, q.Name+": "+q.Text)
	}
	want := "approved at the first review: 4 of 5|reviews that asked for changes: 1 of 6|a review took: 3m on average|the work on a task took: 11m on average|from ready to start until merged: 46m, the median of 5 tasks|runs of agents that failed: 0 of 14"
	if strings.Join(text, "|") != want {
		t.Errorf("%s", strings.Join(text, "|"))
	}
}

// What nobody knows is not told as a figure, and what was before the sprint does not count.
func TestFiguresWithoutAnythingToGoBy(t *testing.T) {
	t.Parallel()
	for _, s := range []*blackboard.State{nil, {}, busy()} {
		f := BuildFigures(s, nil, []history.UsageLine{{At: ago(900), Agent: "coder-1", Seconds: 5}}, now)
		if f.Spent == nil || f.ByTask == nil || f.ByAgent == nil || f.Merged == nil || f.Quality == nil {
			t.Errorf("a list is null: %+v", f)
		}
		if s != nil && s.Sprint != nil && len(f.ByTask) != 0 {
			t.Errorf("a run before the sprint counts: %+v", f)
		}
	}
	unknown := []history.UsageLine{{At: ago(3), Agent: "coder-1", Task: "a", Seconds: 60, Outcome: "crashed"}}
	f := BuildFigures(&blackboard.State{}, nil, unknown, now)
	if len(f.Spent) != 0 || f.ByTask[0].Cost.UnknownRuns != 1 || f.Quality[0].Text != "1 of 1" {
		t.Errorf("%+v", f)
	}
	if now.IsZero() || long(59) != "59s" || long(3600) != "1h" || long(3900) != "1h 5m" || long(200*3600) != "8d 8h" {
		t.Error(long(3900), long(200*3600))
	}
}

func TestPlotsOfManyRunsAreBounded(t *testing.T) {
	t.Parallel()
	var runs []history.UsageLine
	for i := range 5000 {
		c := blackboard.Amount(1)
		runs = append(runs, history.UsageLine{At: blackboard.TimeOf(now.Add(time.Duration(i-5000) * time.Second)), Agent: "coder-1", CostCents: &c})
	}
	f := BuildFigures(&blackboard.State{}, nil, runs, now)
	if len(f.Spent) != maxPoints || f.Spent[maxPoints-1].Value != 5000 {
		t.Errorf("%d points, the last is %v", len(f.Spent), f.Spent[len(f.Spent)-1])
	}
}
