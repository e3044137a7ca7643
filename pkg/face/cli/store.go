package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

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
func (e *Env) store(p *project.Project, cfg *settings, taskArchive *history.Archive, patience time.Duration) (store.Project, error) {
	host, _ := os.Hostname()
	now := e.Now
	o := store.Options{Path: p.State(), GitDir: p.GitDir, LockTimeout: cfg.get().Protocol.LockTimeout, LockFixed: cfg.get().Overrides()["lock_timeout"] != nil, Host: host, Strict: e.Strict,
		Validate: func(after, before *blackboard.State) []blackboard.Violation {
			return audit.Validate(after, before, audit.Facts{Now: now(), Write: true, Archive: taskArchive, Secrets: e.secrets().Finder()})
		},
		Mask:  e.secrets().Mask,
		Seals: verb.Seals(e.keys(), p.GitDir, p.Root),
		Alert: e.storeNotice(p)}
	where := cfg.get().Store
	if where.URL == "" {
		if board := mirror.Recorded(p.Mirror()); board != "" {
			return nil, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza config set store.url URL",
				Message: fmt.Sprintf("the board of this project is %s, and .liza/state.yaml a copy of it; but config.yaml does not say so (store.url)", board)}
		}
		o.Now = e.Now
		return store.Open(o)
	}
	board, at, err := e.board(where, o, patience)
	if bad, ok := errors.AsType[*postgres.AddressError](err); ok {
		return nil, &transition.Refusal{Exit: transition.ExitUsage, Next: "liza config set store.url URL", Message: fmt.Sprintf("%s: store.url: %s", cfg.get().Origin("store.url"), bad.Reason)}
	}
	if err != nil {
		return nil, err
	}
	now = board.Now
	copied := mirror.New(board, mirror.Options{Path: p.State(), Record: p.Mirror(), Name: at.String(), Alert: o.Alert, Settings: settingsOf(p, at)})
	e.closing = append(e.closing, copied.Close)
	return copied, nil
}

// passwordVariable has the password of databases, as for each client of libpq.
const passwordVariable = "PGPASSWORD"

// board opens a board in a database. It connects when it is used.
func (e *Env) board(where config.Store, o store.Options, patience time.Duration, files ...store.BoardFile) (*postgres.Store, postgres.Address, error) {
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
	board, err := postgres.Open(postgres.Options{URL: at.URL, Password: e.password, Board: at.Board, Files: files, Patience: patience, Options: o})
	if err != nil {
		return nil, at, err
	}
	return board, at, nil
}

// close ends the connections of a command.
func (e *Env) close() {
	for _, end := range e.closing {
		end()
	}
	e.closing = nil
}

