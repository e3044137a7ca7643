package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
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

// names lists a folder, to see that nothing was left in it.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// full is a write that finds no room after half of the data.
func full(f *os.File, data []byte) (int, error) {
	n, _ := f.Write(data[:len(data)/2])
	return n, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
}

// tooMuch is content that finds no room after half of it.
type tooMuch struct{}

func (tooMuch) WriteTo(w io.Writer) (int64, error) {
	n, err := full(w.(*os.File), make([]byte, 50<<10))
	return int64(n), err
}

func TestReplaceMakesAFileAndReplacesItWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.yaml")
	for _, text := range []string{"first", "a longer second", ""} {
		if err := Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Fatalf("mode %v, error %v, want 0640", info.Mode(), err)
	}
	if got := names(t, filepath.Dir(path)); got != "state.yaml" {
		t.Fatalf("the folder holds %q", got)
	}
}

func TestReplaceIsARename(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.yaml")
	write(t, path, "old")
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Replace(path, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 10)
	if n, _ := reader.Read(data); string(data[:n]) != "old" {
		t.Fatalf("who had the file open reads %q, want the old content", data[:n])
	}
}

func TestADiscardedStageLeavesTheFileAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.yaml")
	write(t, path, "old")
	s, err := Stage(path, []byte("new"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, filepath.Dir(path)); !strings.HasPrefix(got, ".state.yaml.tmp-"+strconv.Itoa(os.Getpid())+".") || !strings.HasSuffix(got, " state.yaml") {
		t.Fatalf("while it is staged the folder holds %q", got)
	}
	s.Discard()
	if got := names(t, filepath.Dir(path)); got != "state.yaml" || content(t, path) != "old" {
		t.Fatalf("the folder holds %q, the file %q", got, content(t, path))
	}
}

func TestAFullDiskKeepsTheOldFileAndSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.yaml")
	write(t, path, "old")
	_, err := StageFrom(path, tooMuch{}, 50<<10, 0o644)
	var e *DiskFullError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *DiskFullError", err)
	}
	if e.Need != 50<<10 || e.Free <= 0 || e.FileSystem == "" || !strings.Contains(err.Error(), "is full: 50 kB needed") {
		t.Errorf("the error is %v (%+v)", err, e)
	}
	if got := names(t, filepath.Dir(path)); got != "state.yaml" || content(t, path) != "old" {
		t.Errorf("the folder holds %q, the file %q", got, content(t, path))
	}
}

func TestALackOfAFileSystemNamesWhatShowsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(err error) error {
		return fmt.Errorf("cannot go on: %w", &fs.PathError{Op: "open", Path: filepath.Join(dir, "gone", "gone", "x"), Err: err})
	}
	for err, want := range map[error]string{at(syscall.ENOSPC): "df -h " + mountOf(dir), at(syscall.EDQUOT): "df -h " + mountOf(dir), at(syscall.EROFS): "mount", at(syscall.EIO): "", syscall.ENOSPC: "df -h " + mountOf("."),
		&DiskFullError{FileSystem: "/srv", Err: syscall.ENOSPC}: "df -h /srv", &DiskFullError{FileSystem: "/srv", Inodes: true, Err: syscall.ENOSPC}: "df -i /srv"} {
		if got := Helps(err); got != want {
			t.Errorf("with %v helps %q, want %q", err, got, want)
		}
	}
	if Helps(nil) != "" {
		t.Error("something helps with no error")
	}
}

func TestReplaceInAFolderThatDoesNotExistFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nowhere", "state.yaml")
	if err := Replace(path, nil, 0o644); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v", err)
	}
}

func TestAppendAddsAndAFailedAppendTakesBackWhatItWrote(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.yaml")
	for _, text := range []string{"one\n", "two\n"} {
		if err := Append(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var e *DiskFullError
	if err := appendTo(path, []byte("three\n"), full); !errors.As(err, &e) {
		t.Fatalf("got %v, want a *DiskFullError", err)
	}
	if got := content(t, path); got != "one\ntwo\n" {
		t.Fatalf("the file holds %q", got)
	}
	if err := Truncate(path, 4); err != nil || content(t, path) != "one\n" {
		t.Fatalf("after Truncate (%v) the file holds %q", err, content(t, path))
	}
}

func TestSweepRemovesWhatDeadWritersLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.yaml")
	dead := strconv.Itoa(1 << 30) // more than any pid
	own, parent := strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())
	for _, pid := range []string{dead, dead + ".7", own + ".0", parent, "x"} {
		write(t, filepath.Join(dir, ".state.yaml.tmp-"+pid), "half")
	}
	write(t, filepath.Join(dir, ".other.yaml.tmp-"+dead), "half")
	if err := Sweep(path); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), ".other.yaml.tmp-"+dead+" .state.yaml.tmp-"+parent+" .state.yaml.tmp-x"; got != want {
		t.Fatalf("left %q, want %q", got, want)
	}
}

// Runs that begin at the same moment write the same file, each whole.
func TestOfReplacementsAtOnceEachIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "exit.json")
	var running sync.WaitGroup
	for i := range 8 {
		text := strings.Repeat(strconv.Itoa(i), 100_000)
		running.Go(func() {
			for range 10 {
				if err := Replace(path, []byte(text), 0o644); err != nil {
					t.Error(err)
				}
				if got := content(t, path); len(got) != len(text) || strings.Trim(got, got[:1]) != "" {
					t.Errorf("the file holds %d bytes of %q …", len(got), got[:1])
				}
			}
		})
	}
	running.Wait()
	if got := names(t, filepath.Dir(path)); got != "exit.json" {
		t.Errorf("left behind: %q", got)
	}
}
