package verb

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
	"liza/pkg/store"
)

// scrub masks what was written before a secret was known to be one: notes and every other
// text of the board, the archive, the states that were, histories, prompts, logs and reports
// (specs/roles-and-knowledge.md#9.6). It may be repeated.
func (d *Service) scrub(ctx context.Context) error {
	op := store.Op{Name: "scrub", Agent: blackboard.System}
	err := d.Store.Update(ctx, op, func(s *blackboard.State) error {
		s.OwnHolding(d.Secrets.Mask) // the store masks what is changed
		return d.Archives().Scrub(d.Secrets.Mask)
	})
	if err != nil {
		return err
	}
	holds := func(data []byte) bool { return d.Secrets.Mask(string(data)) != string(data) }
	if f, ok := d.Store.(store.Forgetter); ok {
		if err := f.Forget(ctx, op, holds); err != nil {
			return err
		}
	}
	if err := d.scrubHistories(ctx); err != nil {
		return err
	}
	if err := d.scrubFiles(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(d.Project.Secrets(), scrubMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot end the masking of secrets: %v", err)
	}
	return nil
}

func (d *Service) scrubHistories(ctx context.Context) error {
	folders, err := filepath.Glob(d.Project.HistoryDir("*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := d.Interactions(filepath.Base(folder)).Scrub(ctx, d.scrubFile); err != nil {
			return err
		}
	}
	return nil
}

// notScrubbed are what the scrub leaves alone below .liza: what people write and git tracks,
// what is masked apart from the other files, and the secrets themselves.
var notScrubbed = []string{"secrets", "roles", "skills", "history", filepath.Join("archive", "roles"), "state.yaml", "log.yaml", "config.yaml", "config.json", "instructions.md", ".gitignore"}

// scrubFiles masks the files below .liza that are not state.
func (d *Service) scrubFiles() error {
	return filepath.WalkDir(d.Project.Liza, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // somebody else has removed it
			}
			return err
		}
		if rel, _ := filepath.Rel(d.Project.Liza, path); slices.Contains(notScrubbed, rel) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		tasks := filepath.Dir(path) == d.Project.ArchiveDir() && filepath.Ext(path) == ".yaml"
		if !e.Type().IsRegular() || tasks {
			return nil
		}
		return d.scrubFile(path)
	})
}

// scrubFile masks one file. One to which others may be adding lines stays the same file.
func (d *Service) scrubFile(path string) error {
	data, err := safefile.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) { // nothing is in a folder of that name
		return nil
	}
	packed := strings.HasSuffix(path, ".gz")
	if err == nil && packed {
		data, err = unpack(data)
	}
	if err != nil {
		return fmt.Errorf("cannot mask secrets in %s: %v", path, err)
	}
	text := d.Secrets.Mask(string(data))
	if text == string(data) {
		return nil
	}
	out := []byte(text)
	switch {
	case packed:
		out, err = pack(out)
		fallthrough
	case !slices.Contains([]string{".log", ".jsonl", ".events"}, filepath.Ext(path)):
		if err == nil {
			err = safefile.Replace(path, out, 0o600)
		}
	default:
		err = rewrite(path, out)
	}
	if err != nil {
		return fmt.Errorf("cannot mask secrets in %s: %w", path, err)
	}
	return nil
}

// rewrite puts other content into a file.
func rewrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// scrubMark is in the folder of secrets as long as a scrub is due.
const scrubMark = ".scrub"
