package project

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository makes a git repository with one commit and gives its real path.
func repository(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "start")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func initialised(t *testing.T, dir string) string {
	t.Helper()
	root := repository(t, dir)
	write(t, filepath.Join(root, ".liza/state.yaml"), "version: 1\n")
	return root
}

func TestAProjectIsFoundFromEverywhereInIt(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := initialised(t, filepath.Join(base, "project"))
	write(t, filepath.Join(root, "deep/er/file"), "")
	gitIn(t, root, "worktree", "add", "-q", "-b", "task/task-1", filepath.Join(root, ".worktrees/task-1"))
	gitIn(t, root, "worktree", "add", "-q", "-b", "elsewhere", filepath.Join(base, "elsewhere"))
	if err := os.Symlink(root, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for _, start := range []string{root, root + "/deep/er", root + "/.liza", root + "/.worktrees", root + "/.worktrees/task-1", base + "/elsewhere", base + "/link/deep"} {
		p, err := Find(t.Context(), start, "")
		if err != nil {
			t.Errorf("from %s: %v", start, err)
			continue
		}
		if p.Root != root || p.GitDir != filepath.Join(root, ".git") || p.Liza != filepath.Join(root, ".liza") {
			t.Errorf("from %s: got %+v", start, p)
		}
	}
}

func TestTheNearestRepositoryWithAProjectCounts(t *testing.T) {
	t.Parallel()
	outer := initialised(t, filepath.Join(t.TempDir(), "outer"))
	plain := repository(t, filepath.Join(outer, "plain"))
	inner := initialised(t, filepath.Join(outer, "a/inner"))
	source := repository(t, filepath.Join(t.TempDir(), "source"))
	gitIn(t, outer, "submodule", "add", "-q", source, "module")
	for start, want := range map[string]string{plain: outer, inner: inner, filepath.Join(outer, "a"): outer, filepath.Join(outer, "module"): outer} {
		p, err := Find(t.Context(), start, "")
		if err != nil || p.Root != want {
			t.Errorf("from %s: got %+v, %v, want %s", start, p, err, want)
		}
	}
	// A root that is named wins, and then only that repository counts.
	if p, err := Find(t.Context(), inner, outer); err != nil || p.Root != outer {
		t.Errorf("with a root: got %+v, %v", p, err)
	}
	if _, err := Find(t.Context(), inner, plain); !errors.Is(err, ErrNotInitialised) {
		t.Errorf("with a root that is not a project: got %v", err)
	}
}

func TestEachReasonWhyThereIsNoProjectHasItsSentence(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	repository(t, filepath.Join(base, "plain"))
	cloned := repository(t, filepath.Join(base, "cloned"))
	write(t, filepath.Join(cloned, ".liza/config.yaml"), "version: 1\n")
	write(t, filepath.Join(cloned, ".liza/.gitignore"), Ignore)
	gitIn(t, base, "init", "-q", "--bare", "bare.git")
	gitIn(t, base, "clone", "-q", "--bare", repository(t, filepath.Join(base, "source")), "beside/.bare")
	gitIn(t, filepath.Join(base, "beside/.bare"), "worktree", "add", "-q", "-b", "work", "../main", "HEAD")
	write(t, filepath.Join(base, "folder/file"), "")
	dangling := repository(t, filepath.Join(base, "dangling"))
	if err := os.Symlink(filepath.Join(base, "nowhere"), filepath.Join(dangling, ".liza")); err != nil {
		t.Fatal(err)
	}
	aFile := repository(t, filepath.Join(base, "a-file"))
	write(t, filepath.Join(aFile, ".liza"), "")
	tests := []struct {
		start, text, next string
		reason            error
	}{
		{"folder", "not a git repository", "git init", ErrNoRepository},
		{"plain", "Liza is not initialised in ", "liza init GOAL", ErrNotInitialised},
		{"cloned", "Liza is not initialised in ", "liza init GOAL", ErrNotInitialised},
		{"bare.git", "a bare repository has no checkout", "git clone ", ErrBare},
		{"beside/main", "a worktree of the bare repository ", "git clone ", ErrBare},
		{"dangling", "it is a link to a folder that is not there", "ls -ld ", nil},
		{"a-file", "it is not a folder", "ls -ld ", nil},
		{"missing", "no such file or directory", "cd PROJECT", nil},
	}
	for _, tt := range tests {
		t.Run(tt.start, func(t *testing.T) {
			t.Parallel()
			start := filepath.Join(base, tt.start)
			for _, root := range []string{"", start} {
				_, err := Find(t.Context(), start, root)
				var e *Error
				if !errors.As(err, &e) || !strings.Contains(e.Message, tt.text) || !strings.HasPrefix(e.Next, tt.next) {
					t.Fatalf("root %q: got %v", root, err)
				}
				if tt.reason != nil && !errors.Is(err, tt.reason) {
					t.Errorf("root %q: %v is not %v", root, err, tt.reason)
				}
			}
		})
	}
}

func TestAProjectWithoutItsStateIsStillOne(t *testing.T) {
	t.Parallel()
	root := initialised(t, t.TempDir())
	if err := os.Rename(filepath.Join(root, ".liza/state.yaml"), filepath.Join(root, ".liza/state.yaml.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), root, ""); err != nil {
		t.Error(err)
	}
}

func TestLizaMayBeALinkToAFolder(t *testing.T) {
	t.Parallel()
	root := repository(t, t.TempDir())
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "state.yaml"), "version: 1\n")
	if err := os.Symlink(elsewhere, filepath.Join(root, ".liza")); err != nil {
		t.Fatal(err)
	}
	p, err := Find(t.Context(), root, "")
	if err != nil || p.Liza != filepath.Join(root, ".liza") {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestASearchThatIsCancelledEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, repository(t, t.TempDir()), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPathsAreThoseOfTheProtocol(t *testing.T) {
	t.Parallel()
	p := &Project{Root: "/r", GitDir: "/r/.git", Liza: "/r/.liza"}
	for got, want := range map[string]string{
		p.State():                     "/r/.liza/state.yaml",
		p.Lock():                      "/r/.liza/state.yaml.lock",
		p.Journal():                   "/r/.liza/log.yaml",
		p.Alerts():                    "/r/.liza/alerts.log",
		p.OpenAlerts():                "/r/.liza/alerts.json",
		p.AlertsLock():                "/r/.liza/alerts.lock",
		p.Escalation():                "/r/.liza/ESCALATION",
		p.Roles():                     "/r/.liza/roles",
		p.Skills():                    "/r/.liza/skills",
		p.Instructions():              "/r/.liza/instructions.md",
		p.ArchiveDir():                "/r/.liza/archive",
		p.Archive("sprint-1"):         "/r/.liza/archive/sprint-1.yaml",
		p.HistoryDir("_planner"):      "/r/.liza/history/_planner",
		p.Prompt("task-1", 3):         "/r/.liza/prompts/task-1/3.txt",
		p.Output("task-1"):            "/r/.liza/output/task-1.log",
		p.OutputAgent("planner-1"):    "/r/.liza/output/planner-1.log",
		p.CheckLog("task-1", "scope"): "/r/.liza/output/task-1.check-scope.log",
		p.SetupLog("task-1"):          "/r/.liza/output/task-1.setup.log",
		p.IntegrationLog("task-1", 2): "/r/.liza/output/integration-task-1-2.log",
		p.Checkpoints():               "/r/.liza/checkpoints",
		p.SprintSummary():             "/r/.liza/sprint_summary.md",
		p.BreakerReport():             "/r/.liza/circuit_breaker_report.md",
		p.Usage():                     "/r/.liza/usage.jsonl",
		p.Notifications():             "/r/.liza/notifications.jsonl",
		p.NotifyLock():                "/r/.liza/notify.lock",
		p.SummarizeLock():             "/r/.liza/summarize.lock",
		p.Tmp():                       "/r/.liza/tmp",
		p.ExitSchema():                "/r/.liza/tmp/exit-schema.json",
		p.StrictSchema("coder"):       "/r/.liza/tmp/exit-schema-coder.json",
		p.Secrets():                   "/r/.liza/secrets",
		p.Worktree("task-1"):          "/r/.worktrees/task-1",
		p.ReviewWorktree("task-1"):    "/r/.worktrees/.review-task-1",
		p.Snapshots():                 "/r/.git/liza/snapshots",
		p.Committed():                 "/r/.git/liza/committed",
		p.GitLock():                   "/r/.git/liza/git.lock",
		p.MergeLock():                 "/r/.git/liza/merge.lock",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestControlFilesAreReadAsPeopleMakeThem(t *testing.T) {
	t.Parallel()
	changed := time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)
	written := time.Date(2026, 1, 19, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		name, content string
		since         time.Time
		reason        string
	}{
		{"touched", "", changed, ""},
		{"time and reason", "2026-01-19T12:30:00Z\nlunch break\nmore\n", written, "lunch break"},
		{"time of another zone", "2026-01-19T13:30:00+01:00\r\nlunch\r\n", written, "lunch"},
		{"time alone", "2026-01-19T12:30:00Z", written, ""},
		{"reason alone", "the disk is full\n", changed, "the disk is full"},
		{"reason in line 2", "\nthe disk is full\n", changed, "the disk is full"},
		{"rubbish", "\xff\xfe\x00", changed, "\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &Project{Liza: t.TempDir()}
			path := filepath.Join(p.Liza, "PAUSE")
			write(t, path, tt.content)
			if err := os.Chtimes(path, changed, changed); err != nil {
				t.Fatal(err)
			}
			o, ok := p.Controls().Order(Pause)
			if want := (Order{Pause, tt.since, changed, tt.reason}); !ok || o != want {
				t.Errorf("got %+v, %t, want %+v", o, ok, want)
			}
		})
	}
}

func TestAbortWinsOverTheOtherControlFiles(t *testing.T) {
	t.Parallel()
	p := &Project{Liza: t.TempDir()}
	at := time.Date(2026, 1, 19, 12, 30, 0, 0, time.UTC)
	if got := p.Controls().Orders(); len(got) != 0 {
		t.Errorf("without files: got %v", got)
	}
	for _, c := range []Control{Pause, Checkpoint, Abort} {
		if err := p.Controls().Set(c, "because\nof "+string(c), at); err != nil {
			t.Fatal(err)
		}
		if got := p.Controls().Orders()[0]; got.Control != c || !got.Since.Equal(at) || got.Reason != "because of "+string(c) {
			t.Errorf("after %s: got %+v", c, got)
		}
	}
	if got, want := p.Controls().Orders()[0].String(), "aborted since 2026-01-19T12:30:00Z: because of ABORT"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 2 { // the second time there is nothing to clear
		if err := p.Controls().Clear(Abort); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Controls().Orders(); len(got) != 2 || got[0].Control != Checkpoint || got[1].Control != Pause {
		t.Errorf("after clearing ABORT: got %v", got)
	}
}

func TestAControlFileThatCannotBeReadCounts(t *testing.T) {
	t.Parallel()
	p := &Project{Liza: t.TempDir()}
	if err := os.Mkdir(filepath.Join(p.Liza, "PAUSE"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(p.Liza, "ABORT")); err != nil {
		t.Fatal(err)
	}
	if got := p.Controls().Orders(); len(got) != 2 || got[0].Control != Abort || got[1].Control != Pause {
		t.Errorf("got %v", got)
	}
}

func TestFreeSpaceIsKnownAlsoForAPathThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "not/there/yet")} {
		if mb, known := FreeMB(path); !known || mb < 1 {
			t.Errorf("FreeMB(%s) = %d, %t", path, mb, known)
		}
	}
}
