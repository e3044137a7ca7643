// Package move moves the board of a project between its file and a database, so that it can be killed at each step and done again.
package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/mirror"
	"liza/pkg/board/store/postgres"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// A Place says where a board is.
type Place struct {
	Kind     string `json:"kind"`  // file or postgres
	Board    string `json:"board"` // path, or address without password
	Revision int    `json:"revision"`
}

// Moved is the result of a move, with what a person reads of it.
type Moved struct {
	Place
	Text string `json:"-"`
}

// A move is one of them.
type move struct{ e *assembly.Environment }

// Board moves the board of the project of e: into the database whose address to is, or with "file" back into a file.
func Board(ctx context.Context, e *assembly.Environment, to string) (Moved, error) {
	m := &move{e}
	p, err := e.Find(ctx)
	if err != nil {
		return Moved{}, err
	}
	cfg, err := e.Config(p, false)
	if err != nil {
		return Moved{}, err
	}
	where := cfg.Get().Store
	at := postgres.Address{}
	if where.URL != "" {
		if at, err = postgres.ParseAddress(where.URL); err != nil {
			return Moved{}, err
		}
		at.Board = cmp.Or(where.Board, at.Board)
	}
	switch {
	case to == "file" && where.URL == "":
		return m.here(ctx, p)
	case to == "file":
		return m.toFile(ctx, p, cfg, at)
	case where.URL != "":
		if out, done, err := m.complete(ctx, p, at, to); done || err != nil {
			return out, err
		}
		return Moved{}, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza store move file", Message: fmt.Sprintf("the board is in a database already: %s", at)}
	}
	if at, err = postgres.ParseAddress(to); err != nil {
		return Moved{}, err
	}
	return m.toDatabase(ctx, p, at)
}

func (m *move) at(point string) {
	if m.e.At != nil {
		m.e.At(point)
	}
}

// here has the file be the board again after a move that was interrupted, and is not to be completed.
func (m *move) here(ctx context.Context, p *project.Project) (Moved, error) {
	if !store.IsAway(m.files(p)) {
		return Moved{}, board.WrongUsage("liza config store", "the board is a file already")
	}
	if err := m.markHere(ctx, p); err != nil {
		return Moved{}, err
	}
	return Moved{Place{Kind: "file", Board: ".liza/state.yaml"}, "the board is .liza/state.yaml of this host\n"}, nil
}

func (m *move) markHere(ctx context.Context, p *project.Project) error {
	unlock, err := safefile.Lock(ctx, p.Lock(), safefile.Holder{PID: os.Getpid(), Op: "store move"})
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if err := m.isFile(p); err != nil {
		return err
	}
	return store.MarkHere(m.files(p))
}

// isFile refuses what another process, which had the lock before, has moved.
func (m *move) isFile(p *project.Project) error {
	if cfg, err := config.LoadTolerant(p.Liza, m.e.Environ); err == nil && cfg.Store.URL != "" {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza config store", Message: "the board was moved into a database meanwhile"}
	}
	return nil
}

func (m *move) files(p *project.Project) store.Options {
	return store.Options{Path: p.State(), GitDir: p.GitDir, Now: m.e.Now, Seals: verb.Seals(m.e.Keys(), p.GitDir, p.Root)}
}

// complete ends a move into the database that was interrupted when the settings had the new place already.
func (m *move) complete(ctx context.Context, p *project.Project, at postgres.Address, where string) (out Moved, done bool, err error) {
	named, err := postgres.ParseAddress(where)
	if err != nil || named.URL != at.URL || named.Board != "" && named.Board != at.Board {
		return out, false, nil
	}
	board, err := postgres.Open(postgres.Options{URL: at.URL, Board: at.Board, Options: m.files(p)})
	if err != nil {
		return out, false, err
	}
	defer board.Close()
	if who, err := board.Moving(ctx); err != nil || who != nameOf(p) {
		return out, false, err
	}
	if err := board.Moved(ctx); err != nil {
		return out, true, err
	}
	out, err = m.arrived(ctx, p, board, at)
	return out, true, err
}

