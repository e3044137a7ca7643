package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// MaxLog is the size at which the log of a program's output is rotated (specs/protocol.md#3.5).
const MaxLog = 50 << 20

// A Log is a file that grows at its end. At its limit it is renamed to NAME.1, replacing the former one, so that both
// together are bounded.
type Log struct {
	path  string
	limit int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens the log at path, or creates it with mode. It renames a log that has limit bytes or
// more to NAME.1 first.
func OpenLog(path string, mode fs.FileMode, limit int64) (*Log, error) {
	if err := MakeFolder(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot open the log %s: %w", path, err)
	}
	l := &Log{path: path, limit: limit}
	info, err := os.Stat(path)
	if err == nil && info.Size() >= limit {
		err = os.Rename(path, path+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot open the log %s: %w", path, err)
	}
	return l, l.open(mode)
}

func (l *Log) open(mode fs.FileMode) error {
	f, err := OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("cannot open the log %s: %w", l.path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("cannot open the log %s: %w", l.path, err), f.Close())
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write appends p, to a new file if the present one would exceed the limit.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.limit {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *Log) rotate() error {
	info, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("cannot put the log %s away: %w", l.path, err)
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot put the log %s away: %w", l.path, err)
	}
	old := l.file
	if err := l.open(info.Mode().Perm()); err != nil {
		return err
	}
	_ = old.Close() // all that it had was written
	n, err := fmt.Fprintf(l.file, "[… what came before is in %s.1]\n", filepath.Base(l.path))
	l.size += int64(n)
	return err
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
