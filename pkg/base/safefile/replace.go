package safefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Replace replaces the file at path by data with mode, as a whole or not at all. Of two callers at
// one time the later one wins; a caller whose data depends on the old content must hold a lock.
func Replace(path string, data []byte, mode fs.FileMode) error {
	s, err := Stage(path, data, mode)
	if err != nil {
		return err
	}
	return s.Commit()
}

// Staged is new content of a file, on disk beside it.
type Staged struct {
	temp, path string
	file       *os.File
}

// stages numbers the temporary files of this process: two of its goroutines may replace the same file.
var stages atomic.Int64

// Stage writes data to the temporary file .NAME.tmp-<pid>.<n> beside path, with mode and
// the owner of the file that it will replace, and flushes it to disk. After an error
// the temporary file is gone.
func Stage(path string, data []byte, mode fs.FileMode) (*Staged, error) {
	return StageFrom(path, bytes.NewReader(data), len(data), mode)
}

// StageFrom is Stage for content that writes itself and has size bytes.
func StageFrom(path string, content io.WriterTo, size int, mode fs.FileMode) (*Staged, error) {
	temp := fmt.Sprintf("%s%d.%d", tempPrefix(path), os.Getpid(), stages.Add(1))
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, explain(err, path, size))
	}
	_, err = content.WriteTo(f)
	if err == nil {
		err = adopt(f, path, mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		os.Remove(temp)
		return nil, fmt.Errorf("cannot write %s: %w", path, explain(err, path, size))
	}
	return &Staged{temp: temp, path: path, file: f}, nil
}

// adopt gives the new file the mode wanted and, as far as this user may, the owner of
// the old one.
func adopt(f *os.File, path string, mode fs.FileMode) error {
	if err := f.Chmod(mode.Perm()); err != nil {
		return err
	}
	old, err := os.Lstat(path)
	if err != nil {
		return nil // nothing there yet
	}
	if st, ok := old.Sys().(*syscall.Stat_t); ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
	return nil
}

// Commit renames the staged content over the file and flushes the folder.
func (s *Staged) Commit() error {
	_, err := s.CommitStamp()
	return err
}

// CommitStamp is Commit and returns the stamp of the new file.
func (s *Staged) CommitStamp() (Stamp, error) {
	defer s.file.Close()
	// The rename makes the time of the change, perhaps within the tick of the last write: with another time of the
	// content the stamp can be trusted at once (Settled), and readers need not read the file again and again.
	written := time.Now().Add(-clockTick)
	_ = os.Chtimes(s.temp, written, written)
	if err := os.Rename(s.temp, s.path); err != nil {
		os.Remove(s.temp)
		return Stamp{}, fmt.Errorf("cannot replace %s: %w", s.path, err)
	}
	// Of the file that was written, not of whatever is at path by now.
	stamp, err := StampOfFile(s.file)
	if synced := syncDir(filepath.Dir(s.path)); synced != nil {
		err = synced
	}
	return stamp, err
}

// Discard removes the staged content.
func (s *Staged) Discard() {
	s.file.Close()
	os.Remove(s.temp)
}

// Append puts data at the end of the file in one write and flushes it to disk. A file
// that does not exist is made. After an error the file is as long as before.
func Append(path string, data []byte) error {
	return appendTo(path, data, (*os.File).Write)
}

func appendTo(path string, data []byte, write func(*os.File, []byte) (int, error)) error {
	_, before := os.Lstat(path)
	f, err := OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("cannot append to %s: %w", path, explain(err, path, len(data)))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("cannot append to %s: %w", path, err)
	}
	_, err = write(f, data)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Truncate(info.Size())
		return fmt.Errorf("cannot append to %s: %w", path, explain(err, path, len(data)))
	}
	if before != nil {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

// Truncate cuts the file to size bytes and flushes it to disk.
func Truncate(path string, size int64) error {
	f, err := OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cannot cut %s: %w", path, err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("cannot cut %s: %w", path, err)
	}
	return f.Sync()
}

