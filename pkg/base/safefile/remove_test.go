package safefile

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestATreeIsRemovedWhateverWasMadeOfIt(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "kept", "x")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"closed folders": "mkdir -p a/b/c removed-0/d && touch a/b/c/x a/f && ln -s " + filepath.Dir(outside) + " a/b/out && chmod 000 a/b/c && chmod 500 a/b && chmod 000 a removed-0",
		"links":          "ln -s " + filepath.Dir(outside) + " out && mkdir a && ln -s .. a/up",
		"a closed top":   "mkdir a && chmod 000 a . ",
	} {
		dir := filepath.Join(t.TempDir(), "tree")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if err := RemoveTree(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s: it is still there", name)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link led to: %v", err)
	}
	if err := RemoveTree(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// Folders in one another are opened one in the other: more of them than files may be open cannot be removed that way.
func TestMoreFoldersInOneAnotherThanFilesMayBeOpen(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("REMOVE_TREE"); dir != "" {
		if os.RemoveAll(dir) == nil {
			t.Error("it can be removed without more ado")
		}
		if err := RemoveTree(dir); err != nil {
			t.Error(err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("a/", 400), "\xff", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -n 100 && exec "$0" -test.run='^TestMoreFoldersInOneAnotherThanFilesMayBeOpen$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "REMOVE_TREE="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// 4.4: a run that wrote on after its project was moved made .liza again at the old place.
func TestAFolderIsMadeWithoutTheHiddenOneAroundIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, ".own", "output", "task")
	if err := MakeFolder(at, 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the hidden folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".own"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := MakeFolder(at, 0o755); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(at, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(filepath.Join(at, "file"), 0o755); err == nil {
		t.Error("a file was taken for a folder")
	}
}
