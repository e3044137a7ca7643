//go:build e2e

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"liza/pkg/agent"
)

// A table collects program × case × outcome, and prints itself when all is done.
type table struct {
	mu   sync.Mutex
	rows []string
}

func newTable(t *testing.T, title, head string) *table {
	tab := &table{}
	t.Cleanup(func() {
		var b strings.Builder
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, head)
		slices.Sort(tab.rows)
		for _, r := range tab.rows {
			fmt.Fprintln(w, r)
		}
		w.Flush()
		fmt.Printf("\n%s\n\n%s\n", title, b.String())
	})
	return tab
}

func (tab *table) add(columns ...any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	var text []string
	for _, c := range columns {
		text = append(text, fmt.Sprint(c))
	}
	tab.rows = append(tab.rows, strings.Join(text, "\t"))
}

// sprintLimit is the time that one sprint may take; opencode starts slowly on a busy machine.
const sprintLimit = 5 * time.Minute

func TestAProgramWorksThroughAWholeSprint(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Sprints: plan, code, reject, fix, approve, merge", "program\tby\toutcome\tseconds\truns\tcalls\tresumed\toutside")
	for _, p := range installed(t) {
		for _, w := range []way{byVerbs, byExit} {
			t.Run(p.name+"/"+string(w), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, sprint(w))
				pr := newProject(t, s, p, "")
				began := time.Now()
				_, all, err := pr.run(t, sprintLimit, liza, "run", "--coders", "1", "--plain", "--timeout", "4m")
				t.Cleanup(func() {
					if t.Failed() {
						t.Log(all)
					}
				})
				b := pr.board(t)
				runs := len(pr.interactions(t, "_planner")) + len(pr.interactions(t, "hello")) + len(pr.interactions(t, "readme"))
				tab.add(p.name, w, b.Goal.Status, fmt.Sprintf("%.0f", time.Since(began).Seconds()), runs, len(s.seen()), s.resumed(), strings.Join(s.outsiders(), " "))
				if err != nil {
					t.Errorf("liza run: %v", err)
				}
				checkSprint(t, pr, s, b)
				checkResumed(t, p, s)
			})
		}
	}
}

// checkResumed wants that the rejected task went on in its old conversation, where the program
// can resume one.
func checkResumed(t *testing.T, p program, s *server) {
	t.Helper()
	a, err := agent.Lookup(p.name, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := slices.ContainsFunc(s.seen(), func(c call) bool { return c.ask.resumed && c.ask.task == "hello" && c.ask.iteration == 2 })
	if again != a.Info().Resumes {
		t.Errorf("the second iteration was in the old conversation: %v, want %v", again, a.Info().Resumes)
	}
}

func checkSprint(t *testing.T, pr *project, s *server, b board) {
	t.Helper()
	if b.Goal.Status != "COMPLETED" {
		t.Errorf("the goal is %s", b.Goal.Status)
	}
	for task, want := range map[string][]string{
		"hello":  {"ready_for_review", "rejected", "ready_for_review", "approved", "merged"},
		"readme": {"ready_for_review", "approved", "merged"},
	} {
		got := slices.DeleteFunc(b.events(task), func(e string) bool { return !slices.Contains(want, e) })
		if !slices.Equal(got, want) {
			t.Errorf("%s went through %v, want %v", task, got, want)
		}
		for i, run := range pr.interactions(t, task) {
			if run.Liza.Outcome != "finished" {
				t.Errorf("run %d of %s is %s", i+1, task, run.Liza.Outcome)
			}
		}
	}
	if got := pr.must(t, "git", "show", "integration:hello.sh"); !strings.Contains(got, "a name is missing") {
		t.Errorf("hello.sh on the integration branch is %q", got)
	}
	if got := pr.must(t, "git", "status", "--porcelain"); got != "" {
		t.Errorf("the checkout is not clean: %s", got)
	}
	if found := pr.keysFound(t); len(found) > 0 {
		t.Errorf("the provider's key is in %v", found)
	}
	if left := pr.processesLeft(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if err := s.problem(); err != nil {
		t.Error(err)
	}
}
