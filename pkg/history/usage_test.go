package history

import (
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/blackboard"
)

const ledger = `{"at":"2026-01-19T14:00:00Z","run":1,"agent":"planner-1","kind":"planner","task":"","adapter":"claude","cost_cents":10,"tokens_in":100,"seconds":20}
{"at":"2026-01-19T14:10:00Z","run":1,"agent":"coder-1","kind":"coder","task":"a","adapter":"claude","cost_cents":30,"tokens_in":200,"seconds":60}
{"at":"2026-01-20T14:10:00Z","run":1,"agent":"coder-2","kind":"coder","task":"b","adapter":"codex","cost_cents":null,"seconds":40}
{"at":"2026-01-20T14:20:00Z","run":2,"agent":"coder-2","kind":"coder","task":"b","adapter":"claude","cost_cents":5,"seconds":10}
{"at":"2026-01-20T14:2`

func TestTheLedgerIsSummedAndUnknownCostIsNotZero(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "usage.jsonl")
	if lines, err := ReadUsage(path); err != nil || len(lines) != 0 {
		t.Fatalf("no ledger: %v, %v", lines, err)
	}
	if err := os.WriteFile(path, []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := ReadUsage(path)
	if err != nil || len(lines) != 4 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	tasks := SumUsage(lines, "task")
	if len(tasks) != 3 || tasks[0].Name != "a" || tasks[1].Name != "(planning)" || tasks[2].CostCents != 5 || tasks[2].UnknownCostRuns != 1 || tasks[2].Runs != 2 {
		t.Errorf("by task: %+v", tasks)
	}
	if days := SumUsage(lines, "day"); len(days) != 2 || days[0].Name != "2026-01-19" || days[0].CostCents != 40 {
		t.Errorf("by day: %+v", days)
	}
	if clis := SumUsage(lines, "cli"); len(clis) != 2 || clis[0].Name != "claude" || clis[0].Runs != 3 {
		t.Errorf("by program: %+v", clis)
	}
}

func TestAForecastNeedsAMergedTaskAndAKnownCost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "usage.jsonl")
	if err := os.WriteFile(path, []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, _ := ReadUsage(path)
	s := &blackboard.State{Tasks: []*blackboard.Task{{ID: "a", Status: blackboard.Merged}, {ID: "b", Status: blackboard.Claimed}, {ID: "c", Status: blackboard.Unclaimed}, nil}}
	f := ForecastOf(lines, s)
	// 40 cents for one merged task with the planning; two are open, of which one has cost 5.
	if f.PerTask == nil || *f.PerTask != 40 || *f.Rest != 75 || *f.Total != 120 || f.Unknown != 1 || *f.SecondsRest != 110 {
		t.Errorf("the forecast is %+v", f)
	}
	if f := ForecastOf(lines, &blackboard.State{}); f.PerTask != nil || f.SecondsRest != nil {
		t.Errorf("without a merged task: %+v", f)
	}
}
