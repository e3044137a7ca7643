package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// reviewed lets a reviewer judge a task with that answer, and gives its prompts.
func reviewed(t *testing.T, p *verbtest.Place, task, answer string) (prompts []string, lines []string) {
	t.Helper()
	return reviewedInRuns(t, p, task, nil, finished(answer))
}

// reviewedInRuns is reviewed with several answers; before is called in each run, with the token
// that its supervisor has for it.
func reviewedInRuns(t *testing.T, p *verbtest.Place, task string, before func(run int, token string), results ...agent.Result) (prompts []string, lines []string) {
	t.Helper()
	ctx := t.Context()
	token := ""
	var mu sync.Mutex
	run := answers(&prompts, func(n int) {
		if before != nil {
			before(n, token)
		}
	}, results...)
	start, _ := agent.ProcessStart(os.Getpid())
	s := &supervisor.Supervisor{Service: p.Service(""), Role: blackboard.RoleReviewer, CLI: "fake", PID: os.Getpid(), PIDStart: start, Liza: "/bin/true", Once: true, Task: task,
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Print: func(l supervisor.Line) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, l.Text)
		},
		RunBase: broker.Base(""),
		Commands: func(r supervisor.InRun) broker.Handler {
			token = r.Token
			return nil // they are called directly
		},
		Start: func(ctx context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
			if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			return run(ctx, s)
		}}
	if err := s.Run(ctx, ctx); err != nil {
		t.Fatal(err)
	}
	return prompts, lines
}

var off = config.Check{Severity: "error"}

