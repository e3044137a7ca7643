package seed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
)

func TestTheKeyNamesWhatSetupReads(t *testing.T) {
	t.Parallel()
	files := func(pairs ...string) (list []git.Listed) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, git.Listed{Path: pairs[i], Object: pairs[i+1]})
		}
		return list
	}
	base, setup := []string{"web/package-lock.json", "1", "main.js", "2", "scripts/setup", "3", ".gitignore", "4", "deps.txt", "5"}, []string{"sh ./scripts/setup && npm ci"}
	first := Key(files(base...), setup, nil, "linux/amd64")
	with := func(i int) []git.Listed {
		changed := slices.Clone(base)
		changed[i] = "other"
		return files(changed...)
	}
	reversed := files(base...)
	slices.Reverse(reversed)
	for _, c := range []struct {
		name string
		key  string
		same bool
	}{
		{"the same again", Key(files(base...), setup, nil, "linux/amd64"), true},
		{"in another order", Key(reversed, setup, nil, "linux/amd64"), true},
		{"another source", Key(with(3), setup, nil, "linux/amd64"), true},
		{"another lock file", Key(with(1), setup, nil, "linux/amd64"), false},
		{"a lock file in another folder", Key(with(0), setup, nil, "linux/amd64"), false},
		{"one lock file more", Key(files(append(slices.Clone(base), "go.sum", "1")...), setup, nil, "linux/amd64"), false},
		{"another script that setup names", Key(with(5), setup, nil, "linux/amd64"), false},
		{"other ignored files", Key(with(7), setup, nil, "linux/amd64"), false},
		{"another command", Key(files(base...), []string{"npm ci"}, nil, "linux/amd64"), false},
		{"two commands for one", Key(files(base...), []string{"sh ./scripts/setup &&", "npm ci"}, nil, "linux/amd64"), false},
		{"another platform", Key(files(base...), setup, nil, "linux/arm64"), false},
		{"a named file instead of lock files", Key(files(base...), setup, []string{"deps.*"}, "linux/amd64"), false},
	} {
		if (c.key == first) != c.same {
			t.Errorf("%s: the key is %s, at first %s", c.name, c.key, first)
		}
	}
	if first == "" || Key(files("main.js", "1", ".gitignore", "2"), setup, nil, "") != "" || Key(files(base...), setup, []string{"no-such-file"}, "") != "" {
		t.Error("without a file that pins dependencies there is a key, or with one there is none")
	}
	if named := Key(files(base...), setup, []string{"deps.txt"}, ""); named != Key(with(1), setup, []string{"deps.txt"}, "") || named == Key(with(9), setup, []string{"deps.txt"}, "") {
		t.Error("with a named file, others decide")
	}
	for _, name := range []string{"pnpm-lock.yaml", "yarn.lock", "bun.lock", "uv.lock", "poetry.lock", "requirements-dev.txt", "Cargo.lock", "a/b/go.sum", "Gemfile.lock", "composer.lock"} {
		if Key(files(name, "1"), setup, nil, "") == "" {
			t.Errorf("%s is not known as a lock file", name)
		}
	}
}

// place makes a worktree in which setup has run.
func place(t *testing.T) (dir string, files []git.Listed) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "src/main.js", "main")
	write(t, dir, ".git", "gitdir: x")
	write(t, dir, "node_modules/a/index.js", "a")
	write(t, dir, "src/.venv/bin/tool", "#!python\n")
	write(t, dir, "node_modules/a/binary", "\x00"+dir)
	if err := errors.Join(os.Symlink("python3", filepath.Join(dir, "src/.venv/bin/python")), os.Symlink("a/index.js", filepath.Join(dir, "node_modules/link")),
		os.Symlink("/etc", filepath.Join(dir, "node_modules/out")), syscall.Mkfifo(filepath.Join(dir, "node_modules/pipe"), 0o600),
		os.Chmod(filepath.Join(dir, "src/.venv/bin/tool"), 0o755|fs.ModeSetuid), os.Link(filepath.Join(dir, "node_modules/a/index.js"), filepath.Join(dir, "node_modules/a/same"))); err != nil {
		t.Fatal(err)
	}
	return dir, []git.Listed{{Path: "src/main.js"}}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "src/main.js", "main")
	return dir
}

func store(t *testing.T) *Store {
	return &Store{Dir: filepath.Join(t.TempDir(), "seeds"), Now: time.Now}
}

