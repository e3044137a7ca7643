package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/run/agent"
)

// TestMain makes the test binary the program that the adapter starts:
// `liza scripted-agent --scenario FILE`.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "scripted-agent" {
		os.Exit(program(os.Args[3]))
	}
	os.Exit(m.Run())
}

func program(file string) int {
	s, err := Load(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return Run(context.Background(), Options{
		Scenario: s,
		Role:     os.Getenv("LIZA_ROLE"),
		TaskID:   os.Getenv("LIZA_TASK_ID"),
		Worktree: os.Getenv("LIZA_WORKTREE"),
		StateDir: filepath.Join(os.Getenv("LIZA_ROOT"), ".liza/tmp/scripted"),
		Describe: func() (string, error) { return "Tell the user <b>all</b> of it.", nil },
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
	})
}

// stage is a project with a scenario.
type stage struct {
	t    *testing.T
	root string
	file string
}

func newStage(t *testing.T, scenario string) stage {
	t.Helper()
	s := stage{t, t.TempDir(), filepath.Join(t.TempDir(), "scenario.yaml")}
	if err := os.WriteFile(s.file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// run starts the scripted agent as a real child process, as the adapter does.
func (s stage) run(role, task string, more ...func(*agent.Spec)) agent.Result {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := agent.Lookup("scripted", agent.Options{Liza: self, Scenario: s.file})
	if err != nil {
		s.t.Fatal(err)
	}
	spec := agent.Spec{
		Dir:     s.root,
		Prompt:  "the prompt",
		Timeout: time.Minute,
		Env: []string{
			"LIZA_ROLE=" + role, "LIZA_TASK_ID=" + task, "LIZA_WORKTREE=" + s.root, "LIZA_ROOT=" + s.root, "LIZA_BIN=" + self,
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GORACE=atexit_sleep_ms=0", // else each child of a race build ends a second late
		},
	}
	for _, change := range more {
		change(&spec)
	}
	return agent.Run(s.t.Context(), a, spec)
}

// answer runs it and reads the exit command.
func (s stage) answer(role, task string) map[string]any {
	s.t.Helper()
	res := s.run(role, task)
	if res.Outcome != agent.Finished {
		s.t.Fatalf("%s %s: %s: %s", role, task, res.Outcome, res.Error)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(res.Final), &out); err != nil {
		s.t.Fatalf("%s %s printed %q: %v", role, task, res.Final, err)
	}
	return out
}

func (s stage) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.root, "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

const example = `
planner:
  - plan: {goal: "Greet", tasks: [{id: task-1, type: feature, description: "Say hello", depends_on: []}]}
coder:
  task-1:
    - run: "printf hi > hello.txt"
      commit: "Add greeting"
      delay: 20ms
      exit: {action: COMPLETED, evidence_files: [hello.txt], summary_for_supervisor: "Added the greeting."}
    - run: "printf 'hi Ann' > hello.txt"
code_reviewer:
  task-1:
    - review: {status: needs_fix, reason: "hello.txt:1 lacks the name", inject: []}
    - review: {status: ok}
default:
  coder: {run: "true", exit: {action: RETRY, evidence_files: [], summary_for_supervisor: "Again."}}
  code_reviewer: {review: {status: ok}}
`

func TestEntriesAreUsedOneAfterTheOtherThenTheDefault(t *testing.T) {
	t.Parallel()
	s := newStage(t, example)
	s.git("init", "-q")
	review := func(out map[string]any) any { return out["review"].(map[string]any)["status"] }

	plan := s.answer("planner", "")
	if plan["action"] != "COMPLETED" || plan["plan"].(map[string]any)["goal"] != "Greet" {
		t.Errorf("planner: %v, want the plan", plan)
	}
	if again := s.answer("planner", "_planner"); again["plan"] != nil || again["action"] != "COMPLETED" {
		t.Errorf("planner, second run: %v, want completed without a plan", again)
	}
	if got := s.answer("coder", "task-1"); got["summary_for_supervisor"] != "Added the greeting." {
		t.Errorf("coder: %v, want the first entry", got)
	}
	if got := review(s.answer("code-reviewer", "task-1")); got != "needs_fix" {
		t.Errorf("reviewer: %v, want the first entry", got)
	}
	if got := s.answer("coder", "task-1"); got["action"] != "COMPLETED" || len(got["evidence_files"].([]any)) != 0 {
		t.Errorf("coder, second run: %v, want a plain COMPLETED", got)
	}
	if got := review(s.answer("code_reviewer", "task-1")); got != "ok" {
		t.Errorf("reviewer, second run: %v, want the second entry", got)
	}
	for range 2 {
		if got := s.answer("coder", "task-1"); got["action"] != "RETRY" {
			t.Errorf("coder, later run: %v, want the default", got)
		}
	}
	if got := s.answer("coder", "other"); got["action"] != "RETRY" {
		t.Errorf("coder of another task: %v, want the default", got)
	}
}

func TestWithoutAnyEntry(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	for role, action := range map[string]string{"planner": "COMPLETED", "coder": "STUCK", "code_reviewer": "STUCK", "messenger": "COMPLETED", "summarizer": "STUCK"} {
		out := s.answer(role, "task-1")
		if out["action"] != action || out["summary_for_supervisor"] == "" || out["evidence_files"] == nil {
			t.Errorf("%s: %v, want %s", role, out, action)
		}
		if text, want := out["text"], "Tell the user <b>all</b> of it."; role == "messenger" && text != want {
			t.Errorf("messenger: %v, want the description", text)
		}
	}
}

func TestACommitHasTheWorkAndAnAuthor(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
coder:
  task-1:
    - {run: "printf hi > hello.txt", commit: "Add greeting"}
    - {commit: "Nothing"}
    - {run: "printf 'hi Ann' > hello.txt", commit: "Add the name"}
`)
	s.git("init", "-q")
	if err := os.WriteFile(filepath.Join(s.root, ".git/info/exclude"), []byte("/.liza/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.answer("coder", "task-1")
	if got := s.git("log", "--format=%s by %an <%ae>, %cn"); got != "Add greeting by Liza Scripted <scripted@localhost>, Liza Scripted" {
		t.Errorf("log is %q", got)
	}
	if got := s.git("ls-tree", "-r", "--name-only", "HEAD"); got != "hello.txt" {
		t.Errorf("the commit has %q", got)
	}
	s.answer("coder", "task-1")
	if got := s.git("rev-list", "--count", "HEAD"); got != "1" {
		t.Errorf("with nothing to commit there are %s commits, want 1", got)
	}

	// The user's own settings: his name is used, his hooks and his signature are not.
	s.git("config", "user.name", "Ann")
	s.git("config", "user.email", "ann@example.org")
	s.git("config", "commit.gpgSign", "true")
	if err := os.WriteFile(filepath.Join(s.root, ".git/hooks/pre-commit"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.answer("coder", "task-1")
	if got := s.git("log", "-1", "--format=%s by %an"); got != "Add the name by Ann" {
		t.Errorf("the last commit is %q", got)
	}
}

func TestEveryPreset(t *testing.T) {
	t.Parallel()
	briefly := func(s *agent.Spec) { s.Stall = 300 * time.Millisecond }
	for preset, want := range map[string]struct {
		outcome agent.Outcome
		final   string
	}{
		"hang":          {agent.Stalled, ""},
		"interactive":   {agent.Stalled, "[y/N]"},
		"crash":         {agent.Crashed, ""},
		"rate_limit":    {agent.RateLimited, ""},
		"quota":         {agent.QuotaWindow, ""},
		"auth_error":    {agent.Unusable, ""},
		"context_full":  {agent.ContextFull, ""},
		"network_error": {agent.Network, ""},
		"invalid_json":  {agent.Finished, `"action": "COMPLETED"`},
	} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "coder: {task-1: [{preset: "+preset+"}]}\n")
			change := func(*agent.Spec) {}
			if want.outcome == agent.Stalled {
				change = briefly
			}
			res := s.run("coder", "task-1", change)
			if res.Outcome != want.outcome || !strings.Contains(res.Final, want.final) || (want.final == "") != (res.Final == "") {
				t.Errorf("got %+v, want %s and %q", res, want.outcome, want.final)
			}
			if (res.Outcome == agent.Finished) != (res.Error == "") {
				t.Errorf("%s with error %q", res.Outcome, res.Error)
			}
			if res.Outcome == agent.RateLimited && res.RetryAfter != time.Second {
				t.Errorf("retry after %v, want a second", res.RetryAfter)
			}
			if res.Outcome == agent.QuotaWindow && time.Until(res.ResetAt) > 3*time.Second {
				t.Errorf("reset at %v, want in a moment", res.ResetAt)
			}
		})
	}
	if len(presets) != 9 {
		t.Errorf("there are %d presets, and 9 are tested", len(presets))
	}
}

func TestTheExitCodeOfRunIsThatOfTheAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t, `coder: {task-1: [{run: "exit 42"}, {run: "echo {}; echo lost >&2; exit 3"}]}`)
	if res := s.run("coder", "task-1"); !res.Restart || res.ExitCode != 42 {
		t.Errorf("got %+v, want a restart", res)
	}
	res := s.run("coder", "task-1")
	if res.Outcome != agent.Crashed || res.ExitCode != 3 || res.Final != "" {
		t.Errorf("got %+v, want crashed with 3, and nothing on stdout", res)
	}
	if !slices.Contains(res.Tail, "lost") {
		t.Errorf("tail is %q, want what the command printed", res.Tail)
	}
}

func TestAttemptsAreCountedOnceEachAcrossProcesses(t *testing.T) {
	t.Parallel()
	const runs = 8
	var text strings.Builder
	text.WriteString("coder:\n  task-1:\n")
	for i := range runs {
		fmt.Fprintf(&text, "    - exit: {action: COMPLETED, evidence_files: [], summary_for_supervisor: 'run %d'}\n", i)
	}
	s := newStage(t, text.String())
	said := make(chan string, runs)
	for range runs {
		go func() { said <- s.run("coder", "task-1").Final }()
	}
	seen := map[string]bool{}
	for range runs {
		seen[<-said] = true
	}
	if len(seen) != runs {
		t.Errorf("%d runs at the same time used %d entries: %v", runs, len(seen), seen)
	}
}

func TestTheEndOfTheContextEndsARun(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"hang": "preset: hang", "delay": "delay: 1h", "run": "run: exec sleep 1000"} {
		s := newStage(t, "coder: {task-1: [{"+text+"}]}\n")
		scenario, err := Load(s.file)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		var out bytes.Buffer
		code := Run(ctx, Options{Scenario: scenario, Role: "coder", TaskID: "task-1", Worktree: s.root, StateDir: s.root, Stdout: &out, Stderr: &out})
		if code != exitStopped {
			t.Errorf("%s: exit code %d, want %d\n%s", name, code, exitStopped, out.String())
		}
	}
}

func TestAScenarioThatIsWrongIsRefusedWithLines(t *testing.T) {
	t.Parallel()
	_, err := Load("no/such/scenario.yaml")
	if err == nil || !strings.Contains(err.Error(), "no/such/scenario.yaml") {
		t.Errorf("a missing file gave %v", err)
	}
	s := newStage(t, `planner:
  - plan: [1]
  - review: {status: ok}
coder:
  task-1:
    - runs: "x"
      delay: soon
      delay: 1s
  task-2: {run: x}
  task-3: [{preset: explode}, {run: [a]}, 7]
worker: {}
default:
  boss: {}
  coder: {exit: {1: {[a]: 2}}}
`)
	_, err = Load(s.file)
	if err == nil {
		t.Fatal("a wrong scenario was accepted")
	}
	for _, want := range []string{
		":2: plan must be a mapping",
		":3: only a code_reviewer has a review",
		`:6: unknown key "runs"; known are run, commit, delay, exit, preset, plan, review`,
		`:7: delay must be a time like 200ms, not "soon"`,
		`:8: an entry has the key "delay" twice`,
		":9: the entries of coder must be a list",
		`:10: unknown preset "explode"; known are hang, crash`,
		":10: run must be a text",
		":10: an entry must be a mapping",
		`:11: unknown key "worker"; known are planner, coder`,
		`:13: unknown role "boss"`,
		":14: exit",
	} {
		if !strings.Contains(err.Error(), s.file+want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	s = newStage(t, "planner: [\n")
	if _, err = Load(s.file); err == nil || !strings.Contains(err.Error(), s.file) || !strings.Contains(err.Error(), "line") {
		t.Errorf("a file that is no YAML gave %v", err)
	}
}
