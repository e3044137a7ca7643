package broker

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestTheFolderOfARunIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	base := short(t)
	f, err := MakeFolder(base, "/work/project", "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{f.Path, filepath.Dir(f.Path)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Join(f.Path, Socket)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if other := folderOf(base, "/work/project", "coder-2"); other == f.Path || folderOf(base, "/work/project", "coder-1") != f.Path {
		t.Errorf("%s is not the folder of one agent", other)
	}
	_ = f.Listener.Close()
	if err := f.Remove(); err != nil || exists(f.Path) {
		t.Errorf("it is not removed: %v", err)
	}
}

func TestAFolderIsRemovedWhileAProgramThatStartsHasACopyOfItsSocket(t *testing.T) {
	t.Parallel()
	f, err := MakeFolder(short(t), "/work/project", "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	copied, err := f.Listener.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	_ = f.Listener.Close()
	if err := f.Remove(); err != nil || exists(f.Path) {
		t.Errorf("it is not removed: %v", err)
	}
}

func TestAFolderThatOthersCanChangeIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(dir string) error{
		"open to all": func(dir string) error { return os.Chmod(dir, 0o777) },
		"a link": func(dir string) error {
			if err := os.Rename(dir, dir+"-real"); err != nil {
				return err
			}
			return os.Symlink(dir+"-real", dir)
		},
		"a file": func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		},
		"somebody else's": func(dir string) error { return os.Chown(dir, 1000, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "somebody else's" && os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			base := short(t)
			dir := filepath.Dir(folderOf(base, "p", "a"))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := make(dir); err != nil {
				t.Fatal(err)
			}
			if f, err := MakeFolder(base, "p", "a"); err == nil {
				t.Errorf("%s is used", f.Path)
			}
		})
	}
}

// A supervisor that was killed leaves its folder; what is in it does not lead out of it.
func TestWhatAKilledSupervisorLeftIsRemoved(t *testing.T) {
	t.Parallel()
	base := short(t)
	kept := filepath.Join(base, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := MakeFolder(base, "p", "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base, filepath.Join(left.Path, "link")); err != nil {
		t.Fatal(err)
	}
	if err := RemoveStale(base); err != nil || !exists(left.Path) {
		t.Errorf("the folder of a run that is under way is removed: %v", err)
	}
	_ = left.Listener.Close() // what remains of it is as after a kill
	if err := RemoveStale(base); err != nil || exists(left.Path) || !exists(kept) {
		t.Errorf("it stays: %v", err)
	}
	if err := os.Mkdir(left.Path, 0o700); err != nil { // it was killed before it had a socket
		t.Fatal(err)
	}
	if err := RemoveStale(base); err != nil || exists(left.Path) {
		t.Errorf("a folder without a socket stays: %v", err)
	}
	if left, err = MakeFolder(base, "p", "coder-1"); err != nil {
		t.Fatal(err)
	}
	other, err := MakeFolder(base, "p", "coder-2")
	if err != nil || !exists(left.Path) {
		t.Fatalf("the folder of another run that is under way is removed: %v", err)
	}
	_ = other.Listener.Close()
	next, err := MakeFolder(base, "p", "coder-1")
	if err != nil {
		t.Fatal(err)
	}
	if exists(other.Path) {
		t.Error("what another killed supervisor left stays when a run begins")
	}
	_ = left.Listener.Close()
	if err := left.Remove(); err != nil || !exists(filepath.Join(next.Path, Socket)) {
		t.Errorf("a run has removed the folder of the next one: %v", err)
	}
}

func TestTheBaseLeavesRoomForASocket(t *testing.T) {
	t.Parallel()
	dir := short(t)
	long := filepath.Join(dir, strings.Repeat("x", 80))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for runtime, want := range map[string]string{"": "/tmp", "relative": "/tmp", "/does/not/exist": "/tmp", long: "/tmp", dir: dir, dir + "/": dir} {
		if got := Base(runtime); got != want {
			t.Errorf("Base(%q) is %q, want %q", runtime, got, want)
		}
	}
}
