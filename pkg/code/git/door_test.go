package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// contain has the helper work in a sandbox that shows it what it has to read and nothing else of the files of people.
func (f *fixture) contain(also ...string) {
	f.t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		f.t.Skip("NOT RUN: there is no bubblewrap")
	}
	f.repo.Contain = func(ctx context.Context, h Help) (int, string, error) {
		args := []string{"--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
		for _, at := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc"} {
			args = append(args, "--ro-bind-try", at, at)
		}
		for _, at := range append(h.Reads, also...) {
			args = append(args, "--ro-bind", at, at)
		}
		for _, at := range []string{h.Dir, h.Folder} {
			args = append(args, "--bind", at, at)
		}
		cmd := exec.CommandContext(ctx, bwrap, append(args, "--chdir", h.Dir, "sh", "-c", h.Shell)...)
		cmd.Env = f.repo.env
		out, err := cmd.CombinedOutput()
		if exit, ended := errors.AsType[*exec.ExitError](err); ended {
			return exit.ExitCode(), string(out), nil
		}
		return 0, string(out), err
	}
}

// packsAll is a helper that packs all objects of the run, whatever they are.
func (x *run) packsAll(_ context.Context, h Help) (int, string, error) {
	cmd := exec.Command("sh", "-c", `export GIT_DIR=`+ShellWord(x.folder.Git)+`; cd "$GIT_DIR/objects"
		for o in ??/*; do echo "$o" | tr -d /; done | git pack-objects -q --stdout >`+ShellWord(h.Folder)+`/pack`)
	cmd.Env = x.repo.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 1, string(out), nil
	}
	return 0, "", nil
}

// What a helper may answer that a run has taken over, and what becomes of it.
func TestNothingThatAHelperSaysIsBelieved(t *testing.T) {
	t.Parallel()
	answer := func(name, text string) func(x *run, h Help) {
		return func(x *run, h Help) { writeFile(x.t, filepath.Join(h.Folder, name), text) }
	}
	for name, tt := range map[string]struct {
		act  func(x *run, h Help)
		want string // of the refusal
	}{
		"no pack":           {func(*run, Help) {}, "gives no pack"},
		"a link for a pack": {func(x *run, h Help) { mustDo(x.t, os.Symlink("/etc/passwd", h.Folder+"/pack")) }, "it is a link, not a file"},
		"a pipe for a pack": {func(x *run, h Help) { mustDo(x.t, syscall.Mkfifo(h.Folder+"/pack", 0o600)) }, "it is a named pipe, not a file"},
		"a folder":          {func(x *run, h Help) { mustDo(x.t, os.Mkdir(h.Folder+"/pack", 0o700)) }, "it is a folder, not a file"},
		"its own folder is a link": {func(x *run, h Help) {
			mustDo(x.t, errors.Join(os.RemoveAll(h.Folder+"/git"), os.Symlink(x.t.TempDir(), h.Folder+"/git")))
		}, "gives no pack"},
		"something else":     {answer("pack", "hello"), "there is no pack"},
		"an empty pack":      {answer("pack", "PACK\x00\x00\x00\x02\x00\x00\x00\x00"+"\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"), "bad object"},
		"a pack cut off":     {answer("pack", "PACK\x00\x00\x00\x02\x00\x00\x00\x09"), "early EOF"},
		"countless objects":  {answer("pack", "PACK\x00\x00\x00\x02\xff\xff\xff\xff"), "overflow"},
		"a pack without end": {func(x *run, h Help) { answer("pack", "PACK")(x, h); mustDo(x.t, os.Truncate(h.Folder+"/pack", 1<<40)) }, "more than 1 MB of objects"},
		"another commit": {func(x *run, h Help) {
			cmd := x.command(x.dir, "pack-objects", "-q", "--revs", "--stdout")
			cmd.Stdin = strings.NewReader(x.base + "\n")
			out, err := cmd.Output()
			mustDo(x.t, err)
			answer("pack", string(out))(x, h)
		}, "bad object"},
		"words without end": {func(x *run, h Help) {
			code, said, err := x.repo.uncontained(x.t.Context(), Help{Dir: h.Dir, Shell: "yes fatal: no"})
			if code == 0 || len(said) > mostWords || err != nil {
				x.t.Errorf("%d with %d bytes, %v", code, len(said), err)
			}
		}, "gives no pack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			x := f.run("t")
			f.repo.MaxTaken = 1 << 20
			x.commit("new.txt", "x\n")
			f.help(func(_ context.Context, h Help) (int, string, error) { tt.act(x, h); return 0, "", nil })
			if taken := x.take(); taken.Moved || !strings.Contains(taken.Refused, tt.want) {
				t.Errorf("%+v, want a refusal with %q", taken, tt.want)
			}
			if got := f.git("rev-parse", "task/t"); got != x.base {
				t.Errorf("the branch is at %s", got)
			}
			if left, _ := filepath.Glob(f.dir + "/.git/liza/help/*"); len(left) > 0 {
				t.Errorf("left behind are %q", left)
			}
			f.git("fsck", "--full", "--strict")
		})
	}
}

