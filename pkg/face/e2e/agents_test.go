//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"liza/pkg/board/history"
	"liza/pkg/run/agent"
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
		fmt.Printf("\n%s\n%s\n\n%s\n", title, measured(t), b.String())
	})
	return tab
}

// measured says of what, where and when a table is.
func measured(t *testing.T) string {
	text := fmt.Sprintf("%s, %s/%s", time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH) + ", sandbox " + string(level)
	for _, p := range installed(t) {
		if a, err := agent.Lookup(p.name, agent.Options{}); err == nil {
			text += ", " + p.name + " " + a.Info().Checked
		}
	}
	return text
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

// The flags that Liza relies on are in the help of the program as it is now.
func TestDoctorFindsAProgramAsTheCatalogueKnowsIt(t *testing.T) {
	t.Parallel()
	for _, p := range installed(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			pr := newProject(t, newServer(t, sprint(byExit)), p, false)
			out, all, err := pr.run(t, time.Minute, liza, "doctor", "--json")
			var said struct {
				Result struct {
					Findings []struct{ Check, Severity, Subject, Message string } `json:"findings"`
				} `json:"result"`
			}
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatalf("%v\n%s", err, all)
			}
			a, lookup := agent.Lookup(p.name, agent.Options{})
			if err != nil || lookup != nil {
				t.Fatal(err, lookup)
			}
			found := false
			for _, f := range said.Result.Findings {
				if f.Check != "agent" || f.Subject != p.name {
					continue
				}
				if found = true; f.Severity != "ok" || !strings.Contains(f.Message, a.Info().Checked) {
					t.Errorf("%s: %s, want ok and version %s", f.Severity, f.Message, a.Info().Checked)
				}
			}
			if !found {
				t.Errorf("doctor does not look at %s:\n%s", p.name, all)
			}
		})
	}
}

// sprintLimit is the time that one sprint may take: opencode starts slowly on a busy machine. It
// ends before the tests have to, so that liza stops what it has started.
func sprintLimit(t *testing.T) time.Duration {
	limit := 5 * time.Minute
	if end, ok := t.Deadline(); ok {
		limit = min(limit, time.Until(end)-20*time.Second)
	}
	return limit
}

func TestAProgramWorksThroughAWholeSprint(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Sprints: plan, code, reject, fix, approve, merge", "program\tby\toutcome\tseconds\truns\tcalls\tresumed calls\ttokens told/counted\thosts tried")
	for _, p := range installed(t) {
		for _, w := range []way{byVerbs, byExit, byTools} {
			if w == byTools && p.noTools != "" {
				tab.add(p.name, w, "cannot: "+p.noTools, "", "", "", "", "", "")
				continue
			}
			t.Run(p.name+"/"+string(w), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, sprint(w))
				pr := newProject(t, s, p, w == byTools)
				began := time.Now()
				_, all, err := pr.run(t, sprintLimit(t), liza, "run", "--coders", "1", "--plain", "--timeout", "4m")
				t.Cleanup(func() {
					if t.Failed() {
						t.Log(all + pr.outputs(t))
					}
				})
				b := pr.board(t)
				runs := len(pr.interactions(t, "_planner")) + len(pr.interactions(t, "hello")) + len(pr.interactions(t, "readme"))
				resumed := fmt.Sprint(s.resumed())
				if !resumes(t, p) {
					resumed = "cannot"
				}
				tab.add(p.name, w, b.Goal.Status, fmt.Sprintf("%.0f", time.Since(began).Seconds()), runs, len(s.seen()), resumed, checkTokens(t, pr, s), strings.Join(s.outsiders(), " "))
				if err != nil {
					t.Errorf("liza run: %v", err)
				}
				keepRecording(t, pr, p.name+"-"+string(w))
				checkSprint(t, pr, s, b)
				checkContained(t, pr, b)
				checkResumed(t, p, s)
				if w == byTools {
					checkTools(t, s)
				}
			})
		}
	}
}