func TestASeedIsLaidAsSetupLeftIt(t *testing.T) {
	t.Parallel()
	from, files := place(t)
	s, ctx := store(t), context.Background()
	made, err := s.Keep(ctx, Seed{Key: "k-0123456789ab", Commit: "c0ffee", Place: from}, files, 1<<30)
	if err != nil || made.None != "" || !slices.Equal(made.Roots, []string{"node_modules", "src/.venv"}) {
		t.Fatalf("it is %+v: %v", made, err)
	}
	dir := checkout(t)
	laid, err := s.Lay(ctx, made.Key, dir, files)
	if err != nil || !strings.HasPrefix(laid.String(), "setup: from seed k-0123456789 (made at c0ffee), "+laid.Way) {
		t.Fatalf("%s: %v", laid, err)
	}
	for name, want := range map[string]string{"node_modules/a/index.js": "a", "src/.venv/bin/tool": "#!python\n", "node_modules/a/binary": "\x00" + from} {
		if got := read(t, dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"src/.venv/bin/python": "python3", "node_modules/link": "a/index.js", "node_modules/out": "/etc"} {
		if got, err := os.Readlink(filepath.Join(dir, name)); got != want {
			t.Errorf("%s leads to %q, want %q: %v", name, got, want, err)
		}
	}
	was, _ := os.Stat(filepath.Join(from, "src/.venv/bin/tool"))
	is, err := os.Stat(filepath.Join(dir, "src/.venv/bin/tool"))
	if err != nil || is.Mode() != 0o755 || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("it is %v of %v, %v; it was of %v", is.Mode(), is.ModTime(), err, was.ModTime())
	}
	if _, err := os.Lstat(filepath.Join(dir, "node_modules/pipe")); err == nil {
		t.Error("a pipe was laid")
	}
}

// Each writes with what is there: in place, by another name of the same file, and through links.
func TestWhatIsWrittenReachesNoSeedAndNoOtherWorktree(t *testing.T) {
	t.Parallel()
	from, files := place(t)
	s, ctx := store(t), context.Background()
	made, err := s.Keep(ctx, Seed{Key: "key-of-the-seed", Place: from}, files, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	write(t, from, "node_modules/a/same", "written where setup ran")
	one, two := checkout(t), checkout(t)
	for _, dir := range []string{one, two} {
		if _, err := s.Lay(ctx, made.Key, dir, files); err != nil {
			t.Fatal(err)
		}
	}
	write(t, one, "node_modules/a/index.js", "poison")
	write(t, one, "node_modules/link", "poison")
	write(t, one, "node_modules/new", "poison")
	three := checkout(t)
	if _, err := s.Lay(ctx, made.Key, three, files); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{two, three, filepath.Join(s.Dir, made.Key, tree)} {
		if got := read(t, dir, "node_modules/a/index.js") + read(t, dir, "node_modules/a/same"); got != "aa" {
			t.Errorf("%s has %q", dir, got)
		}
		if _, err := os.Lstat(filepath.Join(dir, "node_modules/new")); err == nil {
			t.Errorf("%s has a file that was made elsewhere", dir)
		}
	}
	_ = filepath.WalkDir(filepath.Join(s.Dir, made.Key), func(path string, e fs.DirEntry, err error) error {
		if info, _ := e.Info(); err != nil || e.Type().IsRegular() && info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("%s has another name: %v", path, err)
		}
		return nil
	})
}

