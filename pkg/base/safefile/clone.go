package safefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Cloning says how much CloneTree may copy. The zero value has no limits.
type Cloning struct {
	Most       int64 // bytes of all files together, with entrySize for each; 0: no limit
	MostCopied int64 // bytes of the files that share no blocks with their originals; 0: no limit
}

// Cloned is what CloneTree has made.
type Cloned struct {
	Files, Bytes int64
	Copied       int64 // bytes of Bytes that were copied; the rest shares the blocks of the originals
}

// Way names how the content came: reflink or copy.
func (c Cloned) Way() string {
	if c.Copied == 0 && c.Bytes > 0 {
		return Reflink
	}
	return Copy
}

const (
	Reflink = "reflink" // files share their blocks until one of them is written
	Copy    = "copy"
)

// ErrTooLarge is the error of CloneTree for a tree above the limits of its Cloning.
var ErrTooLarge = errors.New("it is too large")

const (
	entrySize = 512 // bytes that an entry counts besides its content: a program can make millions of empty files
	deepest   = 256 // folders in each other: every one of them takes two open files
)

// CloneTree makes a copy of the file, link or folder name in the folder from, with the same name in the folder to, where there must be
// none. Modes but setuid and sticky bits, and times, are kept. Files share the blocks of their originals where the file system can
// (FICLONE), and never an inode. It follows no link, opens nothing but files and folders, and leaves out devices, pipes and sockets. Files
// that vanish meanwhile are left out. After an error the caller removes what was made.
func CloneTree(ctx context.Context, from, to, name string, limits Cloning) (Cloned, error) {
	c := &cloner{ctx: ctx, limits: limits, workers: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))}
	err := func() error {
		src, err := openFolder(unix.AT_FDCWD, from)
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := openFolder(unix.AT_FDCWD, to)
		if err != nil {
			return err
		}
		defer dst.Close()
		return c.entry(src, dst, name, fs.ModeIrregular, 0)
	}()
	if err != nil {
		err = fmt.Errorf("cannot copy %s: %w", filepath.Join(from, name), err)
	}
	return Cloned{Files: c.files.Load(), Bytes: c.bytes.Load(), Copied: c.copied.Load()}, err
}

type cloner struct {
	ctx     context.Context
	limits  Cloning
	workers chan struct{}
	files   atomic.Int64
	bytes   atomic.Int64
	copied  atomic.Int64
	entries atomic.Int64
	plain   atomic.Bool // the file system cannot share blocks
}

func openFolder(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// entry copies one entry of a folder. kind is its type, or fs.ModeIrregular if that is not known.
func (c *cloner) entry(src, dst *os.File, name string, kind fs.FileMode, depth int) error {
	if c.limits.Most > 0 && c.entries.Add(1)*entrySize+c.bytes.Load() > c.limits.Most {
		return ErrTooLarge
	}
	if kind.IsRegular() { // its facts are those of the file that is opened
		return c.file(src, dst, name)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(src.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return gone(err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return c.file(src, dst, name)
	case unix.S_IFDIR:
		return c.folder(src, dst, name, &st, depth)
	case unix.S_IFLNK:
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(src.Fd()), name, buf)
		if err != nil {
			return gone(err)
		}
		if err := unix.Symlinkat(string(buf[:n]), int(dst.Fd()), name); err != nil {
			return err
		}
		return setTimes(dst, name, &st)
	}
	return nil
}

// gone is nil for an entry that vanished.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (c *cloner) folder(src, dst *os.File, name string, st *unix.Stat_t, depth int) error {
	if depth > deepest {
		return fmt.Errorf("there are more than %d folders in each other", deepest)
	}
	from, err := openFolder(int(src.Fd()), name)
	if err != nil {
		return gone(err)
	}
	defer from.Close()
	if err := unix.Mkdirat(int(dst.Fd()), name, 0o700); err != nil {
		return err
	}
	to, err := openFolder(int(dst.Fd()), name)
	if err != nil {
		return err
	}
	defer to.Close()
	entries, err := from.ReadDir(-1)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, e := range entries {
		one := func() {
			if err := c.entry(from, to, e.Name(), e.Type(), depth+1); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		}
		mu.Lock()
		stop := failed != nil || c.ctx.Err() != nil
		mu.Unlock()
		if stop {
			break
		}
		if !e.IsDir() {
			one()
			continue
		}
		select {
		case c.workers <- struct{}{}:
			all.Go(func() {
				defer func() { <-c.workers }()
				one()
			})
		default:
			one()
		}
	}
	all.Wait()
	if err := errors.Join(failed, c.ctx.Err()); err != nil {
		return err
	}
	if err := unix.Fchmod(int(to.Fd()), uint32(st.Mode)&0o777); err != nil {
		return err
	}
	return setTimes(dst, name, st)
}

func (c *cloner) file(src, dst *os.File, name string) error {
	in, err := unix.Openat(int(src.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(in)
	var st unix.Stat_t // of what was opened
	if err := unix.Fstat(in, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	if c.bytes.Add(st.Size); c.limits.Most > 0 && c.bytes.Load() > c.limits.Most {
		return ErrTooLarge
	}
	c.files.Add(1)
	out, err := unix.Openat(int(dst.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(out)
	if st.Size > 0 && !c.shares(in, out) {
		if c.copied.Add(st.Size); c.limits.MostCopied > 0 && c.copied.Load() > c.limits.MostCopied {
			return ErrTooLarge
		}
		if err := c.content(in, out, st.Size); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := unix.Fchmod(out, uint32(st.Mode)&0o777); err != nil {
		return err
	}
	return setTimes(dst, name, &st)
}

// shares makes one file share the blocks of another, if the file system can.
func (c *cloner) shares(in, out int) bool {
	if c.plain.Load() {
		return false
	}
	err := clone(out, in)
	if err != nil {
		c.plain.Store(true) // it is one file system
	}
	return err == nil
}

// copyBuffer is how much of a file is read at a time.
const copyBuffer = 256 << 10

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}

// content copies up to size bytes: a file that grows meanwhile is cut.
func (c *cloner) content(in, out int, size int64) error {
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	for size > 0 {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Read(in, (*buf)[:min(size, copyBuffer)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return err
		}
		for data := (*buf)[:n]; len(data) > 0; {
			w, err := unix.Write(out, data)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
			data = data[max(w, 0):]
		}
		size -= int64(n)
	}
	return nil
}

func setTimes(dir *os.File, name string, st *unix.Stat_t) error {
	return unix.UtimesNanoAt(int(dir.Fd()), name, []unix.Timespec{st.Mtim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// Reflinks reports whether files of a folder can share their blocks with copies in it. It makes two small files for a moment.
func Reflinks(dir string) bool {
	made, err := os.MkdirTemp(dir, ".reflink-*")
	if err != nil {
		return false
	}
	defer os.RemoveAll(made)
	if os.WriteFile(filepath.Join(made, "a"), []byte(strings.Repeat("a", 1<<12)), 0o600) != nil || os.Mkdir(filepath.Join(made, "b"), 0o700) != nil {
		return false
	}
	cloned, err := CloneTree(context.Background(), made, filepath.Join(made, "b"), "a", Cloning{})
	return err == nil && cloned.Way() == Reflink
}
