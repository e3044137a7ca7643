package board

import (
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/base/secret"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
)

func secretsWith(name, value string) *secret.Set {
	s := new(secret.Set)
	s.Add(name, value)
	return s
}

// Who calls is told by the processes that the call descends from, the outermost first; what a run sets in its environment changes nothing.
func TestInWhoseRunACallerIs(t *testing.T) {
	t.Parallel()
	here := blackboard.ProcessFacts{Host: "h", BootID: "b"}
	agents := map[string]*blackboard.Agent{
		"coder-1": {Host: "h", BootID: "b", PID: 100, PIDStart: 1, Generation: "g-1", Child: &blackboard.Child{PID: 200, PIDStart: 2}},
		"coder-2": {Host: "other", BootID: "b", PID: 300, PIDStart: 3, Generation: "g-2", Child: &blackboard.Child{PID: 400, PIDStart: 4}},
		"coder-3": {Host: "h", BootID: "before", PID: 500, PIDStart: 5, Child: &blackboard.Child{PID: 600, PIDStart: 6}},
	}
	folder := t.TempDir()
	inside := filepath.Join(folder, "project")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	shell := Ancestor{PID: 1, Start: 1}
	for _, c := range []struct {
		name      string
		root      string
		ancestors []Ancestor // the caller first, the outermost last
		want      string
	}{
		{"a person at a shell", "/p", []Ancestor{{PID: 9}, shell}, ""},
		{"the program of an agent", "/p", []Ancestor{{PID: 9}, {PID: 200, Start: 2}, shell}, "coder-1"},
		{"another process with its pid", "/p", []Ancestor{{PID: 9}, {PID: 200, Start: 7}, shell}, ""},
		{"a pid of another host", "/p", []Ancestor{{PID: 9}, {PID: 400, Start: 4}, shell}, ""},
		{"a pid of another boot", "/p", []Ancestor{{PID: 9}, {PID: 600, Start: 6}, shell}, ""},
		{"the supervisor itself", "/p", []Ancestor{{PID: 100, Start: 1}, shell}, ""},
		{"a command of the supervisor", "/p", []Ancestor{{PID: 9}, {PID: 100, Start: 1}, shell}, transition.NoAgent},
		{"a mark of this project", "/p", []Ancestor{{PID: 9}, {PID: 8, Root: "/p/", Run: "g-9-1", Name: "coder-9"}, shell}, "coder-9"},
		{"a mark without a name", "/p", []Ancestor{{PID: 9, Root: "/p", Run: "g-9-1"}, shell}, transition.NoAgent},
		{"a mark of a registration, after the project moved", "/p", []Ancestor{{PID: 9, Root: "/old", Run: "g-1-4", Name: "coder-1"}, shell}, "coder-1"},
		{"a mark of another project", "/p", []Ancestor{{PID: 9, Root: "/q", Run: "g-7-1", Name: "coder-1"}, shell}, transition.NoAgent},
		{"a project of a test, in the folder of a run of another project", inside, []Ancestor{{PID: 9, Root: "/q", Run: "g-7-1", Name: "coder-1", Folders: []string{folder}}, shell}, ""},
		{"a project beside that folder", "/p", []Ancestor{{PID: 9, Root: "/q", Run: "g-7-1", Name: "coder-1", Folders: []string{folder}}, shell}, transition.NoAgent},
		{"the outermost decides", "/p", []Ancestor{{PID: 9, Root: "/p", Run: "g-1-1", Name: "coder-2"}, {PID: 8, Root: "/p", Run: "g-1-1", Name: "coder-1"}, shell}, "coder-1"},
	} {
		id := Identity{root: c.root, ancestors: c.ancestors, facts: here}
		if got := id.inside(&blackboard.State{Agents: agents}); got != c.want {
			t.Errorf("%s is inside %q, want %q", c.name, got, c.want)
		}
	}
	if got := (Identity{caller: Caller{Inside: "coder-5"}, ancestors: []Ancestor{shell}}).inside(&blackboard.State{}); got != "coder-5" {
		t.Errorf("a call out of the socket of coder-5 is inside %q", got)
	}
}

func TestAFolderHoldsWhatIsBelowItOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder, path string
		want         bool
	}{
		{dir, deep, true}, {deep, deep, true}, {deep, dir, false}, {filepath.Join(dir, "a"), filepath.Join(dir, "ab"), false}, {link, deep, true}, {"a", deep, false}, {"", deep, false},
		{filepath.Join(dir, "gone"), filepath.Join(dir, "gone", "x"), true},
	} {
		if got := holds(c.folder, c.path); got != c.want {
			t.Errorf("%q holds %q: %t, want %t", c.folder, c.path, got, c.want)
		}
	}
}