// isShared reports whether other hosts use the board as well.
func isShared(s store.Store) bool {
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

// sharedPaths are the files below .liza that a host that joins gets.
var sharedPaths = append(slices.Clone(settingsPaths), "archive")

// settingsOf are the settings of a host. How it reaches the board is its own: as its file says now, else as it did.
func settingsOf(p *project.Project, at postgres.Address) mirror.Settings {
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

// pinnedConfig is the file of settings with the place of the board in it.
type pinnedConfig struct {
	file store.BoardFile
	path string
}

// pinned makes that file: the one of the project, else one in dir, which will be .liza.
func (e *Env) pinned(p *project.Project, dir string, at postgres.Address) (c pinnedConfig, err error) {
	c = pinnedConfig{file: store.BoardFile{Path: "config.yaml"}, path: filepath.Join(dir, "config.yaml")}
	var text []byte
	for _, path := range []string{filepath.Join(dir, "config.yaml"), filepath.Join(dir, "config.json"), filepath.Join(p.Liza, "config.yaml"), filepath.Join(p.Liza, "config.json")} {
		data, err := safefile.Read(path)
		if err == nil {
			c.file.Path, c.path, text = filepath.Base(path), path, data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("cannot read .liza/%s: %w", filepath.Base(path), err)
		}
	}
	c.file.Text, err = pinStore(string(text), ".liza/"+c.file.Path, at)
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

func (c pinnedConfig) write() error { return safefile.Replace(c.path, []byte(c.file.Text), 0o644) }

// copyBoard writes the copy of a board into dir, which will be .liza.
func copyBoard(ctx context.Context, p *project.Project, dir string, board *postgres.Store, at postgres.Address) error {
	if _, err := board.View(ctx); err != nil {
		return err
	}
	return mirror.New(board, mirror.Options{Path: filepath.Join(dir, "state.yaml"), Record: p.Mirror(), Name: at.String()}).Refresh(ctx)
}

// addressOf is where the board of an open project is.
func addressOf(d *verb.Service) (postgres.Address, error) {
	where := d.Config().Store
	at, err := postgres.ParseAddress(where.URL)
	at.Board = cmp.Or(where.Board, at.Board)
	return at, err
}

// storePlace is the result of `liza store`.
type storePlace struct {
	Kind     string  `json:"kind"`  // file or postgres
	Board    string  `json:"board"` // path, or address without password
	Revision int     `json:"revision"`
	Clock    float64 `json:"clock_offset_seconds,omitempty"` // how far this host's clock is ahead of the database's
}

func newStore(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "store", Category: "repair", Usage: "where the board is: a file, or a PostgreSQL database for a team on several hosts",
		Description: "Without a command it says where the board of this project is." +
			examples("liza store", "liza store roles"),
		Commands: []*urfave.Command{newStoreShow(env), newStoreMove(env), newStoreRoles(env), newStoreUpgrade(env)},
	}
}

func newStoreShow(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "list", Usage: "say where the board is, and at which revision",
		Description: "For a board in a database it also says how far the clock of this host is off." + examples("liza store", "liza store list --json") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.onReader(func(ctx context.Context, d *verb.Service, _ []string) error {
			s, err := d.View(ctx)
			if err != nil {
				return err
			}
			place := storePlace{Kind: "file", Board: ".liza/state.yaml", Revision: s.Revision}
			shared, ok := d.Store.(store.Shared)
			if !ok {
				return env.Print(place, "board  %s, revision %d\nnext: liza store move URL puts it into a database, for a team on several hosts\n", place.Board, place.Revision)
			}
			at, err := addressOf(d)
			if err != nil {
				return err
			}
			offset := shared.ClockOffset()
			place.Kind, place.Board, place.Clock = "postgres", at.String(), offset.Seconds()
			return env.Print(place, "board  %s, revision %d\ncopy   .liza/state.yaml\nclock  this host's is %s of the database\n", place.Board, place.Revision, aheadOrBehind(offset))
		}),
	}
}

func newStoreRoles(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "roles", ArgsUsage: "[URL]", Usage: "print the SQL of the database's roles, with no right that they do not need",
		Description: "Three roles: one that makes the tables, one for hosts, one that only looks through the views. Passwords and addresses are for you to add." +
			examples("liza store roles | psql -d liza", "liza store roles postgres://liza@db/liza") + exitsText(0, 1, 2),
		Action: env.do(func(ctx context.Context, args []string) error {
			database := ""
			if len(args) > 0 {
				at, err := postgres.ParseAddress(args[0])
				if err != nil {
					return err
				}
				if u, err := url.Parse(at.URL); err == nil {
					database = strings.Trim(u.Path, "/")
				}
			}
			sql := postgres.Roles(database)
			return env.Print(map[string]string{"sql": sql}, "%s", sql)
		}),
	}
}

func newStoreUpgrade(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "upgrade", Usage: "bring the tables of the database up to date with this program",
		Description: "To be run once, by a role that may change the schema, when a new version of Liza says so. Programs of the version before are refused from then\n" +
			"on, so stop the teams of all hosts first." + examples("liza store upgrade", "PGUSER=liza_owner liza store upgrade") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.onReader(func(ctx context.Context, d *verb.Service, _ []string) error {
			up, ok := d.Store.(interface{ Upgrade(context.Context) error })
			if !ok {
				return usagef("liza store", "the board of this project is a file: there is nothing to bring up to date")
			}
			if err := up.Upgrade(ctx); err != nil {
				return err
			}
			return env.Print(map[string]bool{"upgraded": true}, "the tables are those of this program\n")
		}),
	}
}

// aheadOrBehind says how far a clock is off.
func aheadOrBehind(offset time.Duration) string {
	offset = offset.Round(time.Millisecond)
	if offset < 0 {
		return fmt.Sprintf("%s behind that", -offset)
	}
	return fmt.Sprintf("%s ahead of that", offset)
}

// unreachable is the exit code of a command that could not reach the database of the board.
const unreachable = 8

// explainDatabase is the exit code of an error of a board in a database, and the command that helps; 0 for any other error.
func explainDatabase(err error) (code int, next string) {
	if x, ok := errors.AsType[*postgres.UnreachableError](err); ok {
		return unreachable, x.Next()
	} else if x, ok := errors.AsType[*postgres.UncertainError](err); ok {
		return 9, x.Next()
	} else if _, ok := errors.AsType[*postgres.AddressError](err); ok {
		return 2, "liza help init"
	} else if x, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.NoBoardError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.ArrivingError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.ExistsError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.PermissionError](err); ok {
		return 4, x.Next()
	}
	return 0, ""
}
