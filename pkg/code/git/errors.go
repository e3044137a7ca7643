package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The errors of Open and Locate.
var (
	ErrNoRepository = errors.New("not a git repository")
	ErrBare         = errors.New("a bare repository has no checkout, and Liza needs one")
	ErrVersion      = errors.New("git 2.38 or newer is needed")
)

// The errors of later calls.
var (
	// ErrNotFound: the ref, commit or file named in the message does not exist.
	ErrNotFound = errors.New("does not exist")
	// ErrRefMoved: a ref does not have the value that the caller expected, so it was not changed.
	ErrRefMoved = errors.New("moved in the meantime")
	// ErrLocked: the context ended while another process held git.lock.
	ErrLocked = errors.New("held by another process")
)

// Error is a git command that failed.
type Error struct {
	Args        []string // without the options of every command
	Dir         string
	ExitCode    int // -1 if a signal ended it
	Stderr      string
	interrupted bool // by a signal of the terminal, which Liza does not send
}

func (e *Error) Error() string {
	args := e.Args
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	name := strings.Join(args[:min(2, len(args))], " ")
	if len(args) > 1 && (args[0] != "worktree" && args[0] != "submodule") {
		name = args[0]
	}
	return fmt.Sprintf("git %s: %s (exit %d)", name, e.reason(), e.ExitCode)
}

// reason returns the fatal and error lines of stderr, or all of it, on one line.
func (e *Error) reason() string {
	var lines []string
	for line := range strings.Lines(e.Stderr) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"fatal: ", "error: "} {
			if text, found := strings.CutPrefix(line, mark); found {
				lines = append(lines, text)
			}
		}
	}
	text := strings.Join(lines, "; ")
	if text == "" {
		text = strings.Join(strings.Fields(e.Stderr), " ")
	}
	if text == "" {
		text = "failed without a message"
	}
	const most = 600
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Unwrap is what the file system lacked, by git's words for it: a process of its own says it in no other way.
func (e *Error) Unwrap() error {
	for _, lack := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		if strings.Contains(strings.ToLower(e.Stderr), lack.Error()) {
			return &fs.PathError{Op: "git", Path: filepath.Join(e.Dir, ".git"), Err: lack}
		}
	}
	return nil
}

// lacks reports whether the machine had too little memory or space for the command, which says nothing about its input.
func (e *Error) lacks() bool {
	text := strings.ToLower(e.Stderr)
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "resource temporarily unavailable", "no space left on device", "disk quota exceeded", "too many open files", "input/output error"},
		func(lack string) bool { return strings.Contains(text, lack) })
}

// exitCode is 0 for no error, the exit code of a git command that failed, and -1 for any other error.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.ExitCode
	}
	return -1
}

// stopped says why a call did not go on when its context ended.
func stopped(ctx context.Context, what string) error {
	return fmt.Errorf("%s: %w", what, context.Cause(ctx))
}

// about names the thing that an error is about: "branch x does not exist", or "cannot read branch x: …".
func about(thing string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%s %w", thing, err)
	}
	return fmt.Errorf("cannot read %s: %w", thing, err)
}

// UnsavedError is returned for work that was not removed or not saved because it would be lost (specs/decisions.md#D21).
type UnsavedError struct {
	ID   string
	Lost []string // commits of the branch, files, submodules
}

func (e *UnsavedError) Error() string {
	const most = 10
	shown := e.Lost[:min(most, len(e.Lost))]
	text := strings.Join(shown, ", ")
	if more := len(e.Lost) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("cannot let go of the work of %s, which is saved nowhere else: %s", e.ID, text)
}

// ConflictError lists the files that two commits changed in ways that cannot be merged.
type ConflictError struct {
	Files []string
}

func (e *ConflictError) Error() string {
	return "conflict in " + strings.Join(e.Files, ", ")
}

// A signError says that git could not sign a merge with the person's key.
type signError struct{ Err error }

func (e *signError) Error() string {
	return fmt.Sprintf("cannot sign the merge with your key (git.sign is true): %v", e.Err)
}

func (e *signError) Unwrap() error { return e.Err }

// Next is the command that helps.
func (e *signError) Next() string { return "liza doctor" }
