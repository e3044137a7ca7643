package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// Settings are the files below .liza that all hosts of a board share: settings, roles and instructions.
type Settings struct {
	Paths []string
	// Own returns the text of a file for this host, with its own connection to the database. An error refuses the file.
	Own func(store.BoardFile) (string, error)
	// Held reports whether git has made the settings of this host weaker: they are not given to the others then. nil: never.
	Held func() bool
}

// kept is up to where this host has the settings of the board.
type kept struct {
	File int64             `json:"file"` // number of the last file
	Sums map[string]string `json:"sums"` // hashes of the files on this host then
}

// FollowSettings writes changed settings of other hosts to this host, and those of this host to the board. It returns the
// paths of the former. If both changed a file, the board's wins, and this host's is kept beside it.
func (s *Store) FollowSettings(ctx context.Context) (took []string, err error) {
	return s.settings(ctx, false)
}

// TakeSettings is FollowSettings for a host that joins: the board's files win, and others of this host are kept beside them.
func (s *Store) TakeSettings(ctx context.Context) (took []string, err error) {
	return s.settings(ctx, true)
}

func (s *Store) settings(ctx context.Context, join bool) (took []string, err error) {
	if s.o.Settings.Own == nil {
		return nil, nil
	}
	err = s.locked(ctx, func() error {
		r, ok := readRecord(s.o.Record)
		if !ok {
			return nil
		}
		f := following{store: s, kept: r.Settings, dir: filepath.Dir(s.o.Path), join: join}
		if err := f.follow(ctx); err != nil || !f.changed {
			return err
		}
		r.Settings, took = f.kept, f.took
		return s.write(r)
	})
	if len(took) > 0 {
		s.o.Alert(blackboard.AlertSettingsChanged, "this host was behind; it has taken the settings of the board: "+strings.Join(took, ", "))
	}
	return took, err
}

// following is one look at the settings of board and host.
type following struct {
	store   *Store
	kept    kept
	dir     string // .liza
	join    bool
	changed bool // kept differs from the record
	took    []string
}

func (f *following) follow(ctx context.Context) error {
	here, err := ReadFiles(f.dir, f.store.o.Settings.Paths...)
	if err != nil {
		return err
	}
	own := map[string]string{}
	for _, x := range here {
		own[x.Path] = x.Text
	}
	first := f.kept.Sums == nil
	if first {
		f.kept, f.changed = kept{Sums: map[string]string{}}, true
	}
	news, err := f.store.Since(ctx, math.MaxInt64, f.kept.File)
	if err != nil {
		return err
	}
	settled := map[string]bool{}
	for _, x := range news.Files {
		if strings.HasPrefix(x.Path, archive) || !filepath.IsLocal(x.Path) || !f.store.o.Settings.has(x.Path) {
			continue
		}
		f.kept.File, f.changed = max(f.kept.File, x.Number), true
		if first && !f.join {
			if text, err := f.store.o.Settings.Own(x); err == nil && text != own[x.Path] {
				continue // this host made the board, and has changed it since
			}
		}
		settled[x.Path] = true
		if err := f.take(x, own); err != nil {
			return err
		}
	}
	return f.give(ctx, own, settled)
}

func (s Settings) has(path string) bool {
	return slices.ContainsFunc(s.Paths, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// take replaces a file by that of the board.
func (f *following) take(x store.BoardFile, own map[string]string) error {
	text, err := "", error(nil)
	if x.Text != "" {
		if text, err = f.store.o.Settings.Own(x); err != nil {
			f.store.o.Alert(blackboard.AlertSettingsChanged, fmt.Sprintf("the board has a .liza/%s that cannot be used: %v", x.Path, err))
			return nil
		}
	}
	was := own[x.Path]
	if text == was {
		f.kept.Sums[x.Path] = sum(text)
		return nil
	}
	if was != "" && sum(was) != f.kept.Sums[x.Path] {
		f.store.o.Alert(blackboard.AlertSettingsChanged, fmt.Sprintf(".liza/%s was changed here and on the board; the board's version is used, and this host's is kept in %s", x.Path, f.store.keepAside(x.Path, was)))
	}
	if text == "" {
		err = os.Remove(filepath.Join(f.dir, x.Path))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = WriteFile(f.dir, store.BoardFile{Path: x.Path, Text: text})
	}
	own[x.Path] = text
	f.kept.Sums[x.Path] = sum(text)
	f.took = append(f.took, ".liza/"+x.Path)
	return err
}

// give writes the files that this host changed to the board, except for invalid ones.
func (f *following) give(ctx context.Context, own map[string]string, settled map[string]bool) error {
	for path := range f.kept.Sums {
		if _, there := own[path]; !there {
			own[path] = ""
		}
	}
	var changed []store.BoardFile
	for path, text := range own {
		x := store.BoardFile{Path: path, Text: text}
		if settled[path] || f.kept.Sums[path] == sum(text) || text == "" && f.kept.Sums[path] == "" {
			continue
		}
		if _, err := f.store.o.Settings.Own(x); text != "" && err != nil {
			continue
		}
		if held := f.store.o.Settings.Held; strings.HasPrefix(path, "config.") && held != nil && held() {
			continue
		}
		changed = append(changed, x)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := f.store.PutFiles(ctx, changed...); err != nil {
		return err
	}
	given := map[string]string{}
	for _, x := range changed {
		given[x.Path] = x.Text
		f.kept.Sums[x.Path], f.changed = sum(x.Text), true
	}
	// What was given is not taken again, unless another host came in between, which the next look sees.
	news, err := f.store.Since(ctx, math.MaxInt64, f.kept.File)
	if err != nil || slices.ContainsFunc(news.Files, func(x store.BoardFile) bool { return given[x.Path] != x.Text }) {
		return err
	}
	for _, x := range news.Files {
		f.kept.File = max(f.kept.File, x.Number)
	}
	return nil
}

func sum(text string) string {
	if text == "" {
		return ""
	}
	all := sha256.Sum256([]byte(text))
	return hex.EncodeToString(all[:])
}
