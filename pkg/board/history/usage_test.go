package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// Costs are summed in fractions of a cent: 16.7 cents stay 16.7, however many runs they are of,
// and in whatever order the ledger has them.
func TestTheSumOfALedgerIsThatOfItsRunsInEveryOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var ledger []string
		exact := 0 // ten-thousandths of a cent
		for n := range 1 + random.IntN(400) {
			cost := random.IntN(300_000)
			exact += cost
			ledger = append(ledger, fmt.Sprintf(`{"at":"2026-01-19T14:00:00Z","run":%d,"task":"a","cost_cents":%d.%04d}`, n, cost/10_000, cost%10_000))
		}
		random.Shuffle(len(ledger), func(i, j int) { ledger[i], ledger[j] = ledger[j], ledger[i] })
		path := filepath.Join(t.TempDir(), "usage.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(ledger, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		lines, err := ReadUsage(path)
		if err != nil || len(lines) != len(ledger) {
			t.Fatalf("%d of %d lines, %v", len(lines), len(ledger), err)
		}
		if sum := SumUsage(lines, "task"); len(sum) != 1 || math.Abs(float64(sum[0].CostCents)-float64(exact)/1e4) > 1e-6 {
			t.Fatalf("%d runs of %d/10000 cents are summed to %+v", len(lines), exact, sum)
		}
	}
}
