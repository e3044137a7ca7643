package git

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"liza/pkg/code/git/gittest"
)

// The status around a run is asked again as soon as anything has changed in the main checkout, and only then. What is ignored in .liza,
// where the board is, changes all the time.
func TestTheStatusAroundARunIsAskedWhenSomethingChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(".liza/.gitignore", "# ours\n/*\n!/.gitignore\n!/config.yaml\n!/roles/\n")
	f.write(".liza/state.yaml", "1\n")
	b := gittest.NewBreaker(t)
	repo := f.open(f.dir, b.Env())
	look := func() (around Surroundings, commands int) {
		commands = len(b.Commands(func() {
			var err error
			if around, err = repo.Surroundings(t.Context()); err != nil {
				t.Error(err)
			}
		}))
		return around, commands
	}
	remembered := func() bool { // files that changed just now are not relied on
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			if _, commands := look(); commands == 0 {
				return true
			}
		}
		return false
	}
	if !remembered() {
		t.Fatal("it is asked each time")
	}
	for _, c := range []struct {
		name string
		act  func()
		none bool
	}{
		{"the board", func() { f.write(".liza/state.yaml", "2\n"); f.write(".liza/log/x", "2\n") }, true},
		{"a worktree", func() { task1(f) }, true},
		{"a file that changed", func() { f.write("a.txt", "changed\n") }, false},
		{"the same size", func() { f.write("a.txt", "CHANGED\n") }, false},
		{"a mode", func() { must(t, os.Chmod(filepath.Join(f.dir, "a.txt"), 0o755)) }, false},
		{"a new file", func() { f.write("new/new.txt", "new\n") }, false},
		{"a file that is ignored now", func() { f.write(".gitignore", "new/\n") }, false},
		{"a setting of the project", func() { f.write(".liza/config.yaml", "x: 1\n") }, false},
		{"a role", func() { f.write(".liza/roles/r.md", "r\n") }, false},
		{"what is staged", func() { f.git("add", "-A") }, false},
		{"another HEAD", func() { f.git("commit", "-q", "-m", "more") }, false},
		{"a tracked file of the board", func() { f.git("add", "-f", ".liza/state.yaml") }, false},
		{"and its change", func() { f.write(".liza/state.yaml", "3\n") }, false},
		{"a file that is gone", func() { must(t, os.Remove(filepath.Join(f.dir, "a.txt"))) }, false},
		{"a repository inside", func() { f.git("init", "-q", "inside") }, false},
	} {
		c.act()
		around, commands := look()
		if c.none && commands > 0 && !remembered() || !c.none && commands == 0 {
			t.Errorf("%s: %d commands", c.name, commands)
		}
		if fresh, err := f.open(f.dir).Surroundings(t.Context()); err != nil || !maps.Equal(fresh, around) {
			t.Errorf("%s: %v, of a fresh look %v, %v", c.name, around, fresh, err)
		}
		if c.name != "a repository inside" && !remembered() {
			t.Errorf("%s: it is asked each time", c.name)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