// arrived writes the copy of a board that is in the database now.
func (m *move) arrived(ctx context.Context, p *project.Project, board *postgres.Store, at postgres.Address) (Moved, error) {
	if err := assembly.CopyBoard(ctx, p, p.Liza, board, at); err != nil {
		return Moved{}, err
	}
	return Moved{Place{Kind: "postgres", Board: at.String(), Revision: board.Latest().Revision},
		fmt.Sprintf("the board is %s now; .liza/state.yaml is a copy of it\nnext: liza init --join %s, in a clone on another host\n", at, at)}, nil
}

// nameOf names this project on this host.
func nameOf(p *project.Project) string {
	host, _ := os.Hostname()
	return host + ":" + p.GitDir
}

// idle refuses a move while somebody works.
func idle(d *verb.Service, s *blackboard.State) error {
	var working []string
	for id := range s.Agents {
		if live, _ := s.Liveness(id, d.Board.Now(), d.Board.Facts()); live != blackboard.Dead && live != blackboard.Expired {
			working = append(working, id)
		}
	}
	if len(working) == 0 {
		return nil
	}
	slices.Sort(working)
	return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza stop --all", Message: "the board cannot be moved while agents work: " + strings.Join(working, ", ")}
}

func (m *move) toDatabase(ctx context.Context, p *project.Project, at postgres.Address) (Moved, error) {
	d, err := m.e.OpenAt(ctx, p, false)
	if err != nil {
		return Moved{}, err
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		return Moved{}, err
	}
	if err := idle(d, s); err != nil {
		return Moved{}, err
	}
	if store.IsAway(m.files(p)) { // of a move that was interrupted: the file is the board until it is complete
		if err := m.markHere(ctx, p); err != nil {
			return Moved{}, err
		}
	}
	if err := settleEdit(ctx, d); err != nil {
		return Moved{}, err
	}
	at.Board = cmp.Or(at.Board, postgres.BoardName(s.Goal.Description), "board")
	unlock, err := safefile.Lock(ctx, p.Lock(), safefile.Holder{PID: os.Getpid(), Op: "store move"})
	if err != nil {
		return Moved{}, err
	}
	locked := true
	release := func() error {
		if !locked {
			return nil
		}
		locked = false
		return unlock()
	}
	defer func() { _ = release() }()
	if err := m.isFile(p); err != nil {
		return Moved{}, err
	}
	if s, err = d.Board.View(ctx); err == nil { // who has come meanwhile
		err = idle(d, s)
	}
	if err != nil {
		return Moved{}, err
	}
	text, err := safefile.Read(p.State())
	if err != nil {
		return Moved{}, fmt.Errorf("cannot read the board: %w", err)
	}
	journal, err := safefile.Read(p.Journal())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Moved{}, fmt.Errorf("cannot read the journal: %w", err)
	}
	pinned, err := m.e.Pinned(p, p.Liza, at)
	if err != nil {
		return Moved{}, err
	}
	files, err := mirror.ReadFiles(p.Liza, assembly.SharedPaths...)
	if err != nil {
		return Moved{}, err
	}
	files = append(slices.DeleteFunc(files, func(f store.BoardFile) bool { return f.Path == pinned.File.Path }), pinned.File)
	board, err := postgres.Open(postgres.Options{URL: at.URL, Board: at.Board, Files: files, Mover: nameOf(p),
		Options: store.Options{Path: p.State(), GitDir: p.GitDir, Seals: verb.Seals(m.e.Keys(), p.GitDir, p.Root)}})
	if err == nil {
		err = postgres.CheckBoard(at.Board)
	}
	if err != nil {
		return Moved{}, err
	}
	defer board.Close()
	m.at("begun")
	if err := board.Import(ctx, text, string(journal)); err != nil {
		return Moved{}, err
	}
	m.at("imported")
	if err := store.MarkAway(m.files(p), at.String()); err != nil {
		return Moved{}, err
	}
	m.at("marked")
	if err := pinned.Write(); err != nil { // from here on the board is there
		return Moved{}, err
	}
	m.at("pinned")
	if err := board.Moved(ctx); err != nil {
		return Moved{}, err
	}
	m.at("moved")
	if err := release(); err != nil {
		return Moved{}, err
	}
	return m.arrived(ctx, p, board, at)
}

