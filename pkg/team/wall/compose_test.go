package wall

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/toolchain"
)

// contained is the run of a program in the worktree of task-1, with what a person's home and a project have.
func contained(t *testing.T, program string) Run {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"p/.liza/state.yaml": "x", "p/.git/config": "x", "p/.worktrees/task-1/go.mod": "module x", "p/go.mod": "module x", "p/agent.sh": "#!/bin/sh",
		"home/.claude/settings.json": "{}", "home/.claude.json": "{}", "home/.claude/.credentials.json": "{}", "home/.ssh/id": "x", "home/data/a": "x", "home/bin/claude": "#!/bin/sh",
		"home/.config/opencode/opencode.json": "{}", "home/.config/opencode/agent/a.md": "x",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := agent.Lookup(program, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	return Run{
		Project: &project.Project{Root: at("p"), Liza: at("p/.liza"), GitDir: at("p/.git")}, Settings: config.Default().SandboxOf(program), Program: program, Needs: a.Info().Needs,
		Argv: []string{"claude", "-p"}, Liza: "/opt/liza", Person: toolchain.On(at("home"), []string{"PATH=" + at("home/bin") + ":/usr/bin:/usr/local/go/bin", "HOME=" + at("home"), "ANTHROPIC_API_KEY=k", "SECRET=s", "GH_TOKEN=t"}),
		Folder: at("run"), Private: at("private"), Dir: at("p/.worktrees/task-1"), Write: true, Read: []string{at("p/.liza/prompts/task-1/1.txt")},
	}
}

// covers reports whether a list has the path, or a folder that it is in.
func covers(list []string, path string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(path+"/", p+"/") })
}

func TestARunHasItsWorktreeAndTheNeedsOfItsProgramAndNothingElse(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	w := r.Compose(sandbox.Closed, "")
	s, home := w.Spec, r.Person.Home
	if !slices.Contains(s.Write, r.Dir) {
		t.Errorf("it writes %v", s.Write)
	}
	for _, path := range s.Write {
		if path != r.Dir && !strings.HasPrefix(path, filepath.Join(r.Project.Liza, "cache")+"/") {
			t.Errorf("it may write %s", path)
		}
	}
	for _, hidden := range []string{r.Project.State(), filepath.Join(r.Project.Worktrees(), "task-2"), filepath.Join(r.Project.GitDir, "liza", "folders")} {
		if covers(slices.Concat(s.Read, s.Write, s.Tools), hidden) && !covers(s.Hide, hidden) {
			t.Errorf("it sees %s", hidden)
		}
	}
	for _, path := range []string{filepath.Join(home, ".ssh/id"), filepath.Join(home, "data"), filepath.Join(r.Project.Root, "agent.sh")} {
		if covers(slices.Concat(s.Read, s.Write, s.Tools), path) {
			t.Errorf("it sees %s", path)
		}
	}
	if !slices.Contains(s.HomeRead, ".claude/settings.json") || !slices.Equal(s.HomeWrite, []string{".claude/.credentials.json"}) || !covers(s.Tools, filepath.Join(home, "bin/claude")) {
		t.Errorf("of the home folder: %v %v %v", s.HomeRead, s.HomeWrite, s.Tools)
	}
	if !slices.Contains(w.Env, "ANTHROPIC_API_KEY=k") || slices.ContainsFunc(w.Env, func(pair string) bool {
		return strings.HasPrefix(pair, "SECRET=") || strings.HasPrefix(pair, "GH_TOKEN=")
	}) {
		t.Errorf("it gets %v", w.Env)
	}
	if !slices.Contains(w.Hosts, "api.anthropic.com") || len(w.Proxy.Hosts) != len(w.Hosts) || slices.ContainsFunc(toolchain.Registries(), func(h string) bool { return slices.Contains(w.Hosts, h) }) {
		t.Errorf("it reaches %v", w.Hosts)
	}
	_, remove, err := w.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{filepath.Join(keptOf(r.Project, "claude"), "any/.claude/projects"), filepath.Join(s.Home, ".claude.json"), s.Tmp} {
		if _, err := os.Stat(there); err != nil {
			t.Errorf("not prepared: %v", err)
		}
	}
	if _, _, err := w.Prepare(); err == nil {
		t.Error("two runs have one private folder")
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Home); err == nil {
		t.Error("the private folder stays")
	}
}