// resumes reports whether the program can go on in an old conversation.
func resumes(t *testing.T, p program) bool {
	t.Helper()
	a, err := agent.Lookup(p.name, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a.Info().Resumes
}

// checkResumed wants that the rejected task went on in its old conversation, where the program
// can resume one.
func checkResumed(t *testing.T, p program, s *server) {
	t.Helper()
	again := slices.ContainsFunc(s.seen(), func(c call) bool { return c.ask.resumed && c.ask.task == "hello" && c.ask.iteration == 2 })
	if want := resumes(t, p); again != want && !p.forgets {
		t.Errorf("the second iteration was in the old conversation: %v, want %v", again, want)
	}
}

// checkTokens compares what the program told of its tokens with what the server counted, and
// says both. A call for a title or the like, which has no shell, may be left out; nothing may be
// counted twice, above all not what a resumed conversation had used before.
func checkTokens(t *testing.T, pr *project, s *server) string {
	t.Helper()
	lines, err := history.ReadUsage(filepath.Join(pr.dir, ".liza", "usage.jsonl"))
	if err != nil {
		t.Error(err)
	}
	told, unknown := 0, 0
	for _, l := range lines {
		if l.TokensIn == nil || l.TokensOut == nil {
			unknown++
			continue
		}
		told += *l.TokensIn + *l.TokensOut
	}
	work, all := 0, 0
	for _, c := range s.seen() {
		all += tokensIn + tokensOut
		if c.shell {
			work += tokensIn + tokensOut
		}
	}
	switch {
	case len(lines) > 0 && unknown == len(lines):
		return "unknown"
	case unknown > 0:
		t.Errorf("%d of %d runs told no tokens", unknown, len(lines))
	case told < work || told > all:
		t.Errorf("the program told %d tokens; the server counted %d, %d of them in its work", told, all, work)
	}
	return fmt.Sprintf("%d/%d", told, all)
}

// checkTools wants that the plan, three submissions and three verdicts came by tools of MCP.
func checkTools(t *testing.T, s *server) {
	t.Helper()
	called := map[string]int{}
	for _, c := range s.seen() {
		if c.tool {
			called[c.ask.role]++
		}
	}
	if want := map[string]int{"planner": 1, "coder": 3, "code_reviewer": 3}; !maps.Equal(called, want) {
		t.Errorf("tools were called %v times, want %v", called, want)
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
	if got := pr.must(t, "git", "log", "--format=%s", "main"); got != "Liza\nVision\n" {
		t.Errorf("the person's main has the commits %q", got)
	}
	if got := pr.must(t, "git", "branch", "--show-current"); got != "main\n" {
		t.Errorf("the checkout is on %q", got)
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

// A question is answered while the team works, and the work goes on; a change that is in conflict with another one is mended and merged.
func TestAProgramComesThroughAQuestionAndAConflict(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "A question and a conflict", "program\tquestions\tconflicts\tmerged\tseconds")
	for _, p := range installed(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			pr := newProject(t, newServer(t, trouble()), p, false)
			for _, id := range []string{"first", "second"} {
				pr.must(t, liza, "add-task", "--id", id, "--type", "docs", "--desc", "Say "+id, "--done", "same.txt says "+id, "--scope", "same.txt", "--spec", "specs/vision.md")
			}
			began, ended := time.Now(), make(chan string, 1)
			go func() {
				_, all, err := pr.run(t, sprintLimit(t), liza, "run", "--planners", "0", "--coders", "2", "--plain", "--timeout", "4m")
				ended <- fmt.Sprint(all, err)
			}()
			waitFor(t, func() bool {
				_, _, err := pr.run(t, time.Minute, liza, "answer", "q-1", "second")
				return err == nil
			})
			all := <-ended
			b := pr.board(t)
			got := map[string]int{}
			for _, id := range []string{"first", "second"} {
				for _, e := range b.events(id) {
					got[e]++
				}
			}
			tab.add(p.name, got["blocked"], got["integration_failed"], got["merged"], fmt.Sprintf("%.0f", time.Since(began).Seconds()))
			if said := pr.must(t, "git", "show", "integration:same.txt"); got["blocked"] != 1 || got["integration_failed"] != 1 || got["merged"] != 2 || said != "first\nsecond\n" {
				t.Errorf("events %v, same.txt %q\n%s%s", got, said, all, pr.outputs(t))
			}
		})
	}
}
