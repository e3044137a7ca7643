package review_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/code/review"
)

// An error of the place where a command runs says nothing about the command.
func TestWhyACommandCouldNotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ran    review.Ran
		output string
		want   string
	}{
		{review.Ran{}, "bash: x: command not found\n", ""},
		{review.Ran{ExitCode: 1}, "--- FAIL: TestSum\n", ""},
		{review.Ran{ExitCode: 127, TimedOut: true}, "", ""},
		{review.Ran{ExitCode: 127}, "sh: 1: go: not found\n", "a program is not found (exit code 127: sh: 1: go: not found)"},
		{review.Ran{ExitCode: 126}, "sh: ./t.sh: Permission denied\n", "a program cannot be executed (exit code 126: sh: ./t.sh: Permission denied)"},
		{review.Ran{ExitCode: 2}, "go test ./...\nmake: go: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", "make: go: No such file or directory"},
		{review.Ran{ExitCode: 1}, "cp: error writing 'x': No space left on device\nmore\n", "cp: error writing 'x': No space left on device"},
		{review.Ran{ExitCode: 123}, "liza: the service db was not ready within 30s\n", "the service db was not ready within 30s"},
		{review.Ran{ExitCode: 125}, "cannot contain /usr/bin/sh: no user namespace\nnext: liza doctor\n", "cannot contain /usr/bin/sh: no user namespace"},
		{review.Ran{ExitCode: 128}, "fatal: unable to access: Could not resolve host: example.org\n", "fatal: unable to access: Could not resolve host: example.org"},
		{review.Ran{ExitCode: -1, Err: errors.New("no sandbox")}, "", "no sandbox"},
	} {
		if got := c.ran.Unable(c.output); got != c.want {
			t.Errorf("%+v %q: %q, want %q", c.ran, c.output, got, c.want)
		}
	}
}

// The work is the cause of a command that can run without it, and of failures that it cannot have without it.
func TestACommandIsPreventedWithAndWithoutTheWork(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "base.log")
	if err := os.WriteFile(log, []byte("$ make test\n--- FAIL: TestNet (0.01s)\ndial: connection refused\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	away := review.End{Unable: "dial: connection refused", ExitCode: 1, Log: log}
	for name, c := range map[string]struct {
		base   review.End
		ran    review.Ran
		output string
		want   string
	}{
		"it passes without the work":       {review.End{Log: log}, review.Ran{ExitCode: 127}, "", ""},
		"it fails without the work":        {review.End{Failed: true, ExitCode: 1, Log: log}, review.Ran{ExitCode: 127}, "", ""},
		"nor is the program there without": {review.End{Unable: "not found", ExitCode: 127, Log: log}, review.Ran{ExitCode: 127}, "", "not found"},
		"setup fails without the work":     {review.End{Setup: "npm ci"}, review.Ran{ExitCode: 1}, "", `worktree.setup fails: "npm ci"`},
		"the network is away for both":     {away, review.Ran{ExitCode: 1}, "--- FAIL: TestNet (0.02s)\ndial: connection refused\n", "dial: connection refused"},
		"and the work breaks something":    {away, review.Ran{ExitCode: 1}, "--- FAIL: TestSum (0.02s)\n--- FAIL: TestNet (0.02s)\ndial: connection refused\n", ""},
	} {
		if got := c.base.Prevented(c.ran, "make test", c.output, nil); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
