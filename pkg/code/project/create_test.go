package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// fill writes what init writes.
func fill(dir string) error {
	for _, name := range []string{"state.yaml", "state.yaml.lock", "log.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# "+name), 0o644); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(dir, "prompts"), 0o755)
}

var complete = []string{".gitignore", "log.yaml", "prompts", "state.yaml", "state.yaml.lock"}

func at(t *testing.T, dir string) *Project {
	t.Helper()
	p, err := At(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCreateMakesTheWholeFolder(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	p := at(t, root)
	if err := p.Create(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	wantNames(t, p.Liza, complete...)
	wantNames(t, root, ".git", ".liza")
	write(t, filepath.Join(p.Liza, "roles/mine.yaml"), "")
	write(t, filepath.Join(p.Liza, "output/task-1.log"), "")
	gitIn(t, root, "add", "-A")
	cmd := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files")
	if out, err := cmd.Output(); err != nil || string(out) != ".liza/.gitignore\n.liza/roles/mine.yaml\n" {
		t.Errorf("git tracks %q, %v", out, err)
	}
	if err := p.Create(t.Context(), fill); !errors.Is(err, ErrInitialised) {
		t.Errorf("a second time: got %v", err)
	}
}

func TestARefusedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	p := at(t, root)
	no := errors.New("the branch exists")
	err := p.Create(t.Context(), func(dir string) error { return errors.Join(fill(dir), no) })
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = p.Create(ctx, func(dir string) error { cancel(); return fill(dir) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantNames(t, root, ".git")
}

func TestWhatAPersonWroteIsKept(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	p := at(t, root)
	for _, name := range []string{"config.yaml", "roles/mine.yaml", "skills/x/skill.yaml", "instructions.md", ".gitignore"} {
		write(t, filepath.Join(p.Liza, name), "a person's "+name)
	}
	if err := p.Create(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	wantNames(t, p.Liza, ".gitignore", "config.yaml", "instructions.md", "log.yaml", "prompts", "roles", "skills", "state.yaml", "state.yaml.lock")
	wantNames(t, root, ".git", ".liza")
	for _, name := range []string{"config.yaml", "roles/mine.yaml", ".gitignore"} {
		if got := content(t, filepath.Join(p.Liza, name)); got != "a person's "+name {
			t.Errorf("%s is now %q", name, got)
		}
	}
}

func TestCreateWorksThroughALink(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	elsewhere := filepath.Join(t.TempDir(), "board")
	if err := errors.Join(os.Mkdir(elsewhere, 0o755), os.Symlink(elsewhere, filepath.Join(root, ".liza"))); err != nil {
		t.Fatal(err)
	}
	if err := at(t, root).Create(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	wantNames(t, elsewhere, complete...)
	wantNames(t, filepath.Dir(elsewhere), "board")
}

func TestAProjectThatLostItsStateIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	p := at(t, repository(t, t.TempDir()))
	write(t, p.Journal(), "- {rev: 7}\n")
	err := p.Create(t.Context(), fill)
	var e *Error
	if !errors.As(err, &e) || e.Next != "liza restore" || !strings.Contains(e.Message, "log.yaml") {
		t.Errorf("got %v", err)
	}
	wantNames(t, p.Liza, "log.yaml")
}

// deadPID is the number of a process that has ended.
func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestACreateThatWasKilledWhileItMovedFilesIsDoneAgain(t *testing.T) {
	t.Parallel()
	order := []string{"log.yaml", "prompts", "state.yaml.lock", "state.yaml"} // state.yaml last
	for moved := range len(order) + 1 {
		t.Run(fmt.Sprintf("after %d files", moved), func(t *testing.T) {
			t.Parallel()
			root := repository(t, t.TempDir())
			p := at(t, root)
			write(t, filepath.Join(p.Liza, "config.yaml"), "a person's")
			write(t, filepath.Join(p.Liza, ".gitignore"), "a person's")
			temp := filepath.Join(root, fmt.Sprintf("%s%d", tempPrefix, deadPID(t)))
			if err := os.Mkdir(temp, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := fill(temp); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(temp, ".gitignore"), Ignore)
			write(t, filepath.Join(temp, manifest), strings.Join(order, "\n"))
			for _, name := range order[:moved] {
				if err := os.Rename(filepath.Join(temp, name), filepath.Join(p.Liza, name)); err != nil {
					t.Fatal(err)
				}
			}
			err := p.Create(t.Context(), fill)
			if done := moved == len(order); done != errors.Is(err, ErrInitialised) || !done && err != nil {
				t.Fatalf("got %v", err)
			}
			wantNames(t, p.Liza, ".gitignore", "config.yaml", "log.yaml", "prompts", "state.yaml", "state.yaml.lock")
			wantNames(t, root, ".git", ".liza")
			if got := content(t, filepath.Join(p.Liza, "config.yaml")); got != "a person's" {
				t.Errorf("config.yaml is now %q", got)
			}
		})
	}
}

// TestMain lets the test binary be the process that is killed in the middle of Create.
func TestMain(m *testing.M) {
	if root := os.Getenv("PROJECT_TEST_KILLED_IN"); root != "" {
		p, err := At(root)
		if err == nil {
			err = p.Create(context.Background(), func(dir string) error {
				_ = fill(dir)
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			})
		}
		fmt.Fprintln(os.Stderr, "still alive:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// P-009.
func TestCrashOfCreateLeavesNoProject(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "PROJECT_TEST_KILLED_IN="+root)
	if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("the process was to be killed: %v\n%s", err, out)
	}
	if _, err := Find(t.Context(), root, ""); !errors.Is(err, ErrNotInitialised) {
		t.Errorf("got %v", err)
	}
	if len(names(t, root)) != 2 { // .git and the temporary folder
		t.Errorf("the killed process left %q", names(t, root))
	}
	p := at(t, root)
	if err := p.Create(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	wantNames(t, p.Liza, complete...)
	wantNames(t, root, ".git", ".liza")
}

func TestOfManyCreatesOneWins(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	write(t, filepath.Join(root, ".liza/config.yaml"), "")
	var won, lost atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			p, err := At(root)
			if err == nil {
				err = p.Create(t.Context(), fill)
			}
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ErrInitialised):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 || lost.Load() != 7 {
		t.Errorf("%d won, %d were told that it exists", won.Load(), lost.Load())
	}
	wantNames(t, root, ".git", ".liza")
}
