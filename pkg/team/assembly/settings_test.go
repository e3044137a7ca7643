package assembly

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/config"
	"liza/pkg/code/project"
)

// C-18: a changed configuration acts at the next decision, one that is broken while programs
// run leaves the last good one in force and is told.
func TestABrokenConfigurationLeavesTheLastGoodOne(t *testing.T) {
	t.Parallel()
	liza := filepath.Join(t.TempDir(), ".liza")
	if err := os.Mkdir(liza, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(liza, "config.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var told bytes.Buffer
	e := &Environment{Stderr: &told, Now: time.Now}
	s, err := e.Config(&project.Project{Liza: liza, GitDir: t.TempDir()}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := func(n int) {
		t.Helper()
		if got := s.Get().Orchestration.MaxConcurrentAgents; got != n {
			t.Errorf("the cap is %d, want %d", got, n)
		}
	}
	want(3)
	write("orchestration: {max_concurrent_agents: 5}\n")
	want(5)
	write("orchestration: {max_concurrent_agents: many}\n")
	want(5)
	want(5)
	if n := strings.Count(told.String(), "the last good one stays"); n != 1 {
		t.Errorf("told %d times: %s", n, &told)
	}
	write("orchestration: [\n")
	want(5)
	write("orchestration: {max_concurrent_agents: 12}\n")
	want(12)
	if err := os.Remove(filepath.Join(liza, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	want(12) // a file that is gone changes nothing
	write("{}\n")
	want(3)
}

// A person who switches branches, or stashes, does not take a check or a limit from a running team, nor from the next one. What a
// person writes into the file acts at once.
func TestGitDoesNotWeakenTheSettings(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	liza := filepath.Join(root, ".liza")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(liza, 0o755), os.WriteFile(filepath.Join(liza, "config.yaml"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.invalid"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	const strict, loose = "integration: {checks: [make test]}\nlimits: {sprint_cost_cents: 60}\n", "integration: {checks: []}\nlimits: {sprint_cost_cents: 4000}\n"
	command("init", "-q", "-b", "main", ".")
	command("commit", "-q", "--allow-empty", "-m", "start")
	command("branch", "old")
	command("switch", "-q", "-c", "loose")
	write(loose)
	command("add", "-A")
	command("commit", "-q", "-m", "loose")
	command("switch", "-q", "-c", "team", "old")
	write(strict)
	command("add", "-A")
	command("commit", "-q", "-m", "strict")

	e := &Environment{Stderr: io.Discard, Now: time.Now}
	p := &project.Project{Root: root, Liza: liza, GitDir: filepath.Join(root, ".git")}
	team, err := e.Config(p, false)
	if err != nil {
		t.Fatal(err)
	}
	next := func() *Settings { // of a command that starts now
		t.Helper()
		s, err := e.Config(p, false)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(when string, checks, cents int, held ...string) {
		t.Helper()
		for who, cfg := range map[string]*config.Config{"the team": team.Get(), "a command": next().Get()} {
			if len(cfg.Integration.Checks) != checks || cfg.Limits.SprintCostCents != cents || !slices.Equal(cfg.Held(), held) {
				t.Errorf("%s: %s has the checks %q, %d cents, holding %q; want %d, %d, %q", when, who, cfg.Integration.Checks, cfg.Limits.SprintCostCents, cfg.Held(), checks, cents, held)
			}
		}
	}
	want("at first", 1, 60)
	command("switch", "-q", "old")
	want("on a branch without the file", 1, 60, "")
	command("switch", "-q", "loose")
	want("on a branch with a weaker one", 1, 60, "limits.sprint_cost_cents", "integration.checks")
	command("switch", "-q", "team")
	want("back", 1, 60)
	write("integration: {checks: [make test, make lint]}\nlimits: {sprint_cost_cents: 60}\n")
	want("with a check more", 2, 60)
	command("stash", "-q")
	want("after a stash", 2, 60, "integration.checks")
	command("stash", "pop", "-q")
	want("with the stash back", 2, 60)
	write("limits: {sprint_cost_cents: 500}\n")
	want("after an edit", 0, 500)
}
