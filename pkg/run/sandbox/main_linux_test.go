package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if args, ok := Entered(os.Args[1:]); ok {
		os.Exit(Enter(args))
	}
	if Attempted(os.Args[1:], os.Stdout, nil) {
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "choose" {
		level, reason, err := Choose("auto", "", Detect(context.Background()))
		fmt.Println(level, reason, err)
		_, _, err = Choose("auto", Closed, Detect(context.Background()))
		fmt.Println(err)
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "group" { // of a run
		folders, err := groups{os.Args[2]: nil}.make()
		fmt.Println(os.Getpid(), folders, err)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "own" {
		own()
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "attack" {
		attack(os.Args[2])
		return
	}
	if strings.HasPrefix(os.TempDir(), "/dev/shm") { // partial lets programs make files there, and another user may not enter
		os.Setenv("TMPDIR", "/tmp")
	}
	os.Exit(m.Run())
}

// A place is a small project with what a run may have, and what it may not.
type place struct {
	t    *testing.T
	root string
	spec Spec
	uid  int // who the run is; 0: this user
}

// newPlace makes a repository with a board, the worktrees of two tasks, a home with secrets and settings, and the
// Spec of a run in the first worktree.
func newPlace(t *testing.T, level Level) place {
	t.Helper()
	f := Detect(t.Context())
	if level == Closed && f.Strongest() != Closed {
		t.Skip("NOT RUN: this machine cannot make a closed wall")
	}
	if level == Partial && f.Strongest() == Open {
		t.Skip("NOT RUN: this machine has no Landlock")
	}
	root, err := os.MkdirTemp("", "wall")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	p := place{t: t, root: root}
	for name, text := range map[string]string{
		"repo/README":                 "of the repository\n",
		"repo/.liza/state.yaml":       "the board\n",
		"repo/.worktrees/one/file":    "mine\n",
		"repo/.worktrees/two/file":    "of a neighbour\n",
		"home/.bashrc":                "of the person\n",
		"home/.ssh/id":                "a secret\n",
		"home/.agent/settings.json":   "settings\n",
		"home/.agent/sessions/before": "a session\n",
		"run/x":                       "",
		"private/home/x":              "",
		"private/tmp/x":               "",
	} {
		p.file(name, text)
	}
	liza := p.copySelf()
	p.spec = Spec{
		Level: level, Liza: liza,
		Dir: p.path("repo/.worktrees/one"), Read: []string{p.path("repo"), p.path("run")}, Write: []string{p.path("repo/.worktrees/one")},
		Hide: []string{p.path("repo/.liza"), p.path("repo/.worktrees")},
		Home: p.path("private/home"), Person: p.path("home"), HomeRead: []string{".agent/settings.json"}, HomeWrite: []string{".agent/sessions"},
		Tmp: p.path("private/tmp"),
	}
	return p
}

// copySelf puts the test binary where any user can run it.
func (p place) copySelf() string {
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	to := p.path("liza")
	if err := os.Link(self, to); err == nil {
		return to
	}
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return to
}

func (p place) path(name string) string { return filepath.Join(p.root, name) }

func (p place) file(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// as gives the place to another user.
func (p place) as(uid int) place {
	p.t.Helper()
	if os.Getuid() != 0 {
		p.t.Skip("NOT RUN: only root can be another user")
	}
	p.uid = uid
	p.own(p.root)
	return p
}

func (p place) own(top string) {
	p.t.Helper()
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		if err != nil || path == p.path("liza") {
			return err
		}
		return os.Lchown(path, p.uid, p.uid)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// command is a program in the wall, ready to be started.
func (p place) command(argv ...string) *exec.Cmd {
	p.t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		p.t.Fatal(err)
	}
	f := Detect(p.t.Context())
	if p.uid > 0 { // what it would find itself
		f.LimitsOwn, f.Cgroups = true, Cgroups{}
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C", "ROOT=" + p.root, "LEVEL=" + string(p.spec.Level), "HOME=" + p.spec.Person}
	c, err := p.spec.Command(f, path, argv, env)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.uid > 0 { // the links that were made in it
		p.own(p.spec.Home)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	p.t.Cleanup(cancel)
	x := exec.CommandContext(ctx, c.Path)
	x.Args, x.Env, x.Dir = c.Argv, c.Env, p.spec.Dir
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if p.uid > 0 {
		x.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
	}
	if len(c.Groups) > 0 { // what a reaper does, by a shell
		var enter strings.Builder
		for _, dir := range c.Groups {
			fmt.Fprintf(&enter, "echo 0 > %s/cgroup.procs && ", dir)
			p.t.Cleanup(func() {
				look := time.NewTicker(10 * time.Millisecond) // the kernel takes the processes out of it a moment after their end
				defer look.Stop()
				for range 500 {
					if os.Remove(dir) == nil {
						return
					}
					<-look.C
				}
				p.t.Errorf("the control group %s cannot be removed", dir)
			})
		}
		x.Path, x.Args = "/bin/sh", slices.Concat([]string{"sh", "-c", enter.String() + `exec "$@"`, "sh", c.Path}, c.Argv[1:])
	}
	return x
}

// sh runs a shell script in the wall.
func (p place) sh(script string) (out string, code int) {
	p.t.Helper()
	return p.run("sh", "-c", script)
}

func (p place) run(argv ...string) (string, int) {
	p.t.Helper()
	x := p.command(argv...)
	var out bytes.Buffer
	x.Stdout, x.Stderr = &out, &out
	err := x.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return out.String(), x.ProcessState.ExitCode()
}

// levels runs a test at each level that this machine has, as this user and as another one.
func levels(t *testing.T, test func(t *testing.T, p place)) {
	for _, level := range []Level{Closed, Partial} {
		for _, uid := range []int{0, 1000} {
			name := string(level)
			if uid > 0 {
				name += " as another user"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, level)
				if uid > 0 {
					p = p.as(uid)
				}
				test(t, p)
			})
		}
	}
}

func TestAProgramRunsInTheWallAndItsExitCodeIsKept(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		for code := range 3 {
			if out, got := p.sh("echo $HOME; exit " + string(rune('0'+code))); got != code || out != p.spec.Home+"\n" {
				t.Errorf("got exit code %d and %q", got, out)
			}
		}
	})
}

// As a package manager installs it, without its folder: node looks for modules beside the file that a link leads to.
func TestAProgramThatIsALinkFindsTheFilesBesideIt(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		p.file("opt/agent/cli.sh", "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")\"/module\n")
		p.file("opt/agent/module", "loaded")
		link := p.path("bin/agent")
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(p.path("opt/agent/cli.sh"), 0o755), os.Symlink(p.path("opt/agent/cli.sh"), p.path("between")), os.Symlink("../between", link)); err != nil {
			t.Fatal(err)
		}
		p.spec.Tools = append(p.spec.Tools, link, p.path("opt/agent"))
		if out, code := p.run(link); code != 0 || out != "loaded" {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}

func TestARunReadsAndWritesWhatItMay(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		for _, script := range []string{
			"cat $ROOT/repo/README", "cat file; echo more >> file; mkdir -p a/b; mv file a/b; ln a/b/file a/again; mv a/b/file file",
			"cat ~/.agent/settings.json", "cat ~/.agent/sessions/before; echo new > ~/.agent/sessions/new",
			"echo x > $TMPDIR/y; mktemp", "echo x > ~/.cache", "echo x > /dev/null; head -c 4 /dev/urandom | od",
			"cat /proc/self/status", "cd /usr/bin && ls | head -1", "echo '#!/bin/sh' > run; chmod +x run; ./run",
		} {
			if out, code := p.sh("set -e\n" + script); code != 0 {
				t.Errorf("%s: exit code %d: %s", script, code, out)
			}
		}
		if data, err := os.ReadFile(p.path("home/.agent/sessions/new")); err != nil || string(data) != "new\n" {
			t.Errorf("the session is not kept: %q, %v", data, err)
		}
	})
}

func TestWhereNamespacesAreForbiddenPartialIsReached(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Closed) // no namespace can be made inside one
	out, code := p.run(p.spec.Liza, "choose")
	if !strings.HasPrefix(out, "partial agents run partly contained") || !strings.Contains(out, "because bubblewrap cannot make namespaces here: ") ||
		!strings.Contains(out, "the sandbox level 'closed' is required, but 'partial' is the strongest here") || code != 0 {
		t.Errorf("got exit code %d and %q", code, out)
	}
}
