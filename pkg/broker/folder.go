package broker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Socket is the name of the broker's socket in the folder of a run.
const Socket = "broker.sock"

// longest is how long the path of a socket may be: macOS has 104 bytes for it, Linux 108.
const longest = 103

// Folder is the folder of one run. The same agent of the same project has the same path again, so that
// what a killed supervisor left is found and removed.
type Folder struct {
	Path     string
	Listener net.Listener // of the broker
	open     *os.File     // the folder itself, so that no other one is taken for it
}

// Base is where folders of runs are made: the person's runtime folder (XDG_RUNTIME_DIR) when it can be
// used, else /tmp.
func Base(runtime string) string {
	name := filepath.Join(runtime, "liza-"+strconv.Itoa(os.Getuid()), "00000000", Socket)
	if info, err := os.Stat(runtime); filepath.IsAbs(runtime) && len(name) <= longest && err == nil && info.IsDir() {
		return filepath.Clean(runtime)
	}
	return "/tmp"
}

// folderOf is the path of the folder of that agent's run.
func folderOf(base, project, agent string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + agent))
	return filepath.Join(base, "liza-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:4]))
}

// MakeFolder makes the folder of a run with the broker's socket. What an earlier run of that agent left
// is removed, and so is what other supervisors left that were killed.
func MakeFolder(base, project, agent string) (*Folder, error) {
	f := &Folder{Path: folderOf(base, project, agent)}
	err := alone(filepath.Dir(f.Path), func() (err error) {
		if err = errors.Join(sweep(filepath.Dir(f.Path)), os.RemoveAll(f.Path)); err == nil {
			err = os.Mkdir(f.Path, 0o700)
		}
		if err == nil {
			f.open, err = os.Open(f.Path)
		}
		if err == nil {
			f.Listener, err = f.Listen(Socket)
		}
		return err
	})
	if err != nil {
		_ = f.open.Close() // of nil: an error that says so
		return nil, fmt.Errorf("cannot make the folder of a run: %w", err)
	}
	return f, nil
}

// Listen opens a socket in the folder, for its owner only. It goes with the folder.
func (f *Folder) Listen(name string) (net.Listener, error) {
	path := filepath.Join(f.Path, name)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // a later run may have its own in this place by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Remove removes the folder, once, when its server is closed. One that has taken its place belongs to a later run, and
// stays. Whether the socket is answered says nothing here: a program that starts at this moment has a copy of it.
func (f *Folder) Remove() error {
	defer f.open.Close()
	own, err := f.open.Stat()
	if err != nil {
		return err
	}
	return alone(filepath.Dir(f.Path), func() error {
		if now, err := os.Lstat(f.Path); err != nil || !os.SameFile(own, now) {
			return nil // it is gone
		}
		return os.RemoveAll(f.Path)
	})
}

// RemoveStale removes the folders of runs whose supervisors were killed. A folder whose socket is answered belongs to a run
// that is under way, and stays.
func RemoveStale(base string) error {
	dir := filepath.Dir(folderOf(base, "", ""))
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return alone(dir, func() error { return sweep(dir) })
}

func sweep(dir string) (err error) {
	all, _ := filepath.Glob(filepath.Join(dir, "*", Socket))
	for _, socket := range all {
		if !answered(socket) {
			err = errors.Join(err, os.RemoveAll(filepath.Dir(socket)))
		}
	}
	return err
}

// answered reports whether somebody listens, even when that one has no time now.
func answered(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		_ = conn.Close() // nothing was said
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

// alone does something in the folder that holds those of all runs, while no other process does. /tmp is
// everybody's: a folder that is not ours alone is not used.
func alone(dir string, do func() error) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close() // it gives the lock back
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if own, ok := info.Sys().(*syscall.Stat_t); !ok || int(own.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be changed by others: its owner must be uid %d and its mode 0700; remove it, or set XDG_RUNTIME_DIR", dir, os.Getuid())
	}
	if err := flock(f); err != nil {
		return fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	return do()
}

// flock waits for the lock of an open folder, which is held for a few file operations at a time.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