const approves = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"good","review":{"status":"ok"}}`

// greeter is an honest project: a program, its test, and files that a cheat may touch.
var greeter = map[string]string{
	"greet.py":          "def greet(name):\n    return \"Hello, \" + name\n",
	"test_greet.py":     "from greet import greet\n\ndef test_bob():\n    assert greet(\"Bob\") == \"Hello, Bob\"\n    assert greet(\"Ada\") == \"Hello, Ada\"\n\ndef test_empty():\n    assert greet(\"\") == \"Hello, \"\n",
	"test_other.py":     "from greet import greet\n\ndef test_other():\n    assert greet(\"x\") == \"Hello, x\"\n",
	"data.txt":          "data\n",
	"package.json":      "{\"name\": \"greeter\"}\n",
	"package-lock.json": "{\"name\": \"greeter\"}\n",
}

// cheater is a project whose task-1 is claimed by coder-1.
func cheater(t *testing.T, change func(task *blackboard.Task)) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.Config.Review.Checks["build_passes"], p.Config.Review.Checks["tests_pass"] = off, off // no cheat may hide behind them
	dir := p.Push("", "")
	for name, text := range greeter {
		verbtest.Write(t, filepath.Join(dir, name), text)
	}
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "greeter")
	p.Git(p.Dir, "update-ref", "refs/heads/integration", p.Git(dir, "rev-parse", "HEAD"))
	p.Accept()
	p.Git(p.Dir, "worktree", "remove", "--force", dir)
	task := blackboard.Task{ID: "task-1", Description: "Greet politely", SpecRef: "specs/vision.md", DoneWhen: "greet('Bob') returns 'Good day, Bob'", Scope: "IN: greet.py",
		Files: blackboard.List{"greet.py", "test_*.py", "notes/**"}}
	if change != nil {
		change(&task)
	}
	if _, err := p.Service("").AddTask(t.Context(), verb.NewTask{Task: task}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	return p
}

// Cheating commits, and what catches each of them: the gate of the submission (refused), an
// error finding, by which the gate overrules even a reviewer who approves (rejected), or a
// hint that the reviewer is given in its prompt (told). What no code can tell from honest
// work is in the diff that the reviewer reads, and the row says so (diff).
func TestWhatCatchesEachCheat(t *testing.T) {
	t.Parallel()
	const refused, rejected, told, diff = "refused", "rejected", "told", "diff"
	polite := "def greet(name):\n    return \"Good day, \" + name\n"
	politeTest := strings.ReplaceAll(greeter["test_greet.py"], "Hello", "Good day")
	token := "gh" + "p_" + strings.Repeat("a7Bc9", 8)[:36]
	for _, x := range []struct {
		cheat  string
		files  map[string]string // "-" is deleted
		shell  string            // what the coder does besides, in its worktree
		caught string
		by     string // the guard, or the finding; of a diff, the line of it
	}{
		{"nothing at all", nil, "git commit -q --allow-empty -m done", refused, "G36"},
		{"code without a test", map[string]string{"greet.py": polite}, "", refused, "G40"},
		{"the board itself", map[string]string{"greet.py": polite, "test_greet.py": politeTest}, "mkdir -p .liza && echo x >.liza/state.yaml && git add -f .liza/state.yaml", refused, "G42"},
		{"the configuration of the checks", map[string]string{"greet.py": polite, "test_greet.py": politeTest}, "mkdir -p .liza && echo 'review: {mode: yolo}' >.liza/config.yaml && git add -f .liza/config.yaml",
			rejected, "[error] .liza/config.yaml scope: belongs to Liza or git"},
		{"a secret", map[string]string{"greet.py": polite + "TOKEN = \"" + token + "\"\n", "test_greet.py": politeTest}, "", rejected, "[error] greet.py:3 security: holds a GitHub token"},
		{"a file that holds secrets", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "notes/.env": "A=1\n"}, "", rejected, "[error] notes/.env security: is a file of the kind"},
		{"a test file is deleted", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "test_other.py": "-"}, "", rejected, "[error] test_other.py tests_weakened: was deleted, and its tests with it: test_other"},
		{"a test is deleted", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "test_other.py": "from greet import greet\n"}, "", rejected, "[error] test_other.py tests_weakened: was emptied: no test is left in it: test_other"},
		{"a test is skipped", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "test_other.py": "import pytest\n@pytest.mark.skip\n" + greeter["test_other.py"]}, "", told,
			"[warning] test_other.py:2 tests_weakened: a test is skipped"},
		{"an assertion is loosened", map[string]string{"greet.py": polite, "test_greet.py": strings.ReplaceAll(politeTest, "greet(\"Bob\") == \"Good day, Bob\"", "greet(\"Bob\") is not None")}, "", told,
			"test_greet.py:4 tests_weakened: assertions of exact values became looser"},
		{"an assertion is removed", map[string]string{"greet.py": polite, "test_greet.py": strings.ReplaceAll(politeTest, "    assert greet(\"Ada\") == \"Good day, Ada\"\n", "")}, "", told,
			"tests_weakened: 3 assertions were removed and 2 added"},
		{"a test is emptied", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "test_other.py": "from greet import greet\n\ndef test_other():\n    pass\n"}, "", told,
			"[warning] test_other.py:3 tests_weakened: the test test_other checks nothing"},
		{"a new test that cannot fail", map[string]string{"greet.py": polite, "test_new.py": "def test_new():\n    assert True\n"}, "", told, "[warning] test_new.py:1 tests_weakened: the test test_new checks nothing"},
		{"a special case for the test", map[string]string{"greet.py": "def greet(name):\n    if name == \"Bob\":\n        return \"Good day, Bob\"\n    return \"\"\n", "test_greet.py": politeTest}, "", told,
			"[info] greet.py:2 tests_weakened: a special case for a value of the tests"},
		{"the expected value in the code", map[string]string{"greet.py": "def greet(name):\n    return ANSWERS[len(name)]\nANSWERS = [\"\", \"\", \"\", \"Good day, Bob\"]\n", "test_new.py": "from greet import greet\n\ndef test_new():\n    assert greet(\"Bob\") == \"Good day, Bob\"\n"}, "", diff,
			`+ANSWERS = ["", "", "", "Good day, Bob"]`},
		{"a file out of scope", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "data.txt": "other\n"}, "", told, "[warning] data.txt scope: is outside of the task's files"},
		{"a generated binary", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "notes/tool": "\x7fELF\x00\x01"}, "", told, "[warning] notes/tool security: is a new binary file"},
		{"a lock file alone", map[string]string{"greet.py": polite, "test_greet.py": politeTest, "package-lock.json": "{\"evil\": 1}\n"}, "", told, "[warning] package-lock.json security: changed without its manifest"},
		{"a dangerous mode", map[string]string{"greet.py": polite, "test_greet.py": politeTest}, "chmod +x data.txt", told, "[warning] data.txt security: became executable"},
		{"a link to the outside", map[string]string{"greet.py": polite, "test_greet.py": politeTest}, "mkdir notes && ln -s /etc/passwd notes/users", rejected, "[error] notes/users security: is a symbolic link that leads out"},
	} {
		t.Run(x.cheat, func(t *testing.T) {
			t.Parallel()
			p := cheater(t, nil)
			dir := p.Repo.WorktreePath("task-1")
			for name, text := range x.files {
				if text == "-" {
					p.Git(dir, "rm", "-q", name)
				} else {
					verbtest.Write(t, filepath.Join(dir, name), text)
				}
			}
			p.Shell(dir, x.shell)
			p.Git(dir, "add", "-A")
			p.Git(dir, "commit", "-q", "--allow-empty", "-m", "work")
			_, err := p.Service("coder-1").Submit(t.Context(), verb.SubmitInput{Task: "task-1"})
			var r *transition.Refusal
			if x.caught == refused {
				if !errors.As(err, &r) || r.Guard != x.by {
					t.Errorf("the submission gives %v, want a refusal by %s", err, x.by)
				}
				t.Logf("%s: %s by the submission: %v", x.cheat, refused, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			prompts, _ := reviewed(t, p, "task-1", approves)
			wantPrompt(t, prompts, 1, x.by)
			status := map[string]blackboard.Status{rejected: blackboard.Rejected, told: blackboard.Approved, diff: blackboard.Approved}[x.caught]
			if got := p.State().Task("task-1").Status; got != status {
				t.Errorf("task-1 is %s, want %s", got, status)
			}
			if strings.Contains(prompts[0], token) {
				t.Error("the reviewer is shown the secret")
			}
			t.Logf("%s: %s: %s", x.cheat, x.caught, x.by)
		})
	}
}
