//go:build e2e

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The limit of the cost of a task acts inside the run of a program that counts its own cost: it ends itself, and the task waits for
// a person as if Liza had stopped it. It does not count as a crash, and the work is kept.
func TestAProgramEndsAtTheLimitOfItsCost(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "A limit of the cost of a task: 1 cent", "program\toutcome\ttask\tcalls of the model\tcents")
	for _, p := range installed(t) {
		if p.name != "claude" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, func(a ask) answerOrCommand {
				if a.step == 12 {
					return answerOrCommand{text: exitCommand("It is done.", "")}
				}
				return answerOrCommand{command: fmt.Sprintf("echo %d >> README.md; git commit -qam 'Step %d'", a.step, a.step)}
			})
			pr := newProject(t, s, p, false)
			pr.must(t, liza, "config", "set", "limits.cost_cents", "1")
			pr.must(t, liza, "add-task", "--id", "readme", "--type", "docs", "--desc", "Show the command", "--done", "README.md has an example", "--scope", "README.md", "--spec", "specs/vision.md")
			_, all, err := pr.run(t, sprintLimit(t), liza+"-agent", "--once", "coder", "readme")
			run, b := pr.interactions(t, "readme")[0].Liza, pr.board(t)
			cents := 0.0
			if run.CostCents != nil {
				cents = *run.CostCents
			}
			tab.add(p.name, run.Outcome, b.Tasks[0].Status, len(s.seen()), fmt.Sprintf("%.2f", cents))
			if show := pr.must(t, liza, "show", "readme"); run.Outcome != "stopped" || b.Tasks[0].Status != "BLOCKED" || !strings.Contains(show, "of 1 cents") || slices.Contains(b.events("readme"), "crashed") {
				t.Errorf("%+v, %v, %v\n%s%s%s", run, b.Tasks, err, all, show, pr.outputs(t))
			}
			if len(s.seen()) > 6 || cents < 1 {
				t.Errorf("the program made %d calls of the model for %.2f cents", len(s.seen()), cents)
			}
		})
	}
}