// Sweep removes the temporary files of killed writers of path. It keeps those of other living processes. The caller holds the
// lock under which path is written.
func Sweep(path string) error {
	prefix := tempPrefix(path)
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("cannot look for temporary files of %s: %w", path, err)
	}
	for _, entry := range names {
		number, ours := strings.CutPrefix(entry.Name(), filepath.Base(prefix))
		if !ours {
			continue
		}
		number, _, _ = strings.Cut(number, ".")
		if pid, err := strconv.Atoi(number); err == nil && (pid == os.Getpid() || dead(pid)) {
			os.Remove(filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
	return nil
}

func tempPrefix(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-")
}

func dead(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Sync makes the content of a file, or the names in a folder, durable.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("cannot flush folder %s: %w", dir, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("cannot flush folder %s: %w", dir, err)
	}
	return nil
}

// RemoveTree removes a folder with its content, also folders that are closed to the caller or nested deeper than files may be
// open at one time, as a hostile program can make them. It follows no link.
func RemoveTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return os.RemoveAll(dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(flatten(root), root.Close(), os.RemoveAll(dir))
}

// flatten moves all folders up to the top, and removes their files.
func flatten(root *os.Root) error {
	folders, err := emptied(root, ".")
	for n := 0; err == nil && len(folders) > 0; {
		from := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		if err = root.Chmod(from, 0o700); err != nil { // without it what is in it can be neither listed nor moved
			return err
		}
		at := from
		for ; filepath.Dir(at) != "."; n++ { // until a name is free
			if name := fmt.Sprintf("removed-%d", n); root.Rename(from, name) == nil {
				at = name
			} else if _, err := root.Lstat(name); err != nil {
				return fmt.Errorf("cannot remove %s", filepath.Join(root.Name(), from))
			}
		}
		var inner []string
		if inner, err = emptied(root, at); len(inner) == 0 && err == nil {
			err = root.Remove(at)
		}
		folders = append(folders, inner...)
	}
	return err
}

// emptied removes all but folders from a folder, and returns those.
func emptied(root *os.Root, dir string) (folders []string, err error) {
	opened, err := root.Open(dir) // not as of an fs.FS, whose names are text
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	entries, err := opened.ReadDir(-1)
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); e.IsDir() {
			folders = append(folders, name)
		} else {
			err = errors.Join(err, root.Remove(name))
		}
	}
	return folders, err
}

// MakeFolder makes a folder and its missing parents, but none whose name begins with a dot: only the owner of such a folder
// makes it, so that a process does not make it again after it was moved or removed.
func MakeFolder(path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	} else if err == nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	if strings.HasPrefix(filepath.Base(path), ".") {
		return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrNotExist}
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MakeFolder(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// A DiskFullError is returned when a file system has too little room. The file to replace or extend is unchanged.
type DiskFullError struct {
	FileSystem string // mount point of the full file system
	Need, Free int64  // bytes
	Inodes     bool   // there is room, and no inode for another file
	Err        error
}

func (e *DiskFullError) Error() string {
	if e.Inodes {
		return fmt.Sprintf("the file system of %s has no inode left for another file", e.FileSystem)
	}
	return fmt.Sprintf("the file system of %s is full: %s needed, %s free", e.FileSystem, Size(e.Need), Size(e.Free))
}

// Unwrap returns the error of the operating system.
func (e *DiskFullError) Unwrap() error { return e.Err }

// explain turns "no space left on device" into a sentence with the figures.
func explain(err error, path string, need int) error {
	if !isFull(err) {
		return err
	}
	full := &DiskFullError{FileSystem: mountOf(filepath.Dir(path)), Need: int64(need), Err: err}
	var st syscall.Statfs_t
	if syscall.Statfs(full.FileSystem, &st) == nil {
		full.Free = int64(uint64(st.Bavail) * uint64(st.Bsize))
		full.Inodes = st.Files > 0 && st.Ffree == 0
	}
	return full
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Helps is the command that shows what a file system lacks because of which err came: room, inodes, or the right to write. It is "" for
// any other error.
func Helps(err error) string {
	if errors.Is(err, syscall.EROFS) {
		return "mount"
	}
	if !isFull(err) {
		return ""
	}
	full, ok := errors.AsType[*DiskFullError](err)
	if !ok {
		path := "."
		if x, ok := errors.AsType[*fs.PathError](err); ok {
			path = x.Path
		}
		full = explain(syscall.ENOSPC, path, 0).(*DiskFullError)
	}
	if full.Inodes {
		return "df -i " + full.FileSystem
	}
	return "df -h " + full.FileSystem
}

// mountOf is the highest folder above dir, or dir itself, on the same file system. Folders that are gone, as one that could not be made whole,
// count for the one above.
func mountOf(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	device := func(path string) (uint64, bool) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, false
		}
		return uint64(st.Dev), true
	}
	here, ok := device(dir)
	for !ok && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		here, ok = device(dir)
	}
	for ok && filepath.Dir(dir) != dir {
		above, known := device(filepath.Dir(dir))
		if !known || above != here {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
