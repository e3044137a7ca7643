package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAPlaceMovesPathsAndTextsBothWays(t *testing.T) {
	t.Parallel()
	p := Place{{"/p/.worktrees/a", "/p"}, {"/p/.liza", "/run/liza"}, {".liza/output", "/run/liza/output"}, {"/p/.liza/tmp/wall-1/tmp", "/tmp"}}
	for outside, inside := range map[string]string{
		"/p/.worktrees/a":           "/p",
		"/p/.worktrees/a/x/y":       "/p/x/y",
		"/p/.worktrees/ab":          "/p/.worktrees/ab",
		"/p/.liza/prompts/a/1.txt":  "/run/liza/prompts/a/1.txt",
		"/p/.liza/tmp/wall-1/tmp/s": "/tmp/s",
		"/usr/bin/git":              "/usr/bin/git",
	} {
		if got := p.Inside(outside); got != inside {
			t.Errorf("%s is %s inside, want %s", outside, got, inside)
		}
		if got := p.Outside(inside); got != outside && inside != outside {
			t.Errorf("%s is %s outside, want %s", inside, got, outside)
		}
	}
	for text, want := range map[string]string{
		"Your folder is /p/.worktrees/a, on branch task/a; the root is /p.":                     "Your folder is /p, on branch task/a; the root is /p.",
		"It is in /p/.worktrees/a.":                                                             "It is in /p.",
		"cd /p/.worktrees/ab && ls /p/.worktrees/a.txt /p/.worktrees/a-b":                       "cd /p/.worktrees/ab && ls /p/.worktrees/a.txt /p/.worktrees/a-b",
		"see .liza/output/a.log and /p/.liza/output/b.log, not x/.liza/output or a.liza/output": "see /run/liza/output/a.log and /run/liza/output/b.log, not x/.liza/output or a.liza/output",
		`{"cwd":"/p/.worktrees/a","x":"/mnt/p/.worktrees/a"}`:                                   `{"cwd":"/p","x":"/mnt/p/.worktrees/a"}`,
		"--dir=/p/.worktrees/a:/p/.liza/tmp/wall-1/tmp/x":                                       "--dir=/p:/tmp/x",
	} {
		if got := p.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if text := "/p/.worktrees/a"; Place(nil).Text(text) != text || Place(nil).Inside(text) != text {
		t.Error("where nothing is moved, a path changed")
	}
	if got := p.environment([]string{"PATH=/p/.worktrees/a/bin:/usr/bin", "PWD=/p/.worktrees/a"}); !slices.Equal(got, []string{"PATH=/p/.worktrees/a/bin:/p/bin:/usr/bin", "PWD=/p"}) {
		t.Errorf("the environment is %q", got)
	}
	one := Place{{"/p/.worktrees/a", "/p"}, {"/p/tools/npm", "/run/liza/checkout/tools/npm"}} // a program of the person's checkout
	if got := one.environment([]string{"PATH=/p/tools:/usr/bin"}); !slices.Equal(got, []string{"PATH=/p/tools:/run/liza/checkout/tools:/usr/bin"}) {
		t.Errorf("the environment is %q", got)
	}
}

func TestAtClosedTheFolderOfARunStandsWhereItsPlaceSays(t *testing.T) {
	t.Parallel()
	s, root := fakePlace(t)
	s.Read, s.Hide = []string{s.Liza}, nil
	s.Place = Place{{s.Dir, root + "/repo"}, {root + "/repo/.git", "/run/liza/git"}, {s.Home, "/run/liza/home"}, {s.Tmp, "/tmp"}}
	s.Files = []Mount{{root + "/repo/.env", s.Dir + "/.git"}}
	c, err := s.Command(Capabilities{Bwrap: "/usr/bin/bwrap", LimitsOwn: true}, filepath.Join(root, "tools/bin/agent"), []string{"agent", "--in", s.Dir}, []string{"PWD=" + s.Dir})
	if err != nil {
		t.Fatal(err)
	}
	args := strings.ReplaceAll(strings.Join(c.Argv, " "), root, "ROOT")
	for _, want := range []string{"--bind ROOT/repo/.worktrees/one ROOT/repo --ro-bind ROOT/repo/.env ROOT/repo/.git ", "--bind ROOT/folders/one /run/liza/git/worktrees/one ",
		"--bind ROOT/run/home /run/liza/home ", "--bind ROOT/home/.agent/sessions /run/liza/home/.agent/sessions ", "--bind ROOT/run/tmp /tmp ", "--chdir ROOT/repo -- ",
		`"Dir":"ROOT/repo"`, `"Write":["ROOT/repo"]`, `"Home":"/run/liza/home"`, `"Tmp":"/tmp"`, "-- agent --in ROOT/repo"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is missing in\n%s", want, args)
		}
	}
	if strings.Contains(args, "ROOT/repo/.worktrees/one ROOT/repo/.worktrees/one") {
		t.Errorf("it is at its own path too:\n%s", args)
	}
	if want := []string{"PWD=" + root + "/repo", "HOME=/run/liza/home", "TMPDIR=/tmp"}; !slices.Equal(c.Env[:3], want) {
		t.Errorf("the environment is %q, want %q", c.Env, want)
	}
}