// A list of callers makes everybody who is not on it a user; without one everybody is admin.
func TestTheRoleOfACaller(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	b := &Session{Config: func() *config.Config { return cfg }}
	for _, name := range []string{"ada", "", "bob"} {
		if got := b.CallerRole(name); got != "admin" {
			t.Errorf("without a list %q is %s, want admin", name, got)
		}
	}
	cfg.Policy.Callers = config.Names{"ada": "admin", "bob": "user"}
	for name, want := range map[string]string{"ada": "admin", "bob": "user", "eve": "user", "": "user"} {
		b.Caller.Person = name
		err := b.AdminOnly("change the settings")
		if got := b.CallerRole(name); got != want || (err == nil) != (want == "admin") {
			t.Errorf("with a list %q is %s (%v), want %s", name, got, err, want)
		}
	}
	b.Caller.Person = "bob"
	var r *transition.Refusal
	if err := b.AdminOnly("change the settings"); !asRefusal(err, &r) || r.Next != "liza config policy.callers" || r.Message != "bob may not change the settings: that takes the role admin (policy.callers), and bob is user" {
		t.Errorf("refused with %v", err)
	}
	// Whose words are answered: the person who calls, else who wrote the note, else who is at the machine.
	s := stateOf()
	s.HumanNotes = []*blackboard.Note{{ID: "n-1", By: "ada", Message: "in metres"}}
	if human, planner := b.CallerOf(s, true), b.CallerOf(s, false); human.Name != "bob" || human.Role != "user" || planner.Name != "ada" || planner.Role != "admin" {
		t.Errorf("a person's request is of %+v and the planner's of %+v; want bob, user and ada, admin", human, planner)
	}
	b.Caller.Person = ""
	if c := b.CallerOf(stateOf(), true); c.Name != "human" {
		t.Errorf("a person without a name is %q", c.Name)
	}
}

// The list of callers is looked at again before each start: who was put on it as user meanwhile has only a user's kinds.
func TestATaskIsNotStartedForWhoMayNotHaveItAnyMore(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	b := &Session{Config: func() *config.Config { return cfg }}
	s := stateOf()
	s.Plans = []*blackboard.Plan{{ID: "plan-1", Caller: &blackboard.Caller{Name: "bob", Role: "admin"}}, {ID: "plan-2"}}
	of := func(plan string) *blackboard.Task { return &blackboard.Task{Plan: plan} }
	for _, c := range []struct {
		callers config.Names
		plan    string
		kind    blackboard.TaskKind
		want    string
	}{
		{nil, "plan-1", "exec", ""},
		{config.Names{"bob": "user"}, "plan-1", "exec", "tasks of kind exec may not be done for bob, whose role is user now (policy.user_kinds)"},
		{config.Names{"bob": "user"}, "plan-1", "code", ""},
		{config.Names{"bob": "admin"}, "plan-1", "exec", ""},
		{config.Names{"ada": "admin"}, "plan-2", "exec", ""},
		{config.Names{"ada": "admin"}, "", "exec", ""},
	} {
		cfg.Policy.Callers = c.callers
		if got := b.MayStart(s, of(c.plan), c.kind); got != c.want {
			t.Errorf("with %v a task of kind %s of %q: %q, want %q", c.callers, c.kind, c.plan, got, c.want)
		}
	}
}

// A spec is a file of the project: nothing outside of it, and nothing that git, Liza or agents have there.
func TestASpecIsAFileOfTheProject(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(root, "specs", "vision.md"), filepath.Join(root, ".git", "config"), filepath.Join(root, ".liza", "state.yaml"), filepath.Join(root, ".worktrees", "a", "a.md"), filepath.Join(outside, "x.md")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"inside.md": filepath.Join(root, "specs", "vision.md"), "outside.md": filepath.Join(outside, "x.md"), "git.md": filepath.Join(root, ".git", "config")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for ref, good := range map[string]bool{
		"specs/vision.md": true, "specs/vision.md#names": true, "./specs/../specs/vision.md": true, "inside.md": true,
		"": false, "#names": false, "/etc/hostname": false, "../x.md": false, "outside.md": false, "git.md": false,
		".git/config": false, ".liza/state.yaml": false, ".worktrees/a/a.md": false, "specs": false, "specs/gone.md": false,
	} {
		path, err := SpecFile(root, ref)
		if (err == nil) != good || good && filepath.Base(path) != "vision.md" {
			t.Errorf("the spec %q is %q, %v; want it found: %t", ref, path, err, good)
		}
	}
}