func TestASeedIsLaidWhereThereIsRoomForIt(t *testing.T) {
	t.Parallel()
	from, files := place(t)
	s, ctx := store(t), context.Background()
	made, err := s.Keep(ctx, Seed{Key: "key-of-the-seed", Place: from}, files, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	linked := checkout(t)
	if err := errors.Join(os.Rename(filepath.Join(linked, "src"), filepath.Join(out, "src")), os.Symlink(filepath.Join(out, "src"), filepath.Join(linked, "src"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lay(ctx, made.Key, linked, []git.Listed{{Path: "src"}}); !errors.Is(err, ErrNone) {
		t.Errorf("through a link: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(out, "src/.venv")); err == nil {
		t.Error("it was laid where a link leads")
	}
	tracked := checkout(t)
	write(t, tracked, "node_modules/kept", "kept")
	if _, err := s.Lay(ctx, made.Key, tracked, append(files, git.Listed{Path: "node_modules/kept"})); !errors.Is(err, ErrNone) || read(t, tracked, "node_modules/kept") != "kept" {
		t.Errorf("over a file of git: %v", err)
	}
	if _, err := s.Lay(ctx, "another-key", checkout(t), files); !errors.Is(err, ErrNone) {
		t.Errorf("of another key: %v", err)
	}
	half := checkout(t)
	write(t, half, "node_modules/a/index.js", "half")
	if _, err := s.Lay(ctx, made.Key, half, files); err != nil || read(t, half, "node_modules/a/index.js") != "a" {
		t.Errorf("over what a killed one left: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	stopped := checkout(t)
	if _, err := s.Lay(gone, made.Key, stopped, files); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(stopped, "*")); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

func TestSetupRunsWhereNoSeedCanBe(t *testing.T) {
	t.Parallel()
	from, files := place(t)
	now := time.Now()
	s, ctx := store(t), context.Background()
	s.Now = func() time.Time { return now }
	if made, err := s.Keep(ctx, Seed{Key: "large", Place: from}, files, 4<<10); err != nil || !strings.Contains(made.None, "larger than") {
		t.Errorf("too large: %+v, %v", made, err)
	}
	deep, at := checkout(t), ""
	for range 300 {
		at += "node_modules/"
	}
	write(t, deep, at+"x", "x")
	if made, err := s.Keep(ctx, Seed{Key: "deep", Place: deep}, files, 1<<30); err != nil || !strings.Contains(made.None, "folders in each other") {
		t.Errorf("too deep: %+v, %v", made, err)
	}
	empty := checkout(t)
	for _, set := range []func(string) error{func(at string) error { return os.WriteFile(at, []byte("#!"+from+"/bin/python"), 0o755) }, func(at string) error { return os.Symlink(from+"/bin", at) }} {
		at := filepath.Join(from, "own")
		if err := set(at); err != nil {
			t.Fatal(err)
		}
		if made, err := s.Keep(ctx, Seed{Key: "own", Place: from}, files, 1<<30); err != nil || made.None != "own has the path of its worktree" {
			t.Errorf("what names its worktree is kept: %+v, %v", made, err)
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := s.Keep(ctx, Seed{Key: "empty", Place: empty}, files, 1<<30); err != nil || !strings.Contains(made.None, "leaves nothing") {
		t.Errorf("nothing: %+v, %v", made, err)
	}
	if _, err := s.Find("empty"); err != nil {
		t.Error(err)
	}
	if _, err := s.Lay(ctx, "empty", checkout(t), files); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	now = now.Add(25 * time.Hour)
	if _, err := s.Find("empty"); !errors.Is(err, ErrNone) {
		t.Errorf("a day later it is not tried again: %v", err)
	}
	if made, err := s.Keep(ctx, Seed{Key: "empty", Place: from}, files, 1<<30); err != nil || made.None != "" {
		t.Errorf("then: %+v, %v", made, err)
	}
}

func TestTheSeedThatWasUsedFirstGoes(t *testing.T) {
	t.Parallel()
	from, files := place(t)
	now := time.Now().Add(-time.Hour)
	s, ctx := store(t), context.Background()
	s.Now = func() time.Time { now = now.Add(time.Minute); return now }
	for _, key := range []string{"key-of-one-seed", "key-of-two-seed", "key-of-three-seed"} {
		if _, err := s.Keep(ctx, Seed{Key: key, Place: from}, files, 1<<30); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Lay(ctx, key, checkout(t), files); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Lay(ctx, "key-of-one-seed", checkout(t), files); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 3 || list[0].Key != "key-of-one-seed" {
		t.Fatalf("%v, %v", list, err)
	}
	surplus := Surplus(list, 2*list[0].Bytes)
	if len(surplus) != 1 || surplus[0].Key != "key-of-two-seed" {
		t.Fatalf("too much are %v", surplus)
	}
	_, held, err := s.open("key-of-two-seed")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove("key-of-two-seed"); !errors.Is(err, safefile.ErrInUse) {
		t.Errorf("while it is laid it is removed: %v", err)
	}
	if err := errors.Join(held.Close(), s.Remove("key-of-two-seed")); err != nil {
		t.Error(err)
	}
	if _, err := s.Find("key-of-two-seed"); !errors.Is(err, ErrNone) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestWhatOnlyInstallsIsKnown(t *testing.T) {
	t.Parallel()
	for setup, want := range map[string]bool{
		"npm ci": true, "npm ci --ignore-scripts": true, "corepack enable && pnpm install --frozen-lockfile": true, "yarn": true, "uv sync --dev": true, "python -m venv .venv; .venv/bin/pip install -r requirements.txt": true,
		"go mod download": true, "cargo fetch\nbundle install": true, "composer install": true, "poetry install": true,
		"npm ci && npm run build": false, "npm run build": false, "make deps": false, "sh scripts/setup": false, "pip install .": false, "npm ci | tee log": false, "npm ci & make": false, "npm ci || make": false,
		"npm install $(cat list)": false, "npmx ci": false, "go generate ./...": false, "yarn build": false, "npm ci > /dev/null": false,
	} {
		if got := Installs([]string{setup}); got != want {
			t.Errorf("%q: %t, want %t", setup, got, want)
		}
	}
	if Installs([]string{"npm ci", "make"}) {
		t.Error("one of two commands only installs")
	}
}
