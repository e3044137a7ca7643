//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ways is how a text reaches the running program with --now: into its turn or its conversation, or by an interruption. The others are not measured.
var ways = map[string]string{"claude": "turn", "pi": "resume", "claude-acp": "turn", "codex-acp": "turn", "gemini-acp": "turn"}

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
			s := newServer(t, slowly)
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
			waitFor(t, func() bool { return exists(filepath.Join(pr.dir, ".worktrees", "readme", "begun")) })
			pr.must(t, liza, "tell", "readme", "Show two names", "--now")
			began := time.Now()
			var got struct {
				Result struct {
					Texts []struct{ State, How, Moved string }
				}
			}
			waitFor(t, func() bool {
				out, _, _ := pr.run(t, time.Minute, liza, "tell", "--list", "--json")
				return json.Unmarshal(out, &got) == nil && len(got.Result.Texts) == 1 && got.Result.Texts[0].State == "seen"
			})
			all := <-ended
			text := got.Result.Texts[0]
			tab.add(p.name, text.How, text.State, fmt.Sprintf("%.1f", time.Since(began).Seconds()))
			if text.How != want || !strings.Contains(all, "README") && !strings.Contains(all, "readme") {
				t.Errorf("got %+v, want %s\n%s%s", text, want, all, pr.outputs(t))
			}
			if events := pr.board(t).events("readme"); !slices.Contains(events, "ready_for_review") {
				t.Errorf("the work was not handed in: %v\n%s%s", events, all, pr.outputs(t))
			}
		})
	}
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