// sorted returns a JSON text with its keys in order and its numbers as they are.
func sorted(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// claude asks in every folder that it does not know whether it is trusted, and its default answer ends it. What a person
// trusts is a field of each folder in the copy of the settings; the person's own file stays as it is.
func TestAProgramIsToldThatThePersonTrustsTheWorktree(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	own := filepath.Join(r.Person.Home, ".claude.json")
	text := `{"numStartups": 12345678901234567890, "projects": {"/other": {"hasTrustDialogAccepted": false}, "` + r.Project.Root + `": {"allowedTools": ["a<b"]}}}`
	if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := r.Compose(sandbox.Closed, "")
	_, remove, err := w.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	for file, want := range map[string]string{
		".claude.json":         `{"numStartups":12345678901234567890,"projects":{"/other":{"hasTrustDialogAccepted":false},"` + r.Project.Root + `":{"allowedTools":["a\u003cb"],"hasTrustDialogAccepted":true}}}`,
		".claude/.claude.json": `{"projects":{"` + r.Project.Root + `":{"hasTrustDialogAccepted":true}}}`,
	} {
		if got, err := os.ReadFile(filepath.Join(w.Spec.Home, file)); err != nil || sorted(t, got) != sorted(t, []byte(want)) {
			t.Errorf("%s is %s, %v; want %s", file, got, err, want)
		}
	}
	if got, _ := os.ReadFile(own); string(got) != text {
		t.Errorf("the person's own settings are now %s", got)
	}
	for name, bad := range map[string]string{"list": "[1]", "cut": "{", "other": `{"projects": 1}`} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := setTrue(file, []string{"projects", "x", "y"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(file); string(got) != bad {
			t.Errorf("%s is now %s", bad, got)
		}
	}
}

func TestWhatTheProjectAllowsIsAdded(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Settings.Allow = config.Allow{Read: []string{"~/data", "agent.sh", "/srv/x"}, Write: []string{"~/out"}, Copy: []string{"~/bin", "/etc/passwd"}, Hosts: []string{"127.0.0.1:11434"}, Env: []string{"SEC*"}, Registries: true}
	r.Settings.Limits.MemoryMB = 3
	w := r.Compose(sandbox.Closed, "")
	s, home := w.Spec, r.Person.Home
	for _, path := range []string{filepath.Join(home, "data"), filepath.Join(r.Project.Root, "agent.sh"), "/srv/x"} {
		if !slices.Contains(s.Read, path) {
			t.Errorf("%s is not shown: %v", path, s.Read)
		}
	}
	if !slices.Contains(s.HomeRead, "data") || !slices.Contains(s.HomeWrite, "out") || !slices.Contains(s.Write, filepath.Join(home, "out")) {
		t.Errorf("of the home folder: %v %v %v", s.HomeRead, s.HomeWrite, s.Write)
	}
	if want := (sandbox.Mount{Source: filepath.Join(home, "bin"), Target: filepath.Join(s.Home, "bin")}); !slices.Contains(w.Copy, want) || len(w.Copy) != 2 {
		t.Errorf("copied are %v", w.Copy)
	}
	if len(s.Local) != 1 || !slices.Contains(w.Hosts, "127.0.0.1:11434") || !slices.Contains(w.Env, "SECRET=s") || s.Limits.Memory != 3<<20 {
		t.Errorf("%v %v %v", w.Hosts, w.Env, s.Limits)
	}
}

func TestAWallIsShutUntilSomethingOfTheRepositoryMayBeWritten(t *testing.T) {
	t.Parallel()
	for allowed, shut := range map[string]bool{"": true, "~/out": true, "/srv/x": true, ".worktrees/task-2": true, "docs": false, ".": false, "/": false, ".git/hooks": false, "..": false} {
		r := contained(t, "claude")
		if allowed != "" {
			r.Settings.Allow = config.Allow{Write: []string{allowed}}
		}
		for _, level := range []sandbox.Level{sandbox.Open, sandbox.Partial, sandbox.Closed} {
			w := &Wall{Plan: r.Compose(level, ""), run: r}
			if got, want := w.Shut(), shut && level == sandbox.Closed; got != want {
				t.Errorf("%q at %s: shut is %v, want %v; it may write %v", allowed, level, got, want, w.Spec.Write)
			}
		}
	}
	if (*Wall)(nil).Shut() {
		t.Error("a run without a wall is shut")
	}
}

// A check has no program's settings, logins and keys, and may download packages of what the integration branch is built with.
func TestAJobHasNothingOfAnAgentProgram(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Program, r.Needs, r.Argv, r.Job = "", agent.CommonNeeds(), []string{"/bin/sh", "-c", "go test ./..."}, true
	w := r.Compose(sandbox.Closed, "")
	if slices.Contains(w.Hosts, "api.anthropic.com") || slices.Contains(w.Env, "ANTHROPIC_API_KEY=k") || len(w.Spec.HomeWrite) > 0 || slices.ContainsFunc(w.Spec.HomeRead, func(p string) bool { return strings.HasPrefix(p, ".claude") }) {
		t.Errorf("it has %v %v %v %v", w.Hosts, w.Env, w.Spec.HomeRead, w.Spec.HomeWrite)
	}
	if len(w.Hosts) > 0 {
		t.Errorf("the go.mod of a task that nobody has reviewed opens %v", w.Hosts)
	}
	if r.Person.Which("go") == "" {
		t.Skip("NOT RUN: go is not installed in /usr")
	}
	opened := func(name string, change func(r *Run)) {
		r := r
		if change(&r); !slices.Contains(r.Compose(sandbox.Closed, "").Hosts, "proxy.golang.org") {
			t.Errorf("packages may not be downloaded with %s", name)
		}
	}
	opened("a go.mod on the integration branch", func(r *Run) { r.Merged = []string{"README.md", "server/go.mod"} })
	opened("a change that was approved, on its way onto the branch", func(r *Run) { r.Dir = r.Project.Root })
	opened("registries that a person has opened", func(r *Run) { r.Settings.Allow.Registries = true })
}

func TestTheGitFolderOfARunIsMountedWhereThatCanBe(t *testing.T) {
	t.Parallel()
	r := contained(t, "opencode")
	r.Git = &git.Folder{Git: "/p/.git/liza/folders/x/git", Target: "/p/.git/worktrees/task-1", Read: []string{"/p/.git/objects"}}
	for level, over := range map[sandbox.Level]int{sandbox.Closed: 3, sandbox.Partial: 0} { // the others are the program's database and the cache
		w := r.Compose(level, "why")
		s := w.Spec
		if len(s.Over) != over || slices.Contains(s.Write, r.Git.Git) != (level == sandbox.Partial) || !slices.Contains(s.Read, "/p/.git/objects") || slices.Contains(s.Read, r.Project.GitDir) || w.Reason != "why" {
			t.Errorf("%s: %+v", level, s)
		}
		_, remove, err := w.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Readlink(filepath.Join(s.Home, ".local/share/opencode"))
		if (err == nil) != (level == sandbox.Partial) {
			t.Errorf("%s: the database is linked: %v", level, err)
		}
		if data, err := os.ReadFile(filepath.Join(s.Home, ".config/opencode/agent/a.md")); err != nil || string(data) != "x" {
			t.Errorf("%s: the settings are not copied: %v", level, err)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	r.Git = nil
	if s := r.Compose(sandbox.Closed, "").Spec; !slices.Contains(s.Read, filepath.Join(r.Project.GitDir, "refs")) || slices.Contains(s.Read, r.Project.GitDir) || slices.Contains(s.Read, filepath.Join(r.Project.GitDir, "config")) || covers(s.Write, r.Project.GitDir) {
		t.Errorf("without a folder: %+v", s)
	}
}

func TestComposeChangesNothingOfWhatItIsGiven(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Settings.Allow.Hosts = append(make([]string, 0, 8), "a.example")
	first := r.Compose(sandbox.Closed, "")
	r.Compose(sandbox.Partial, "")
	if again := r.Compose(sandbox.Closed, ""); !reflect.DeepEqual(first.Spec, again.Spec) || !slices.Equal(first.Hosts, again.Hosts) {
		t.Error("the same run has another wall the second time")
	}
}

// A project that is the home folder shows what git tracks, and no keys.
func TestAProjectThatIsTheHomeFolderShowsOnlyWhatGitTracks(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	home := r.Person.Home
	r.Project = &project.Project{Root: home, Liza: filepath.Join(home, ".liza"), GitDir: filepath.Join(home, ".git")}
	r.Dir, r.Write, r.Tracked = home, false, []string{"data"}
	s := r.Compose(sandbox.Closed, "").Spec
	if covers(s.Read, filepath.Join(home, ".ssh/id")) || !covers(s.Read, filepath.Join(home, "data/a")) {
		t.Errorf("it reads %v", s.Read)
	}
}

// The path of a project has no links; that of a home folder may have one.
func TestAHomeFolderThatIsALinkIsKnown(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	home := r.Person.Home
	link := filepath.Join(t.TempDir(), "ada")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	r.Person = toolchain.On(link, []string{"PATH=/usr/bin"})
	r.Project = &project.Project{Root: home, Liza: filepath.Join(home, ".liza"), GitDir: filepath.Join(home, ".git")}
	r.Dir, r.Write, r.Tracked = home, false, []string{"data"}
	if s := r.Compose(sandbox.Closed, "").Spec; covers(s.Read, filepath.Join(home, ".ssh/id")) {
		t.Errorf("it reads %v", s.Read)
	}
}

// Without a network of its own a program needs the person's way to it; with one it has the run's.
func TestThePersonsProxyIsPassedOnWhereTheRunHasNone(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Person = toolchain.On(r.Person.Home, []string{"PATH=/usr/bin", "HTTPS_PROXY=http://proxy.example:3128"})
	for level, want := range map[sandbox.Level]bool{sandbox.Partial: true, sandbox.Closed: false} {
		if got := slices.Contains(r.Compose(level, "").Env, "HTTPS_PROXY=http://proxy.example:3128"); got != want {
			t.Errorf("%s: passed on %v, want %v", level, got, want)
		}
	}
}

// What a program keeps of conversations in the person's home folder is of other projects, too.
func TestConversationsOfOtherProjectsAreNotShown(t *testing.T) {
	t.Parallel()
	for program, folder := range map[string]string{
		"claude": ".claude/projects", "codex": ".codex/sessions", "gemini": ".gemini/tmp", "qwen": ".qwen/projects", "pi": ".pi/agent/sessions", "cn": ".continue/sessions", "opencode": ".local/share/opencode",
	} {
		for _, level := range []sandbox.Level{sandbox.Closed, sandbox.Partial} {
			r := contained(t, program)
			w := r.Compose(level, "")
			theirs := filepath.Join(r.Person.Home, folder)
			if w.Spec.Sees(theirs) || w.Spec.Sees("~/"+folder) {
				t.Errorf("%s at %s sees %s", program, level, theirs)
			}
			own := sandbox.Mount{Source: filepath.Join(r.Project.Cache(), "home", program, "any", folder), Target: filepath.Join(w.Spec.Home, folder)}
			if !slices.Contains(slices.Concat(w.Spec.Over, w.Link), own) {
				t.Errorf("%s at %s has no folder of the project's own at %s: %v %v", program, level, folder, w.Spec.Over, w.Link)
			}
		}
	}
	for _, of := range []string{"coder+task-1", "code_reviewer+task-1", "coder+task-2"} { // nor those of another role or task
		r := contained(t, "claude")
		r.For = of
		w := r.Compose(sandbox.Closed, "")
		own := filepath.Join(keptOf(r.Project, "claude"), of, ".claude/projects")
		for _, at := range w.Spec.Over {
			if strings.HasPrefix(at.Source, keptOf(r.Project, "claude")) && at.Source != own {
				t.Errorf("%s has %s", of, at.Source)
			}
		}
		if !slices.ContainsFunc(w.Spec.Over, func(m sandbox.Mount) bool { return m.Source == own }) {
			t.Errorf("%s has no folder of its own: %v", of, w.Spec.Over)
		}
	}
	r := contained(t, "claude") // who has moved the folder out of the home folder
	r.Person.Environ = append(slices.Clone(r.Person.Environ), "CLAUDE_CONFIG_DIR=/opt/claude")
	for _, level := range []sandbox.Level{sandbox.Closed, sandbox.Partial} {
		if w := r.Compose(level, ""); w.Spec.Sees("/opt/claude/projects") {
			t.Errorf("at %s it sees /opt/claude/projects", level)
		}
	}
}

// All of /srv is shown, but a project in it is not a part of the machine; and only who judges nobody may trace.
func TestAProjectInAFolderOfTheMachineIsShownByItsPartsOnly(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	for _, looks := range []bool{false, true} {
		r.Look = looks // it has no place of its own
		if s := r.Compose(sandbox.Closed, "").Spec; slices.Contains(s.Hide, r.Project.Root) != looks {
			t.Errorf("hidden are %v of %s", s.Hide, r.Project.Root)
		}
		r.Project = &project.Project{Root: "/srv/p", Liza: "/srv/p/.liza", GitDir: "/srv/p/.git"}
		r.Dir = "/srv/p/.worktrees/task-1"
	}
	r.Look = false
	if s := r.Compose(sandbox.Closed, "").Spec; s.Place.Inside(r.Dir) != "/srv/p" {
		t.Errorf("its folder stands at %s, not in the place of the project", s.Place.Inside(r.Dir))
	}
	for _, c := range []struct{ codes, job, want bool }{{}, {codes: true, want: true}, {job: true, want: true}} {
		r.Codes, r.Job = c.codes, c.job
		if s := r.Compose(sandbox.Closed, "").Spec; s.Traces != c.want {
			t.Errorf("%+v: traces %t", c, s.Traces)
		}
	}
}

// What a program has kept goes with the worktree of its task.
func TestWhatAProgramHasKeptGoesWithTheTask(t *testing.T) {
	t.Parallel()
	p := contained(t, "claude").Project
	for _, dir := range []string{p.Worktree("here"), filepath.Join(keptOf(p, "claude"), "coder+here"), filepath.Join(keptOf(p, "claude"), "coder+gone"), filepath.Join(keptOf(p, "claude"), "code_reviewer+now"), filepath.Join(keptOf(p, "claude"), "planner+")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dropKept(p, "claude", "code_reviewer+now")
	var left []string
	all, _ := os.ReadDir(keptOf(p, "claude"))
	for _, e := range all {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "code_reviewer+now coder+here planner+" {
		t.Errorf("left are %s", got)
	}
}

// A test that makes a repository commits there as the person would; a check finds the remotes of the project, and no password.
func TestAPrivateHomeHasGitsConfiguration(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Home = GitHome{"[user]\n", "[remote]\n"}
	for _, c := range []struct {
		level  sandbox.Level
		own    bool
		shown  []string
		copied int
	}{{sandbox.Closed, false, nil, 2}, {sandbox.Closed, true, nil, 1}, {sandbox.Partial, false, nil, 1}, {sandbox.Closed, false, []string{"~/.gitconfig"}, 0}} {
		r.Git, r.Settings.Allow.Read = nil, c.shown
		if c.own {
			r.Git = &git.Folder{}
		}
		w := r.Compose(c.level, "")
		w.Texts = slices.DeleteFunc(w.Texts, func(m sandbox.Mount) bool { return !safefile.Within(m.Target, w.Spec.Home) && m.Source != "[remote]\n" })
		if len(w.Texts) != c.copied || c.copied > 0 && w.Texts[0] != (sandbox.Mount{Source: "[user]\n", Target: filepath.Join(w.Spec.Home, ".gitconfig")}) {
			t.Errorf("%+v: got %v", c, w.Texts)
		}
	}
}

// A compiler's cache holds for the paths that it has seen: those of packages are the same wherever a run of the project builds.
func TestWhatOnePlaceHasBuiltIsNotBuiltAgain(t *testing.T) {
	t.Parallel()
	agents := contained(t, "claude")
	review, merge := agents, agents
	review.Job, merge.Job = true, true
	merge.Dir = filepath.Join(agents.Project.Worktrees(), ".check-task-1")
	sources := map[string]bool{}
	for _, r := range []Run{agents, review, merge} {
		w := r.Compose(sandbox.Closed, "")
		for _, pair := range []string{"GOCACHE=" + cacheInside + "/go/build", "GOMODCACHE=" + cacheInside + "/go/mod"} {
			if !slices.Contains(w.Env, pair) {
				t.Errorf("%s has no %s: %v", w.Cache, pair, w.Env)
			}
		}
		i := slices.IndexFunc(w.Spec.Over, func(m sandbox.Mount) bool { return m.Target == cacheInside })
		if i < 0 || w.Spec.Over[i].Source != w.Cache || !strings.HasPrefix(w.Cache, r.Project.Cache()+"/") || sources[w.Cache] || covers(w.Spec.Write, w.Cache) {
			t.Errorf("%s is shown: %v", w.Cache, w.Spec.Over)
		}
		sources[w.Cache] = true
		for _, folder := range w.caches {
			if filepath.Dir(folder) != w.Cache {
				t.Errorf("%s would be made outside of %s", folder, w.Cache)
			}
		}
		if p := r.Compose(sandbox.Partial, ""); !covers(p.Spec.Write, p.Cache) || !slices.Contains(p.Env, "GOCACHE="+p.Cache+"/go/build") {
			t.Errorf("at partial: %v", p.Env)
		}
	}
}

func TestACommandOfTheProjectMayInstallHooksThatNothingReads(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	if err := os.MkdirAll(filepath.Join(r.Project.GitDir, "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Project.GitDir, "info/exclude"), []byte("*.o"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Job = true
	w := r.Compose(sandbox.Closed, "")
	for _, name := range []string{"hooks", "info"} {
		if shown := (sandbox.Mount{Source: filepath.Join(r.Private, name), Target: filepath.Join(r.Project.GitDir, name)}); !slices.Contains(w.Spec.Over, shown) {
			t.Errorf("%s: %v", name, w.Spec.Over)
		}
	}
	_, remove, err := w.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(r.Private, "info/exclude")); err != nil || string(text) != "*.o" {
		t.Errorf("info/exclude: %q, %v", text, err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	r.Job = false
	if w := r.Compose(sandbox.Closed, ""); slices.ContainsFunc(w.Spec.Over, func(m sandbox.Mount) bool { return filepath.Base(m.Target) == "hooks" }) {
		t.Errorf("an agent has hooks: %v", w.Spec.Over)
	}
}
