//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ways is how a text reaches the running program with --now: into its turn or its conversation, or by an interruption. The others are not measured.
var ways = map[string]string{"claude": "turn", "pi": "resume", "codex": "resume", "claude-acp": "turn", "codex-acp": "turn", "gemini-acp": "turn"}

func TestATextReachesAProgramWhileItWorks(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Texts to a running program", "program\thow\tstate\tseconds from tell to seen")
	for _, p := range installed(t) {
		want := ways[p.name]
		if want == "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			pr, ended := startReadme(t, newServer(t, slowly), p)
			waitFor(t, func() bool { return exists(filepath.Join(pr.dir, ".worktrees", "readme", "begun")) })
			text, seconds := tellNow(t, pr, func(string) {})
			all := <-ended
			tab.add(p.name, text.How, text.State, fmt.Sprintf("%.1f", seconds))
			if text.How != want || !strings.Contains(all, "README") && !strings.Contains(all, "readme") {
				t.Errorf("got %+v, want %s\n%s%s", text, want, all, pr.outputs(t))
			}
			if events := pr.board(t).events("readme"); !slices.Contains(events, "ready_for_review") {
				t.Errorf("the work was not handed in: %v\n%s%s", events, all, pr.outputs(t))
			}
		})
	}
}

// early is how a text reaches a program whose model has not said a word yet. codex has its conversation on disk by then; pi has not, so
// that the text falls to the next rung, the prompt of a new conversation.
var early = map[string]string{"claude": "turn", "codex": "resume", "pi": "prompt", "claude-acp": "turn", "codex-acp": "turn", "gemini-acp": "turn"}

func TestATextReachesAProgramBeforeItsFirstAnswer(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Texts before the first answer", "program\thow\tstate\tmoved\truns\tseconds from tell to seen")
	for _, p := range installed(t) {
		want := early[p.name]
		if want == "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			asked, answered := make(chan struct{}), make(chan struct{})
			s := newServer(t, func(a ask) answerOrCommand {
				if calls.Add(1) == 1 {
					close(asked)
					<-answered
				}
				return sprint(byExit)(a)
			})
			answer := sync.OnceFunc(func() { close(answered) })
			t.Cleanup(answer)
			pr, ended := startReadme(t, s, p)
			<-asked
			text, seconds := tellNow(t, pr, func(how string) {
				if how == "turn" && p.name == "claude" {
					answer() // it is not interrupted for the text
				}
			})
			answer()
			all, runs := <-ended, len(pr.interactions(t, "readme"))
			tab.add(p.name, text.How, text.State, text.Moved, runs, fmt.Sprintf("%.1f", seconds))
			if text.How != want || (text.Moved != "") != (want != "turn") || runs != map[string]int{"turn": 1, "resume": 2, "prompt": 3}[want] {
				t.Errorf("got %+v in %d runs, want %s\n%s%s", text, runs, want, all, pr.outputs(t))
			}
			if events := pr.board(t).events("readme"); !slices.Contains(events, "ready_for_review") {
				t.Errorf("the work was not handed in: %v\n%s%s", events, all, pr.outputs(t))
			}
		})
	}
}

// startReadme lets a coder work on a task; what it printed comes when it ends.
func startReadme(t *testing.T, s *server, p program) (*project, <-chan string) {
	t.Helper()
	pr := newProject(t, s, p, false)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(pr.outputs(t))
		}
	})
	pr.must(t, liza, "add-task", "--id", "readme", "--type", "docs", "--desc", "Show the command", "--done", "README.md has an example", "--scope", "README.md", "--spec", "specs/vision.md")
	ended := make(chan string, 1)
	go func() {
		_, all, err := pr.run(t, sprintLimit(t), liza+"-agent", "--once", "coder", "readme")
		ended <- fmt.Sprint(all, err)
	}()
	return pr, ended
}

// toldText is a text as `liza tell --list` shows it.
type toldText struct{ State, How, Moved string }

// tellNow tells the running program a text, and waits until the model has it. looked is called with how it is on its way.
func tellNow(t *testing.T, pr *project, looked func(how string)) (text toldText, seconds float64) {
	t.Helper()
	pr.must(t, liza, "tell", "readme", "Show two names", "--now")
	began := time.Now()
	waitFor(t, func() bool {
		var got struct{ Result struct{ Texts []toldText } }
		out, _, _ := pr.run(t, time.Minute, liza, "tell", "--list", "--json")
		if json.Unmarshal(out, &got) != nil || len(got.Result.Texts) != 1 {
			return false
		}
		text = got.Result.Texts[0]
		looked(text.How)
		return text.State == "seen"
	})
	return text, time.Since(began).Seconds()
}

// slowly is a coder that works for some seconds in one call of a tool, and then does its task.
func slowly(a ask) answerOrCommand {
	if a.step == 0 && !a.resumed {
		return answerOrCommand{command: "echo begun > begun; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.5; done; rm begun"}
	}
	steps := []answerOrCommand{{command: "if test -e begun; then rm begun; fi; " + work["readme"][0]}, {text: exitCommand("It is done.", "")}}
	if !a.resumed {
		a.step--
	}
	return steps[min(a.step, 1)]
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	wait := time.NewTicker(100 * time.Millisecond)
	defer wait.Stop()
	for range 900 {
		if done() {
			return
		}
		<-wait.C
	}
	t.Fatal("it did not happen within 90 seconds")
}
