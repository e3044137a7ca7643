//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mostTokens is how many times the tokens of the bare program a sprint with plan and review may cost.
const mostTokens = 1.6

// bareCommands are the programs as a person starts them for one task, with the prompt on stdin, and whether they are held to the
// bound. The others are beyond it (specs/agents.md#tokens): what they offer besides is small beside the prompt of a run and its tools.
var bareCommands = map[string]struct {
	command string
	held    bool
}{
	"claude":   {"IS_SANDBOX=1 claude -p --dangerously-skip-permissions", true},
	"codex":    {"codex exec --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -", false},
	"gemini":   {"gemini --yolo --skip-trust -m gemini-2.5-flash", false},
	"opencode": {"opencode run --auto -m fake/fake-model", false},
	"qwen":     {"qwen --yolo", false},
	"pi":       {"pi -p --model fake/fake-model", false},
}

// A sprint of two tasks, planned and reviewed, beside the same two tasks that a person gives to the bare program. The model makes
// the same calls for the work. A token is four bytes of a request, with all that it repeats.
func TestTokensOfASprintBesideTheBareProgram(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Tokens of two tasks", "program\tbare: calls\ttokens\tsprint: calls\ttokens\ttimes")
	for _, p := range installed(t) {
		bare, ok := bareCommands[p.name]
		if !ok {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			alone, team := newServer(t, recorded), newServer(t, recorded)
			by := newProject(t, alone, p, false)
			for _, task := range []string{"hello", "readme"} {
				prompt := filepath.Join(t.TempDir(), task)
				if err := os.WriteFile(prompt, []byte(asked[task]+fmt.Sprintf("\n{\"request\":{\"action\":\"run\",\"job_id\":%q,\"role\":\"bare\",\"iteration\":1}}\n", task)), 0o644); err != nil {
					t.Fatal(err)
				}
				if _, all, err := by.run(t, 4*time.Minute, "sh", "-c", bare.command+" < "+prompt); err != nil {
					t.Fatalf("%v\n%s", err, all)
				}
			}
			pr := newProject(t, team, p, false)
			_, all, err := pr.run(t, sprintLimit(t), liza, "run", "--coders", "1", "--plain", "--timeout", "4m")
			if b := pr.board(t); err != nil || b.Goal.Status != "COMPLETED" {
				t.Fatalf("the goal is %s, %v\n%s%s", b.Goal.Status, err, all, pr.outputs(t))
			}
			one, both := tokens(alone), tokens(team)
			times := float64(both) / float64(one)
			tab.add(p.name, len(alone.seen()), one, len(team.seen()), both, fmt.Sprintf("%.2f", times))
			if bare.held && times > mostTokens {
				t.Errorf("a sprint costs %.2f times the tokens of the bare program, want at most %.1f", times, mostTokens)
			}
		})
	}
}

func tokens(s *server) (n int) {
	for _, c := range s.seen() {
		n += c.size / 4
	}
	return n
}

// asked is how a person asks a program for the tasks of the plan.
var asked = map[string]string{
	"hello":  "Read specs/vision.md and implement hello.sh: `sh hello.sh Ada` prints `Hello, Ada!`. Write a test in tests/, run it, and commit.",
	"readme": "Show in README.md how to greet with hello.sh, as specs/vision.md says, and commit.",
}

// reads is a command that reads n lines of a file of the project: a model reads more than it writes.
func reads(n int) string {
	return fmt.Sprintf("seq -f 'line %%g of a file of the project, as a model reads many of them' %d", n)
}

// recorded is what a model does for two small tasks: the number and order of its calls are those of recorded runs, what it reads is made.
func recorded(a ask) answerOrCommand {
	var steps []answerOrCommand
	add := func(commands ...string) {
		for _, c := range commands {
			steps = append(steps, answerOrCommand{command: c})
		}
	}
	end := "It is done and committed."
	switch a.role {
	case "planner":
		add("git log --oneline | head; git ls-files; cat specs/vision.md", "cat README.md; "+reads(40))
		end = exitCommand("Two tasks.", `"plan": `+plan)
	case "coder", "bare":
		add("git log --oneline | head; git ls-files; cat specs/vision.md README.md", reads(60))
		if a.role == "coder" {
			add(fmt.Sprintf("\"$LIZA_BIN\" intent %s --intent 'Do as the task says' --validation 'sh tests/hello_test.sh'", a.task))
			end = exitCommand("It is done and tested.", "")
		}
		change, commit, _ := strings.Cut(made[a.task], " && git ")
		add(change, "for t in tests/*_test.sh; do sh -e $t; done; "+reads(20), "git "+commit)
	case "code_reviewer":
		add("git rev-parse HEAD; git log --oneline | head -n 3; git diff HEAD~1", reads(40), "for t in tests/*_test.sh; do sh -e $t; done; "+reads(20))
		end = exitCommand("It was read and tried.", `"review": {"status": "ok"}`)
	}
	steps = append(steps, answerOrCommand{text: end})
	return steps[min(a.step, len(steps)-1)]
}

// made is what a coder does, with the commit last.
var made = map[string]string{
	"hello":  work["hello"][0][strings.Index(work["hello"][0], "mkdir"):],
	"readme": work["readme"][0],
}
