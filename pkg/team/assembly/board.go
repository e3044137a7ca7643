package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/mirror"
	"liza/pkg/board/store/postgres"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/verb"
)

// store opens the board of a project: the file, or the board in a database that config.yaml names. patience is how long who
// can show the copy waits for a database; 0: as long as for the lock.
func (e *Environment) Store(p *project.Project, cfg *Settings, taskArchive *history.Archive, patience time.Duration) (store.Project, error) {
	host, _ := os.Hostname()
	now := e.Now
	o := store.Options{Path: p.State(), GitDir: p.GitDir, LockTimeout: cfg.Get().LockTimeout(), Host: host, Strict: e.Strict,
		Validate: func(after, before *blackboard.State) []blackboard.Violation {
			return audit.Validate(after, before, audit.Evidence{Now: now(), Write: true, Archive: taskArchive, Secrets: e.Secrets().Finder()})
		},
		Mask:  e.Secrets().Mask,
		Seals: verb.Seals(e.Keys(), p.GitDir, p.Root),
		Alert: e.StoreNotice(p)}
	where := cfg.Get().Store
	if where.URL == "" {
		if board := mirror.Recorded(p.Mirror()); board != "" {
			return nil, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza config store.url URL",
				Message: fmt.Sprintf("the board of this project is %s, and .liza/state.yaml a copy of it; but config.yaml does not say so (store.url)", board)}
		}
		o.Now = e.Now
		return store.Open(o)
	}
	board, at, err := e.Board(where, o, patience)
	if bad, ok := errors.AsType[*postgres.AddressError](err); ok {
		return nil, &transition.Refusal{Exit: transition.ExitUsage, Next: "liza config store.url URL", Message: fmt.Sprintf("%s: store.url: %s", cfg.Get().Origin("store.url"), bad.Reason)}
	}
	if err != nil {
		return nil, err
	}
	now = board.Now
	settings := SettingsOf(p, at)
	settings.Held = func() bool { return len(cfg.Get().Held()) > 0 }
	copied := mirror.New(board, mirror.Options{Path: p.State(), Record: p.Mirror(), Name: at.String(), Alert: o.Alert, Settings: settings})
	e.closing = append(e.closing, copied.Close)
	return copied, nil
}

// PasswordVariable has the password of databases, as for each client of libpq.
const PasswordVariable = "PGPASSWORD"

// board opens a board in a database. It connects when it is used.
func (e *Environment) Board(where config.Store, o store.Options, patience time.Duration, files ...store.BoardFile) (*postgres.Store, postgres.Address, error) {
	at, err := postgres.ParseAddress(where.URL)
	if err != nil {
		return nil, at, err
	}
	if where.Board != "" {
		at.Board = where.Board
	}
	if err := postgres.CheckBoard(at.Board); err != nil {
		return nil, at, err
	}
	o.Now = nil // the database's
	board, err := postgres.Open(postgres.Options{URL: at.URL, Password: e.Password, Board: at.Board, Files: files, Patience: patience, Options: o})
	if err != nil {
		return nil, at, err
	}
	return board, at, nil
}

// close ends the connections of a command.
func (e *Environment) Close() {
	for _, end := range e.closing {
		end()
	}
	e.closing = nil
}

// IsShared reports whether other hosts use the board as well.
func IsShared(s store.Store) bool {
	_, shared := s.(store.Shared)
	return shared
}

// clock is the time that claims are compared with: that of the board, where several hosts share it.
func clock(s store.Store, own func() time.Time) func() time.Time {
	if shared, ok := s.(store.Shared); ok {
		return shared.Now
	}
	return own
}

// settingsPaths are the files below .liza that say how the hosts of a board work.
var settingsPaths = []string{"config.yaml", "config.json", "instructions.md", "roles"}

// SharedPaths are the files below .liza that a host that joins gets.
var SharedPaths = append(slices.Clone(settingsPaths), "archive")

// SettingsOf are the settings of a host. How it reaches the board is its own: as its file says now, else as it did.
func SettingsOf(p *project.Project, at postgres.Address) mirror.Settings {
	return mirror.Settings{Paths: settingsPaths, Own: func(f store.BoardFile) (string, error) {
		if f.Path != "config.yaml" && f.Path != "config.json" {
			return f.Text, nil
		}
		at := at
		if cfg, _ := config.LoadTolerant(p.Liza, nil); cfg.Store.URL != "" {
			if now, err := postgres.ParseAddress(cfg.Store.URL); err == nil {
				at = postgres.Address{URL: now.URL, Board: cmp.Or(cfg.Store.Board, now.Board, at.Board)}
			}
		}
		text, err := pinStore(f.Text, ".liza/"+f.Path, at)
		if err == nil {
			_, _, err = config.Parse([]byte(text), ".liza/"+f.Path, nil)
		}
		return text, err
	}}
}

// PinnedConfig is the file of settings with the place of the board in it.
type PinnedConfig struct {
	File store.BoardFile
	path string
}

// pinned makes that file: the one of the project, else one in dir, which will be .liza.
func (e *Environment) Pinned(p *project.Project, dir string, at postgres.Address) (c PinnedConfig, err error) {
	c = PinnedConfig{File: store.BoardFile{Path: "config.yaml"}, path: filepath.Join(dir, "config.yaml")}
	var text []byte
	for _, path := range []string{filepath.Join(dir, "config.yaml"), filepath.Join(dir, "config.json"), filepath.Join(p.Liza, "config.yaml"), filepath.Join(p.Liza, "config.json")} {
		data, err := safefile.Read(path)
		if err == nil {
			c.File.Path, c.path, text = filepath.Base(path), path, data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("cannot read .liza/%s: %w", filepath.Base(path), err)
		}
	}
	c.File.Text, err = pinStore(string(text), ".liza/"+c.File.Path, at)
	return c, err
}

// pinStore makes a text of the settings say where the board is.
func pinStore(text, file string, at postgres.Address) (string, error) {
	next, err := config.Set([]byte(text), file, "store.url", at.URL, nil)
	if err == nil {
		next, err = config.Set(next, file, "store.board", at.Board, nil)
	}
	return string(next), err
}

func (c PinnedConfig) Write() error { return safefile.Replace(c.path, []byte(c.File.Text), 0o644) }

// CopyBoard writes the copy of a board into dir, which will be .liza.
func CopyBoard(ctx context.Context, p *project.Project, dir string, board *postgres.Store, at postgres.Address) error {
	if _, err := board.View(ctx); err != nil {
		return err
	}
	return mirror.New(board, mirror.Options{Path: filepath.Join(dir, "state.yaml"), Record: p.Mirror(), Name: at.String()}).Refresh(ctx)
}

// AddressOf is where the board of an open project is.
func AddressOf(d *verb.Service) (postgres.Address, error) {
	where := d.Board.Config().Store
	at, err := postgres.ParseAddress(where.URL)
	at.Board = cmp.Or(where.Board, at.Board)
	return at, err
}