// The same for what is not committed: nothing is saved, so nothing is removed.
func TestNothingThatAHelperSaysOfFilesIsBelieved(t *testing.T) {
	t.Parallel()
	const dirty = "? a.txt\x00"
	for name, tt := range map[string]struct {
		answers map[string]string
		want    string
	}{
		"nothing":                           {nil, "no such file"},
		"no status":                         {map[string]string{"status": "hello"}, "cannot read git's status"},
		"no tree":                           {map[string]string{"status": dirty}, "which files there are"},
		"a command for a tree":              {map[string]string{"status": dirty, "tree": "$(touch /tmp/x)"}, "which files there are"},
		"a tree that is not there":          {map[string]string{"status": dirty, "tree": strings.Repeat("a", 40)}, "gives no pack"},
		"a tree that is not in a pack":      {map[string]string{"status": dirty, "tree": strings.Repeat("a", 40), "pack": "PACK\x00\x00\x00\x02\x00\x00\x00\x00" + "\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"}, "bad tree object"},
		"a status that is very, very large": {map[string]string{"status": strings.Repeat("? a.txt\x00", mostSaid/8+1)}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			work := f.provide(Provide{ID: "t"})
			writeFile(t, work.Path+"/new.txt", "new\n")
			f.help(func(_ context.Context, h Help) (int, string, error) {
				for name, text := range tt.answers {
					writeFile(t, filepath.Join(h.Folder, name), text)
				}
				return 0, "", nil
			})
			_, saved, err := f.repo.Save(t.Context(), Work{ID: "t", Path: work.Path, Reason: "test"})
			if saved || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("saved: %v, %v; want %q", saved, err, tt.want)
			}
			if err := f.repo.Remove(t.Context(), "t", Proof{Integration: f.integration()}); err == nil || readText(t, work.Path+"/new.txt") != "new\n" {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
}

func TestAHelperThatNeverEndsIsEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	x.commit("new.txt", "x\n")
	f.repo.MaxTime = 100 * time.Millisecond
	f.repo.Contain = func(ctx context.Context, h Help) (int, string, error) {
		h.Shell = "sleep 1000 & sleep 1000"
		return f.repo.uncontained(ctx, h)
	}
	if _, err := f.repo.TakeOver(t.Context(), Taking{Task: "t"}); err == nil || !strings.Contains(err.Error(), "longer than 100ms") {
		t.Errorf("taking over: %v", err)
	}
}

// help sets what answers in the place of the helper. A helper that takes long, as on a busy machine, is not joined by the one that clears
// the way: it would answer, too.
func (f *fixture) help(answer func(ctx context.Context, h Help) (int, string, error)) {
	f.repo.Contain, f.repo.heldUpAfter = answer, time.Hour
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