// settleEdit has an edit of the file that no verb has met become part of the board.
func settleEdit(ctx context.Context, d *verb.Service) error {
	inspector, ok := d.Board.Store.(store.Inspector)
	if !ok {
		return nil
	}
	found, err := inspector.Inspect(ctx)
	if err != nil || found.Previous == nil {
		return err
	}
	return d.Board.Update(ctx, "store move", func(s *blackboard.State, _ transition.Actor) error {
		s.Record(blackboard.Entry{Action: blackboard.ActionStoreMoved, Detail: "an edit of state.yaml was taken before the board was moved"})
		return nil
	})
}

func (m *move) toFile(ctx context.Context, p *project.Project, cfg *assembly.Settings, at postgres.Address) (Moved, error) {
	d, err := m.e.OpenAt(ctx, p, false)
	if err != nil {
		return Moved{}, err
	}
	s, err := d.Board.View(ctx)
	none, retired := errors.AsType[*postgres.NoBoardError](err)
	if err != nil && !retired {
		return Moved{}, err
	}
	board, err := postgres.Open(postgres.Options{URL: at.URL, Board: postgres.Retired(at.Board), Options: store.Options{LockTimeout: cfg.Get().LockTimeout()}})
	if err != nil {
		return Moved{}, err
	}
	defer board.Close()
	if retired { // by a move that was interrupted, from here
		if who, err := board.Moving(ctx); err != nil || who != nameOf(p) {
			return Moved{}, errors.Join(err, none)
		}
	} else {
		if err := idle(d, s); err != nil {
			return Moved{}, err
		}
		retiring, _, err := m.e.Board(config.Store{URL: at.URL, Board: at.Board}, store.Options{LockTimeout: cfg.Get().LockTimeout()}, 0)
		if err != nil {
			return Moved{}, err
		}
		defer retiring.Close()
		m.at("begun")
		if err := retiring.Retire(ctx, nameOf(p)); err != nil {
			return Moved{}, err
		}
	}
	m.at("retired")
	text, journal, err := board.Export(ctx)
	if err != nil {
		return Moved{}, err
	}
	news, err := board.Since(ctx, 0, 0)
	if err != nil {
		return Moved{}, err
	}
	unlock, err := safefile.Lock(ctx, p.Lock(), safefile.Holder{PID: os.Getpid(), Op: "store move"})
	if err != nil {
		return Moved{}, err
	}
	defer func() { _ = unlock() }()
	for _, f := range news.Files {
		if strings.HasPrefix(f.Path, "archive/") {
			if err := mirror.WriteFile(p.Liza, f); err != nil {
				return Moved{}, err
			}
		}
	}
	m.at("archived")
	if err := store.MarkAway(m.files(p), "file"); err != nil {
		return Moved{}, err
	}
	if err := store.Place(ctx, m.files(p), text, journal); err != nil {
		return Moved{}, err
	}
	m.at("placed")
	if err := os.Remove(p.Mirror()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Moved{}, fmt.Errorf("cannot remove %s: %w", p.Mirror(), err)
	}
	m.at("unrecorded")
	pinned, err := m.e.Pinned(p, p.Liza, postgres.Address{})
	if err == nil {
		err = pinned.Write()
	}
	if err != nil {
		return Moved{}, err
	}
	m.at("pinned")
	if err := store.MarkHere(m.files(p)); err != nil { // from here on the board is the file
		return Moved{}, err
	}
	m.at("marked")
	if err := board.Moved(ctx); err != nil {
		return Moved{}, err
	}
	m.at("moved")
	return Moved{Place{Kind: "file", Board: ".liza/state.yaml", Revision: lastRevision(journal)},
		fmt.Sprintf("the board is .liza/state.yaml of this host now; the database has what it was as %s\n", postgres.Retired(at.Board))}, nil
}

func lastRevision(journal string) int {
	if lines := history.Split(journal); len(lines) > 0 {
		return lines[len(lines)-1].Entry.Rev
	}
	return 0
}
