//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// failures are the ways in which a provider lets a program down. Before it the program has
// called its shell once and made a commit, but for a login that never works.
var failures = []struct {
	failure
	want []string // outcomes of Liza; besides, stalled of a program that waits in silence
}{
	{failure{name: "429-once", status: 429, retryAfter: "1", skip: 1, once: true}, []string{"finished"}},
	{failure{name: "429", status: 429, retryAfter: "7200", skip: 1}, []string{"rate_limit", "quota"}},
	{failure{name: "quota", status: 429, skip: 1}, []string{"quota"}},
	{failure{name: "401", status: 401}, []string{"unusable"}},
	{failure{name: "529", status: 529, skip: 1}, []string{"overloaded"}},
	{failure{name: "overflow", status: 400, skip: 1}, []string{"context_full"}},
	{failure{name: "cut", skip: 1}, []string{"reask", "finished"}}, // the second of cn and gemini, which do not tell
	{failure{name: "hang", skip: 1, after: 2}, []string{"stalled"}},
	{failure{name: "malformed", skip: 1, after: 1}, []string{"network", "crashed"}},
	{failure{name: "reset", skip: 1, after: 1}, []string{"network"}},
}

// silenceSeconds is how long a program may say nothing here.
const silenceSeconds = 20

func TestAFailureOfTheProviderIsRecognised(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Failures of the provider", "program\tcase\toutcome\ttask\tseconds\tcalls")
	for _, p := range installed(t) {
		for _, c := range failures {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, sprint(byExit))
				s.fail = &c.failure
				pr := newProject(t, s, p, false)
				pr.must(t, liza, "config", "set", "stall_timeout", fmt.Sprint(silenceSeconds))
				pr.must(t, liza, "add-task", "--id", "hello", "--type", "feature", "--desc", "hello.sh greets", "--spec", "specs/vision.md", "--done", "sh hello.sh Ada prints Hello, Ada!", "--scope", "hello.sh")
				began := time.Now()
				all, err := pr.firstRun(t, 3*time.Minute, "hello")
				outcome, status := "no run", ""
				if runs := pr.interactions(t, "hello"); len(runs) > 0 {
					outcome = runs[0].Liza.Outcome
				}
				if tasks := pr.board(t).Tasks; len(tasks) > 0 {
					status = tasks[0].Status
				}
				shown := outcome
				if outcome == "stalled" && p.silence(c.name) != nil {
					shown += ", it waits in silence"
				}
				tab.add(p.name, c.name, shown, status, fmt.Sprintf("%.0f", time.Since(began).Seconds()), len(s.seen()))
				if want := append(slices.Clone(c.want), append(p.silence(c.name), p.other[c.name])...); !slices.Contains(want, outcome) {
					t.Errorf("%s is %s, want %s; liza-agent: %v\n%s", c.name, outcome, strings.Join(want, " or "), err, all)
				}
				checkFailed(t, pr, c.failure, status)
				keepRecording(t, pr, p.name+"-"+c.name)
			})
		}
	}
}

// silence is "stalled" where the program is known to try again and again, or to wait for as
// long as the provider says, without a word: Liza stops it after a while.
func (p program) silence(name string) []string {
	if slices.Contains(strings.Fields(p.silent), name) {
		return []string{"stalled"}
	}
	return nil
}

func checkFailed(t *testing.T, pr *project, f failure, status string) {
	t.Helper()
	if !slices.Contains([]string{"UNCLAIMED", "BLOCKED", "READY_FOR_REVIEW"}, status) {
		t.Errorf("the task is %s", status)
	}
	if log := pr.must(t, "git", "log", "--all", "--format=%s"); f.skip > 0 && !strings.Contains(log, "Print a greeting") {
		t.Errorf("the work is lost; the commits are:\n%s", log)
	}
	if left := pr.processesLeft(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if found := pr.keysFound(t); len(found) > 0 {
		t.Errorf("the provider's key is in %v", found)
	}
}

// keepRecording copies what the program printed to the folder LIZA_E2E_RECORD, for
// the corpus of pkg/run/agent.
func keepRecording(t *testing.T, pr *project, name string) {
	to := os.Getenv("LIZA_E2E_RECORD")
	if to == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(pr.dir, ".liza", "output", "hello.log"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, name+".log"), data, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
