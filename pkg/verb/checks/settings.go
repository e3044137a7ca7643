package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// settleSettings makes what agent programs take as settings of a project in a place what it is on the integration branch: what the commit
// changed, and what its setup made, is not there.
func (c *Checks) settleSettings(ctx context.Context, s *blackboard.State, p *Place) error {
	tip, err := c.branch.TipHere(ctx, s)
	if err != nil {
		return err
	}
	settings, err := c.branch.SettingsAt(ctx, tip)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := removeAll(root, settings.Has); err != nil {
		return err
	}
	for _, f := range settings.Files {
		text, err := c.board.Repo.ReadFile(ctx, tip, f.Path)
		if err == nil {
			err = put(root, f, text)
		}
		if err != nil {
			return fmt.Errorf("cannot take %s from the integration branch: %w", f.Path, err)
		}
	}
	return nil
}

// removeAll removes what is a setting from a checkout. Packages that others have made are left alone: a program reads no settings in there.
func removeAll(root *os.Root, isSetting func(string) bool) error {
	return fs.WalkDir(root.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case at == ".git" || e.IsDir() && e.Name() == "node_modules":
			return skip(e)
		case at == "." || !isSetting(at):
			return nil
		}
		if err := root.RemoveAll(at); err != nil {
			return err
		}
		return skip(e)
	})
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// put writes a file of a commit.
func put(root *os.Root, f git.Listed, text []byte) error {
	if dir := path.Dir(f.Path); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if !f.Regular {
		return root.Symlink(string(text), f.Path)
	}
	mode := fs.FileMode(0o644)
	if f.Runs {
		mode = 0o755
	}
	return root.WriteFile(f.Path, text, mode)
}
