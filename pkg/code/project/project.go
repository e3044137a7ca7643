// Package project has the paths of a project: its root, every path of specs/protocol.md#1.1, the control files PAUSE, ABORT
// and CHECKPOINT, and the free space on the disk.
//
// Find is for all commands but init; At is for init, which comes before there is a project, and Create makes the folder .liza
// whole or not at all. The package starts no process, so commands that only read find their project without git.
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"liza/pkg/code/git"
)

// The reasons why there is no project; each is in an *Error.
var (
	ErrNoRepository   = git.ErrNoRepository
	ErrBare           = git.ErrBare
	ErrNotInitialised = errors.New("not initialised")
	ErrInitialised    = errors.New("already initialised")
)

// Error is a refusal of Find, At or Create: a sentence and the next command.
type Error struct {
	Message string
	Next    string
	Reason  error // one of the errors above, or nil
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Reason }

// Find returns the project of the folder start: that of the nearest repository above it that has .liza in its main checkout
// (specs/protocol.md#14, B29). With root (-C or LIZA_ROOT) only the repository of that folder counts. The error is an *Error.
func Find(ctx context.Context, start, root string) (*Project, error) {
	if root != "" {
		p, err := At(root)
		if err != nil {
			return nil, err
		}
		return p.usable()
	}
	at, err := filepath.Abs(start)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return nil, &Error{Message: fmt.Sprintf("cannot find a project: %v", err), Next: "cd PROJECT"}
	}
	nearest, problem := At(at)
	for ; ctx.Err() == nil; at = filepath.Dir(at) {
		p, err := At(at)
		if err == nil && p.exists() {
			return p.usable()
		}
		if nearest == nil && err == nil {
			nearest = p
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case nearest != nil:
		return nearest.usable()
	}
	return nil, problem
}

// At returns the project of the repository of dir, whether Liza was initialised in it or not. The error is an *Error.
func At(dir string) (*Project, error) {
	place, err := git.Locate(dir)
	switch {
	case errors.Is(err, ErrBare):
		return nil, &Error{Message: err.Error(), Next: "git clone " + git.ShellWord(dir) + " FOLDER", Reason: ErrBare}
	case errors.Is(err, ErrNoRepository):
		return nil, &Error{Message: err.Error(), Next: "git init", Reason: ErrNoRepository}
	case err != nil:
		return nil, &Error{Message: err.Error(), Next: "cd PROJECT"}
	}
	return &Project{Root: place.Root, GitDir: place.CommonDir, Liza: filepath.Join(place.Root, ".liza")}, nil
}

// exists reports whether there is a .liza of any kind.
func (p *Project) exists() bool {
	_, err := os.Lstat(p.Liza)
	return err == nil
}

// usable gives the project, or says why it cannot be used.
func (p *Project) usable() (*Project, error) {
	if err := p.folder(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !p.begun() && p.Lost() {
		return nil, &Error{
			Message: fmt.Sprintf("cannot find the state: %s was removed; snapshots of it are kept", p.Liza),
			Next:    "liza restore", Reason: ErrNotInitialised,
		}
	}
	if !p.begun() {
		return nil, &Error{
			Message: fmt.Sprintf("cannot find a project: Liza is not initialised in %s", p.Root),
			Next:    "liza init GOAL", Reason: ErrNotInitialised,
		}
	}
	return p, nil
}

// begun reports whether init was run: a .liza with only the files that people write is not a project yet. A project without
// its state.yaml counts.
func (p *Project) begun() bool {
	for _, path := range []string{p.State(), p.Lock(), p.Journal()} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// Lost reports whether .liza of a project was removed, as `git clean -fdx` does: Liza's files in the git folder still exist.
func (p *Project) Lost() bool {
	_, err := os.Stat(filepath.Join(p.GitDir, "liza", "committed"))
	return err == nil && !p.begun()
}

// Revive makes the folder of a lost project, so that a state can be restored into it.
func (p *Project) Revive() error {
	if err := os.MkdirAll(p.Liza, 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %v", p.Liza, err)
	}
	ignore := filepath.Join(p.Liza, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	if err := os.WriteFile(ignore, []byte(Ignore), 0o644); err != nil {
		return fmt.Errorf("cannot write .liza/.gitignore: %v", err)
	}
	return nil
}

// folder checks that .liza is a folder or a link to one (specs/protocol.md#14, B28). Its
// absence is fs.ErrNotExist.
func (p *Project) folder() error {
	info, err := os.Lstat(p.Liza)
	if err != nil {
		return err
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if link {
		info, err = os.Stat(p.Liza)
	}
	switch {
	case err != nil && link:
		return &Error{Message: fmt.Sprintf("cannot use %s: it is a link to a folder that is not there", p.Liza), Next: "ls -ld " + p.Liza}
	case err != nil:
		return &Error{Message: fmt.Sprintf("cannot use %s: %v", p.Liza, err), Next: "ls -ld " + p.Liza}
	case !info.IsDir():
		return &Error{Message: fmt.Sprintf("cannot use %s: it is not a folder", p.Liza), Next: "ls -ld " + p.Liza}
	}
	return nil
}

// Ignore is the content of .liza/.gitignore: git tracks only the files that people write.
const Ignore = `# Written by liza init. Git tracks what people write here and nothing else.
/*
!/.gitignore
!/config.yaml
!/config.json
!/roles/
!/skills/
!/instructions.md
`

// A FileSystem is the file system of a path.
type FileSystem struct {
	Name    string // "nfs"; "" if the system does not say or the kind has no name here
	Network bool   // other machines may change its files, without events here (specs/protocol.md#14, B30)
}

// FileSystemOf returns the file system of a path that exists or can be made. known is false if the system does not say.
func FileSystemOf(path string) (f FileSystem, known bool) {
	for {
		f, err := fileSystem(path)
		if err == nil {
			return f, true
		}
		if up := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && up != path {
			path = up
			continue
		}
		return FileSystem{}, false
	}
}

// FreeMB returns the free space of the file system of path in MiB (specs/decisions.md#D25); path need not exist. known is
// false if the system does not say; a full disk is 0 and known.
func FreeMB(path string) (mb int, known bool) {
	for {
		free, err := statfs(path)
		if err == nil {
			return int(free >> 20), true
		}
		if up := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && up != path {
			path = up
			continue
		}
		return 0, false
	}
}
