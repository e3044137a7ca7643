package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"liza/pkg/safefile"
)

// A board that goes from its file to another place leaves a mark in the git dir. While it is there nobody writes the file: a process that
// had opened it before, or that waits for its lock, would write what no other host sees.

// A MovedError says that the board of this file goes to another place, or has gone.
type MovedError struct{ Path, To string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("cannot write %s: a move of the board (liza store move %s) is not complete, or the board has moved", short(e.Path), e.To)
}

// Next is the command that helps.
func (e *MovedError) Next() string { return "liza store move " + e.To }

func awayPath(o Options) string { return filepath.Join(o.GitDir, "liza", "moved") }

// MarkAway begins a move of the board to another place. The caller holds the lock of the file.
func MarkAway(o Options, to string) error {
	if err := os.MkdirAll(filepath.Dir(awayPath(o)), 0o755); err != nil {
		return fmt.Errorf("cannot move the board: %w", err)
	}
	return safefile.Replace(awayPath(o), []byte(to+"\n"), 0o644)
}

// MarkHere ends it: the board is in the file. The caller holds the lock of the file.
func MarkHere(o Options) error {
	if err := os.Remove(awayPath(o)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot take the board back: %w", err)
	}
	return nil
}

// IsAway reports whether such a move was begun, or made.
func IsAway(o Options) bool {
	_, err := os.Lstat(awayPath(o))
	return err == nil
}

// away is why the file must not be written, nil when it is the board.
func (f *File) away() error {
	to, err := safefile.Read(awayPath(f.o))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", short(f.o.Path), err)
	}
	return &MovedError{Path: f.o.Path, To: string(to[:max(0, len(to)-1)])}
}
