package safefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// NotFileError is returned for something other than a file at the path of one: a named pipe, on which the program would wait
// for ever, a device, a socket or a folder. Like the errors of the operating system it is in a *fs.PathError.
type NotFileError struct{ Mode fs.FileMode }

func (e *NotFileError) Error() string {
	return fmt.Sprintf("it is %s, not a file", kind(e.Mode))
}

// Is also holds for the error of reading a folder.
func (e *NotFileError) Is(target error) bool { return target == syscall.EISDIR && e.Mode.IsDir() }

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of another kind"
}

func notFile(path string, info fs.FileInfo) error {
	return &fs.PathError{Op: "open", Path: path, Err: &NotFileError{Mode: info.Mode()}}
}

// Read is os.ReadFile for a path at which agents can put something other than a file: then it returns a *NotFileError at
// once.
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Size() < 1<<30 {
		b.Grow(int(info.Size()) + bytes.MinRead) // so that the end is seen without growing
	}
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}

// Open is os.Open for files alone, with the same promise as Read.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for files alone. It opens without waiting and checks the open file, so that it cannot be exchanged
// in between. O_NONBLOCK has no effect on files.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, mode)
	if errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EOPNOTSUPP) {
		// sockets, pipes that nobody reads, devices that are not there, folders to write to
		if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
			return nil, notFile(path, info)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notFile(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadEnd passes the end of a file of the given size to enough, from the beginning of a line on, and a larger end as long as
// enough returns false and there is more. from is the offset of the end.
func ReadEnd(f io.ReaderAt, size int64, enough func(end []byte, from int64) bool) error {
	for n := int64(64 << 10); ; n *= 4 {
		from := max(size-n, 0)
		end := make([]byte, size-from)
		if _, err := f.ReadAt(end, from); err != nil && err != io.EOF {
			return err
		}
		if from == 0 {
			enough(end, 0)
			return nil
		}
		rest := bytes.IndexByte(end, '\n') + 1
		if rest > 0 && enough(end[rest:], from+int64(rest)) {
			return nil
		}
	}
}

// A Found is a file or folder that Walk visits.
type Found struct {
	Path string // relative to the folder of Walk
	Info fs.FileInfo
	Root *os.Root // a folder above it, which paths cannot leave
	Name string   // its path in Root
}

// longestName is how long names in one root become before a root is made below: the kernel takes 4096 bytes at once.
const longestName = 2000

// Walk calls each for every file and folder below dir, which a hostile program may have made: names that are not text,
// folders nested too deeply to be opened by path, or closed to others. It follows no link, and skips entries that vanish or
// cannot be read. An error of each ends it.
func Walk(dir string, each func(Found) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return walk(root, ".", ".", each)
}

func walk(root *os.Root, name, at string, each func(Found) error) error {
	if len(name) > longestName {
		if below, err := root.OpenRoot(name); err == nil {
			defer below.Close()
			root, name = below, "."
		}
	}
	for _, e := range entriesOf(root, name) {
		info, err := e.Info()
		if err != nil {
			continue
		}
		found := Found{Path: path.Join(at, e.Name()), Info: info, Root: root, Name: path.Join(name, e.Name())}
		if err := each(found); err != nil {
			return err
		}
		if info.IsDir() {
			if err := walk(root, found.Name, found.Path, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// SizeOf is what the files of a folder take on the disk. Those that vanish meanwhile do not count; blocks that files share count for each.
func SizeOf(ctx context.Context, folder string) (bytes int64) {
	_ = Walk(folder, func(f Found) error {
		if stat, ok := f.Info.Sys().(*syscall.Stat_t); ok {
			bytes += stat.Blocks*512 + entrySize
		}
		return ctx.Err()
	})
	return bytes
}

// entriesOf lists a folder. One that is closed to us is open for that moment.
func entriesOf(root *os.Root, name string) []fs.DirEntry {
	dir, err := root.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		info, lost := root.Lstat(name)
		if lost != nil || !info.IsDir() || root.Chmod(name, info.Mode().Perm()|0o500) != nil {
			return nil
		}
		defer root.Chmod(name, info.Mode())
		dir, err = root.Open(name)
	}
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	return entries
}

// A Stamp identifies one content of a file by its metadata.
type Stamp struct {
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"` // nanoseconds
	Ctime int64  `json:"ctime"`
}

// clockTick is more than the steps in which file systems write times.
const clockTick = 100 * time.Millisecond

// StampOf returns the stamp of the file at path.
func StampOf(path string) (Stamp, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Stamp{}, fmt.Errorf("cannot look at %s: %w", path, err)
	}
	return stamp(&st), nil
}

// StampOfFile returns the stamp of an open file.
func StampOfFile(f *os.File) (Stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stamp{}, fmt.Errorf("cannot look at %s: %w", f.Name(), err)
	}
	return stamp(&st), nil
}

func stamp(st *unix.Stat_t) Stamp {
	return Stamp{Dev: uint64(st.Dev), Inode: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}
}

// Settled reports whether every later change of the content changes the stamp, which was read at
// now. File systems write times in steps: two writes within one step leave the same stamp. A
// write makes both times equal, so that a stamp with two times, as after a rename, is unique.
func (s Stamp) Settled(now time.Time) bool {
	return s.Mtime != s.Ctime || now.Sub(time.Unix(0, s.Ctime)) > clockTick
}

// Within reports whether path is folder or below it. It compares texts and follows no link.
func Within(path, folder string) bool {
	path, folder = filepath.Clean(path), filepath.Clean(folder)
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
