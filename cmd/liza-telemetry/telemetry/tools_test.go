package telemetry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/activity"
)

func TestToolCallsAreBelowTheirRun(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 19, 14, 0, 0, 250e6, time.UTC)
	after := func(s int) time.Time { return at.Add(time.Duration(s) * time.Second) }
	file := filepath.Join(t.TempDir(), "hello.events")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []activity.Event{
		{At: after(-9), Kind: activity.Run, ID: "g-1-1"}, {At: after(-8), Kind: activity.Tool, Tool: "Write", Text: "of another run"}, {At: after(-7), Kind: activity.End},
		{At: at, Kind: activity.Run, ID: "g-1-2"}, {At: after(1), Kind: activity.Tool, Tool: "Bash", Text: "cat secret.txt"}, {At: after(4), Kind: activity.Result, Text: "secret"},
		{At: after(5), Kind: activity.Tool, Tool: "Edit", Text: "hello.txt"}, {At: after(6), Kind: activity.End, Text: "finished"},
	} {
		if err := json.NewEncoder(f).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	line := history.UsageLine{ID: "g-1-2", Agent: "coder-1", Run: 2, Task: "hello", At: blackboard.TimeOf(after(6)), Seconds: 6, Outcome: "finished"}
	run := runSpan("goal-1", span{trace: traceID("goal-1", "hello")}, line, "closed")
	tools := toolSpans(&run, eventsOf(file, line.ID))
	if len(tools) != 2 || tools[0].name != "execute_tool Bash" || tools[0].from != after(1) || tools[0].to != after(4) || tools[1].to != after(6) {
		t.Fatalf("tools %+v", tools)
	}
	if run.from != at || run.to != after(6) {
		t.Errorf("the run is from %v to %v: the activity file knows it to the millisecond", run.from, run.to)
	}
	for _, tool := range tools {
		if tool.parent != run.id || tool.trace != run.trace || tool.id == run.id {
			t.Errorf("%s is not below its run", tool.name)
		}
		for _, a := range tool.attributes {
			if v := a.Value.String(); v == "cat secret.txt" || v == "hello.txt" {
				t.Errorf("%s: what a tool was given left the machine: %s", tool.name, a.Key)
			}
		}
	}
	if list := toolSpans(&run, eventsOf(filepath.Join(t.TempDir(), "none"), line.ID)); len(list) != 0 {
		t.Errorf("tools of a file that is not there: %v", list)
	}
}

func TestAttemptsFollowTheHistoryOfATask(t *testing.T) {
	t.Parallel()
	entry := func(second int, event blackboard.HistoryEvent, what string, claim int) *blackboard.HistoryEntry {
		return &blackboard.HistoryEntry{Time: blackboard.TimeOf(time.Date(2026, 1, 19, 14, 0, second, 0, time.UTC)), Event: event, What: what, ClaimSeq: claim, Agent: "coder-1", Commit: "c"}
	}
	task := &blackboard.Task{ID: "hello", History: []*blackboard.HistoryEntry{
		entry(0, "created", "", 0), entry(1, "claimed", "", 1), entry(2, "lease_expired", "", 0), entry(3, "claimed", "", 2), entry(4, "ready_for_review", "", 0),
		entry(5, "review_claimed", "", 0), entry(6, "released", "review", 0), entry(7, "review_claimed", "", 0), entry(8, "rejected", "", 0),
		entry(9, "reclaimed_after_rejection", "", 3), entry(10, "approved", "", 0), entry(12, "integration_failed", "", 0), entry(13, "claimed_for_integration_fix", "", 4)}}
	var got []string
	for _, a := range attemptsOf("goal-1", span{}, task) {
		got = append(got, a.name+" "+a.outcome+" "+a.from.Format("05")+"-"+a.to.Format("05"))
		for _, m := range a.merges {
			got = append(got, m.name+" "+m.from.Format("05")+"-"+m.to.Format("05")+" "+m.failed)
		}
	}
	want := []string{"attempt 1 lease_expired 01-03", "attempt 2 rejected 03-08", "attempt 3 integration_failed 09-12", "merge 10-12 integration_failed", "attempt 4  13-00"}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// Supervisors that know nothing of each other, and those of another day, give the same ids.
func TestIDsFollowFromGoalTaskAndAttempt(t *testing.T) {
	t.Parallel()
	if traceID("g", "a") == traceID("g", "b") || traceID("ga") == traceID("g", "a") || spanID("g", "a", "1") == spanID("g", "a", "2") {
		t.Error("ids are not those of goal, task and attempt")
	}
}
