package wall

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
)

// A test that a coder committed can write into the cache of its check; go takes results of tests from it unseen.
func TestTheChecksOfATaskWriteNoCacheOfOthers(t *testing.T) {
	t.Parallel()
	writes := func(dir string, job bool) (caches []string) {
		r := contained(t, "claude")
		r.Person.Which = func(program string) string { return "/usr/bin/" + program }
		if r.Dir = filepath.Join(r.Project.Worktrees(), dir); job {
			r.Job, r.Program = true, ""
		}
		s := r.Compose(sandbox.Closed, "").Spec
		written := slices.Clone(s.Write)
		for _, m := range s.Over {
			if m.Target == cacheInside {
				written = append(written, m.Source)
			}
		}
		for _, path := range written {
			if rel, err := filepath.Rel(r.Project.Cache(), path); err == nil && filepath.IsLocal(rel) {
				caches = append(caches, rel)
			}
		}
		return caches
	}
	for dir, want := range map[string]string{"task-1": "checks/task-1", ".review-task-1": "checks/task-1", "task-2": "checks/task-2", "merged": "checks/merged", ".review-.here-12@task-1": "checks/task-1", ".review-.base@task-2": "checks/task-2", ".review-.base": "checks/.merged",
		".check-task-1": "checks/.merged", "../sub": "checks/.merged"} {
		if got := writes(dir, true); !slices.Equal(got, []string{want}) {
			t.Errorf("a check in %s writes the caches %v, want %s", dir, got, want)
		}
	}
	if got := writes("task-1", false); !slices.Equal(got, []string{"agents"}) {
		t.Errorf("an agent writes the caches %v", got)
	}
	r := contained(t, "claude")
	r.Needs = agent.CommonNeeds()
	r.Dir, r.Look, r.Program, r.Merged, r.Settings.Allow.Registries = filepath.Join(r.Project.Worktrees(), "task-1"), true, "", nil, true
	if p := r.Compose(sandbox.Closed, ""); p.Cache != "" || len(p.Hosts) > 0 {
		t.Errorf("what only looks has the cache %q and reaches %v", p.Cache, p.Hosts)
	}
}

func TestTheCacheOfATaskBeginsAsThatOfMergedWork(t *testing.T) {
	t.Parallel()
	p := contained(t, "claude").Project
	merged, own, gone := filepath.Join(p.Cache(), "checks", mergedCache), filepath.Join(p.Cache(), "checks", "task-1"), filepath.Join(p.Cache(), "checks", "task-9")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	write(secret, "secret")
	write(filepath.Join(merged, "go/build/ab"), "built")
	write(filepath.Join(gone, "go/x"), "of a task that is over")
	if err := os.Symlink(secret, filepath.Join(merged, "go/build/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(p.Tmp(), 0o755); err != nil {
		t.Fatal(err)
	}
	beginCache(p, own)
	if text, err := os.ReadFile(filepath.Join(own, "go/build/ab")); err != nil || string(text) != "built" {
		t.Errorf("it begins with %q, %v", text, err)
	}
	if info, err := os.Lstat(filepath.Join(own, "go/build/link")); err == nil && info.Mode().IsRegular() {
		t.Error("what a link leads to was copied")
	}
	agents := filepath.Join(p.Cache(), "agents")
	asMerged(p, agents)
	if text, err := os.ReadFile(filepath.Join(agents, "go/build/ab")); err != nil || string(text) != "built" {
		t.Errorf("that of agents begins with %q, %v", text, err)
	}
	if _, err := os.Lstat(gone); err == nil {
		t.Error("the cache of a task without a worktree is still there")
	}
	write(filepath.Join(own, "go/build/ab"), "poisoned")
	beginCache(p, own)
	for path, want := range map[string]string{filepath.Join(own, "go/build/ab"): "poisoned", filepath.Join(merged, "go/build/ab"): "built"} {
		if text, _ := os.ReadFile(path); string(text) != want {
			t.Errorf("%s is %q, want %q", path, text, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(p.Tmp(), "*")); strings.Contains(strings.Join(left, " "), "cache-") {
		t.Errorf("left are %v", left)
	}
}

func TestTheCacheOfMergedWorkIsMade(t *testing.T) {
	t.Parallel()
	p := &project.Project{Root: t.TempDir()}
	p.Liza = filepath.Join(p.Root, ".liza")
	if err := os.Mkdir(p.Liza, 0o755); err != nil {
		t.Fatal(err)
	}
	w := Plan{Cache: checksCache(p, p.Root)}
	w.caches = []string{filepath.Join(w.Cache, "go")}
	for range 2 {
		if err := w.makeCaches(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Cache(), "checks", mergedCache, "go")); err != nil {
		t.Error(err)
	}
}

// All agents share one cache: what one of them makes of it keeps no other one from starting.
func TestACacheThatARunHasMadeUselessIsMadeAgain(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Person.Which = func(program string) string { return "/usr/bin/" + program }
	p := r.Compose(sandbox.Closed, "")
	if err := os.MkdirAll(p.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "ABORT")
	for i, folder := range p.caches {
		put := func() error { return os.Symlink(gone, folder) }
		if i%2 == 0 {
			put = func() error { return os.WriteFile(folder, nil, 0o600) }
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	_, remove, err := p.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	for _, folder := range p.caches {
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
			t.Errorf("%s is %v: %v", folder, info, err)
		}
	}
	if _, err := os.Lstat(gone); err == nil || len(p.caches) < 3 {
		t.Errorf("of %d folders, one was made where a link leads to", len(p.caches))
	}
}

// Below closed a run can make a link of its worktree's .git, and another run begins while it lives.
func TestTheLinkOfAWorktreeIsNoWayToAnotherFolder(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	if err := os.Symlink(filepath.Join(r.Person.Home, ".ssh"), filepath.Join(r.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if read := r.Compose(sandbox.Partial, "").Spec.Read; slices.Contains(read, filepath.Join(r.Dir, ".git")) {
		t.Errorf("it reads %v", read)
	}
}
