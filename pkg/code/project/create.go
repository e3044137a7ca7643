package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"liza/pkg/base/safefile"
)

// people lists what a person may put into .liza before init.
var people = []string{".gitignore", "config.json", "config.yaml", "instructions.md", "roles", "skills"}

const (
	tempPrefix = ".liza.tmp-"
	manifest   = ".moving" // in the temporary folder: names that are being moved into .liza
	initWait   = 10 * time.Second
)

// Create makes .liza (specs/protocol.md#1.1). fill writes the files into the given folder and makes everything that must
// exist before the project does. If it fails, or this process dies at any point, there is no project, and the next Create
// cleans up. Create keeps files that a person put into .liza before; it moves the others in, state.yaml last. For an existing
// project the error is an *Error.
func (p *Project) Create(ctx context.Context, fill func(dir string) error) error {
	unlock, err := p.lockInit(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	target, err := p.target()
	if err != nil {
		return err
	}
	if err := sweep(target); err != nil {
		return err
	}
	if err := p.free(target); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(target), tempPrefix+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(temp, 0o755); err != nil {
		return fmt.Errorf("cannot make %s: %v", temp, err)
	}
	defer os.RemoveAll(temp)
	if err := os.WriteFile(filepath.Join(temp, ".gitignore"), []byte(Ignore), 0o644); err != nil {
		return fmt.Errorf("cannot write .liza/.gitignore: %v", err)
	}
	if err := fill(temp); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	if _, err := os.Stat(target); err == nil {
		return moveIn(temp, target)
	}
	if err := os.Rename(temp, target); err != nil {
		return fmt.Errorf("cannot make %s: %v", target, err)
	}
	return syncDir(filepath.Dir(target))
}

// lockInit keeps a second init away. No merge happens before there is a project, so
// the lock of merges serves; fill may take the locks that come after it.
func (p *Project) lockInit(ctx context.Context) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, initWait)
	defer cancel()
	return safefile.LockIn(ctx, p.MergeLock(), safefile.Holder{PID: os.Getpid(), Op: "init"})
}

// target is .liza, or the folder that it is a link to.
func (p *Project) target() (string, error) {
	switch err := p.folder(); {
	case errors.Is(err, fs.ErrNotExist):
		return p.Liza, nil
	case err != nil:
		return "", err
	}
	real, err := filepath.EvalSymlinks(p.Liza)
	if err != nil {
		return "", fmt.Errorf("cannot use %s: %v", p.Liza, err)
	}
	return real, nil
}

// free says why the folder cannot become a project.
func (p *Project) free(target string) error {
	entries, err := os.ReadDir(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot look into %s: %v", target, err)
	}
	var others []string
	for _, e := range entries {
		if e.Name() == "state.yaml" {
			return &Error{
				Message: fmt.Sprintf("cannot init: %s has a Liza project already", p.Root),
				Next:    "liza status", Reason: ErrInitialised,
			}
		}
		if !slices.Contains(people, e.Name()) {
			others = append(others, e.Name())
		}
	}
	if p.begun() {
		return &Error{
			Message: fmt.Sprintf("cannot init: .liza has lost its state.yaml, but it has %s", strings.Join(others, ", ")),
			Next:    "liza restore", Reason: ErrInitialised,
		}
	}
	return nil
}

// moveIn moves the files of temp into target, state.yaml last. It keeps existing files. After an error it removes the moved
// ones.
func moveIn(temp, target string) (err error) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return fmt.Errorf("cannot look into %s: %v", temp, err)
	}
	var names []string
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(target, e.Name())); err != nil {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	if err := safefile.Replace(filepath.Join(temp, manifest), []byte(strings.Join(names, "\n")), 0o644); err != nil {
		return err
	}
	for i, name := range names {
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(target, name)); err != nil {
			for _, moved := range names[:i] {
				os.RemoveAll(filepath.Join(target, moved))
			}
			return fmt.Errorf("cannot move %s into %s: %v", name, target, err)
		}
	}
	return syncDir(target)
}

func rank(name string) int {
	if name == "state.yaml" {
		return 1
	}
	return 0
}

// sweep removes the remainder of a killed init: its temporary folder, and the files that it moved into target if state.yaml
// is not among them.
func sweep(target string) error {
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return fmt.Errorf("cannot look for the rest of an earlier init: %v", err)
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), tempPrefix)
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || !e.IsDir() || pid != os.Getpid() && !dead(pid) {
			continue
		}
		temp := filepath.Join(filepath.Dir(target), e.Name())
		if err := undo(temp, target); err != nil {
			return err
		}
		if err := os.RemoveAll(temp); err != nil {
			return fmt.Errorf("cannot remove the rest of an earlier init: %v", err)
		}
	}
	return nil
}

// undo removes the files named in temp's manifest from target, unless state.yaml was moved: then the init was complete.
func undo(temp, target string) error {
	list, err := safefile.Read(filepath.Join(temp, manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the rest of an earlier init: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(temp, "state.yaml")); err != nil {
		return nil
	}
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSuffix(name, "\n")
		if name == "" || filepath.Base(name) != name || !filepath.IsLocal(name) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(temp, name)); err == nil {
			continue // not moved yet: what is in target under that name is not ours
		}
		if err := os.RemoveAll(filepath.Join(target, name)); err != nil {
			return fmt.Errorf("cannot remove the rest of an earlier init: %v", err)
		}
	}
	return nil
}

func dead(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("cannot flush %s: %v", dir, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("cannot flush %s: %v", dir, err)
	}
	return nil
}
