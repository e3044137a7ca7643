package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/norace"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/verb/verbtest"
)

// build makes programs of one build in a folder.
func build(t *testing.T, programs ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("reapers and launchers are known on Linux only")
	}
	dir := t.TempDir()
	if err := norace.Build(dir, programs...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Reaper and launcher are liza-spawn beside liza, and that program itself where there is none of the same build.
func TestReaperAndLauncherAreOfTheBuildOfTheirSupervisor(t *testing.T) {
	t.Parallel()
	built := build(t, "liza/cmd/liza", "liza/cmd/liza-spawn")
	stranger := "#!/bin/sh\necho " + runtime.Version() + " of another build\n"
	for name, beside := range map[string]string{"of the same build": "same", "missing": "", "of another build": stranger} {
		for _, level := range []string{"open", "closed"} {
			t.Run(name+" at "+level, func(t *testing.T) {
				t.Parallel()
				if level == "closed" && sandbox.Detect(t.Context()).Strongest() != sandbox.Closed {
					t.Skip("NOT RUN: this machine cannot make a closed wall")
				}
				bin := t.TempDir()
				for _, program := range []string{"liza", "liza-spawn"} {
					if program != "liza-spawn" || beside == "same" {
						if err := os.Link(filepath.Join(built, program), filepath.Join(bin, program)); err != nil {
							t.Fatal(err)
						}
					}
				}
				if beside == stranger {
					if err := os.WriteFile(filepath.Join(bin, "liza-spawn"), []byte(stranger), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				argv := parentOfARun(t, bin, level)
				want := filepath.Join(bin, map[bool]string{true: "liza-spawn", false: "liza"}[beside == "same"])
				if role := map[string]string{"open": "reap", "closed": "wall"}[level]; len(argv) < 2 || argv[0] != want || argv[1] != role {
					t.Errorf("the parent of the program is %q, want %s %s", argv, want, role)
				}
			})
		}
	}
}

// parentOfARun lets an agent hand in a task, and returns the command line of the process that its program is a child of: the
// launcher in a wall, else the reaper.
func parentOfARun(t *testing.T, bin, level string) []string {
	t.Helper()
	p := verbtest.New(t)
	p.AddTask("mine")
	script := filepath.Join(p.Dir, "works.sh")
	verbtest.Write(t, script, "tr '\\0' '\\n' </proc/$PPID/cmdline >parent.md; git add parent.md; git commit -qm Parent; exec liza submit mine\n")
	verbtest.Write(t, filepath.Join(p.Dir, ".liza", "config.yaml"), "agents:\n  default: works\n  works: {command: [sh, "+script+"], prompt: stdin, output: text}\n")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "liza"), "run", "--plain", "--planners", "0", "--coders", "1", "--reviewers", "0")
	cmd.Dir = p.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LIZA_") })
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+p.StateHome(), "LIZA_SANDBOX="+level)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	over := time.Now().Add(time.Minute)
	for range look.C { // nobody reviews, so that it would wait for ever
		if p.State().Task("mine").Status == "READY_FOR_REVIEW" || time.Now().After(over) {
			break
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if status := p.State().Task("mine").Status; status != "READY_FOR_REVIEW" {
		t.Fatalf("the task is %s\n%s", status, out.String())
	}
	return strings.Split(p.Git(p.Dir, "show", "task/mine:parent.md"), "\n")
}

func TestAPersonIsToldThatItIsNotForPeople(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), filepath.Join(build(t, "liza/cmd/liza-spawn"), "liza-spawn")).CombinedOutput()
	if err == nil || string(out) != "liza-spawn is started by liza only\nnext: liza help\n" {
		t.Errorf("got %v and %q", err, out)
	}
}
