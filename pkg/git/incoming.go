package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

var (
	objectFolder = regexp.MustCompile(`^[0-9a-f]{2}$`)
	objectFile   = regexp.MustCompile(`^([0-9a-f]{38}|[0-9a-f]{62})$`)
	packFile     = regexp.MustCompile(`^pack-[0-9a-f]{40,64}\.(pack|idx)$`)
)

// mostTaken is how many bytes are taken over at once.
func (r *Repo) mostTaken() int64 {
	if r.MaxTaken > 0 {
		return r.MaxTaken
	}
	return mostBytes
}

// An oddError says what is wrong with the objects in a folder.
type oddError struct{ text string }

func (e oddError) Error() string { return e.text }

// copyObjects copies loose objects and packs of the folder, whose names have their form, so that they stay as they are
// while they are looked at. Everything else that lies beside them is left: alternates, bitmaps, graphs.
func (in *incoming) copyObjects(ctx context.Context) (why string, err error) {
	c := copying{in: in, ctx: ctx, bytes: in.folder.repo.mostTaken()}
	err = c.list("objects", func(e fs.DirEntry) error {
		if !e.IsDir() || !objectFolder.MatchString(e.Name()) {
			return nil
		}
		return c.files(e.Name(), objectFile)
	})
	if err == nil {
		err = c.files("pack", packFile)
	}
	return oddOr(err)
}

// oddOr tells what is wrong with the objects from an error of the machine.
func oddOr(err error) (why string, _ error) {
	if odd, ok := errors.AsType[oddError](err); ok {
		return odd.text, nil
	}
	return "", err
}

// copying counts what it may still copy.
type copying struct {
	in    *incoming
	ctx   context.Context
	seen  int
	bytes int64
}

// list calls each for the entries of a folder, as many at a time as fit in memory. One that is not there has none.
func (c *copying) list(name string, each func(fs.DirEntry) error) error {
	info, err := c.in.from.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var dir *os.File
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err == nil {
		dir, err = c.in.from.root.Open(name)
	}
	if err != nil {
		return oddError{fmt.Sprintf("its folder %s cannot be read: %v", name, err)}
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			if c.seen++; c.seen > mostFiles {
				return oddError{fmt.Sprintf("it has more than %d files of objects", mostFiles)}
			}
			if err := errors.Join(c.ctx.Err(), each(e)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *copying) files(folder string, form *regexp.Regexp) error {
	made := false
	return c.list(path.Join("objects", folder), func(e fs.DirEntry) error {
		if !form.MatchString(e.Name()) || !e.Type().IsRegular() {
			return nil
		}
		to := filepath.Join(c.in.dir, "copied", folder, e.Name())
		if !made {
			made = true
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
		}
		return c.file(path.Join("objects", folder, e.Name()), to)
	})
}

func (c *copying) file(name, to string) error {
	from, err := c.in.from.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // packed meanwhile
	}
	if err != nil {
		return oddError{fmt.Sprintf("its object %s cannot be read: %v", name, err)}
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(from, c.bytes+1))
	if c.bytes -= n; c.bytes < 0 {
		err = oddError{fmt.Sprintf("it has more than %d MB of objects", c.in.folder.repo.mostTaken()>>20)}
	}
	return errors.Join(err, file.Close())
}
