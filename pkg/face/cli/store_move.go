package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

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
	"liza/pkg/verb/verb"
)

func newStoreMove(env *Env) *urfave.Command {
	o := &moveOptions{env: env}
	return &urfave.Command{
		Name: "move", ArgsUsage: "URL|file", Usage: "move the board into a PostgreSQL database, or back into a file",
		Description: "With URL (postgres://USER@HOST/DATABASE[/BOARD]) the board of this project goes into the database, with its journal and archive; other hosts then\n" +
			"use liza join. With file it becomes .liza/state.yaml of this host again, byte for byte, and the other hosts have no board any more; the database keeps\n" +
			"what it had under a name that ends in ~moved. Refused while agents work. When it is interrupted, do it again." +
			examples("liza store move postgres://liza@db/liza/payments", "liza store move file") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.do(env.slow("moving the board", o.run)),
	}
}

type moveOptions struct{ env *Env }

func (o *moveOptions) run(ctx context.Context, args []string) error {
	p, err := o.env.Find(ctx)
	if err != nil {
		return err
	}
	cfg, err := o.env.Config(p, false)
	if err != nil {
		return err
	}
	where := cfg.Get().Store
	at := postgres.Address{}
	if where.URL != "" {
		if at, err = postgres.ParseAddress(where.URL); err != nil {
			return err
		}
		at.Board = cmp.Or(where.Board, at.Board)
	}
	switch {
	case args[0] == "file" && where.URL == "":
		return o.here(ctx, p)
	case args[0] == "file":
		return o.toFile(ctx, p, cfg, at)
	case where.URL != "":
		if done, err := o.complete(ctx, p, at, args[0]); done || err != nil {
			return err
		}
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza store move file", Message: fmt.Sprintf("the board is in a database already: %s", at)}
	}
	if at, err = postgres.ParseAddress(args[0]); err != nil {
		return err
	}
	return o.toDatabase(ctx, p, at)
}

func (o *moveOptions) at(point string) {
	if o.env.At != nil {
		o.env.At(point)
	}
}

// here has the file be the board again after a move that was interrupted, and is not to be completed.
func (o *moveOptions) here(ctx context.Context, p *project.Project) error {
	if !store.IsAway(o.files(p)) {
		return usagef("liza store", "the board is a file already")
	}
	if err := o.markHere(ctx, p); err != nil {
		return err
	}
	return o.env.Print(storePlace{Kind: "file", Board: ".liza/state.yaml"}, "the board is .liza/state.yaml of this host\n")
}

func (o *moveOptions) markHere(ctx context.Context, p *project.Project) error {
	unlock, err := safefile.Lock(ctx, p.Lock(), safefile.Holder{PID: os.Getpid(), Op: "store move"})
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if err := o.isFile(p); err != nil {
		return err
	}
	return store.MarkHere(o.files(p))
}

// isFile refuses what another process, which had the lock before, has moved.
func (o *moveOptions) isFile(p *project.Project) error {
	if cfg, err := config.LoadTolerant(p.Liza, o.env.Environ); err == nil && cfg.Store.URL != "" {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza store", Message: "the board was moved into a database meanwhile"}
	}
	return nil
}

func (o *moveOptions) files(p *project.Project) store.Options {
	return store.Options{Path: p.State(), GitDir: p.GitDir, Now: o.env.Now, Seals: verb.Seals(o.env.Keys(), p.GitDir, p.Root)}
}

// complete ends a move into the database that was interrupted when the settings had the new place already.
func (o *moveOptions) complete(ctx context.Context, p *project.Project, at postgres.Address, where string) (bool, error) {
	named, err := postgres.ParseAddress(where)
	if err != nil || named.URL != at.URL || named.Board != "" && named.Board != at.Board {
		return false, nil
	}
	board, err := postgres.Open(postgres.Options{URL: at.URL, Board: at.Board, Options: o.files(p)})
	if err != nil {
		return false, err
	}
	defer board.Close()
	if who, err := board.Moving(ctx); err != nil || who != mover(p) {
		return false, err
	}
	if err := board.Moved(ctx); err != nil {
		return true, err
	}
	return true, o.arrived(ctx, p, board, at)
}

// arrived writes the copy of a board that is in the database now.
func (o *moveOptions) arrived(ctx context.Context, p *project.Project, board *postgres.Store, at postgres.Address) error {
	if err := assembly.CopyBoard(ctx, p, p.Liza, board, at); err != nil {
		return err
	}
	return o.env.Print(storePlace{Kind: "postgres", Board: at.String(), Revision: board.Latest().Revision}, "the board is %s now; .liza/state.yaml is a copy of it\nnext: liza join %s, in a clone on another host\n", at, at)
}

// mover names this project on this host.
func mover(p *project.Project) string {
	host, _ := os.Hostname()
	return host + ":" + p.GitDir
}

// idle refuses a move while somebody works.
func idle(d *verb.Service, s *blackboard.State) error {
	var working []string
	for id := range s.Agents {
		if live, _ := s.Liveness(id, d.Now(), d.Facts()); live != blackboard.Dead && live != blackboard.Expired {
			working = append(working, id)
		}
	}
	if len(working) == 0 {
		return nil
	}
	slices.Sort(working)
	return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza abort", Message: "the board cannot be moved while agents work: " + strings.Join(working, ", ")}
}

func (o *moveOptions) toDatabase(ctx context.Context, p *project.Project, at postgres.Address) error {
	d, err := o.env.OpenAt(ctx, p, false)
	if err != nil {
		return err
	}
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	if err := idle(d, s); err != nil {
		return err
	}
	if store.IsAway(o.files(p)) { // of a move that was interrupted: the file is the board until it is complete
		if err := o.markHere(ctx, p); err != nil {
			return err
		}
	}
	if err := settleEdit(ctx, d); err != nil {
		return err
	}
	at.Board = cmp.Or(at.Board, postgres.BoardName(s.Goal.Description), "board")
	unlock, err := safefile.Lock(ctx, p.Lock(), safefile.Holder{PID: os.Getpid(), Op: "store move"})
	if err != nil {
		return err
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
	if err := o.isFile(p); err != nil {
		return err
	}
	if s, err = d.View(ctx); err == nil { // who has come meanwhile
		err = idle(d, s)
	}
	if err != nil {
		return err
	}
	text, err := safefile.Read(p.State())
	if err != nil {
		return fmt.Errorf("cannot read the board: %w", err)
	}
	journal, err := safefile.Read(p.Journal())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot read the journal: %w", err)
	}
	pinned, err := o.env.Pinned(p, p.Liza, at)
	if err != nil {
		return err
	}
	files, err := mirror.ReadFiles(p.Liza, assembly.SharedPaths...)
	if err != nil {
		return err
	}
	files = append(slices.DeleteFunc(files, func(f store.BoardFile) bool { return f.Path == pinned.File.Path }), pinned.File)
	board, err := postgres.Open(postgres.Options{URL: at.URL, Board: at.Board, Files: files, Mover: mover(p),
		Options: store.Options{Path: p.State(), GitDir: p.GitDir, Seals: verb.Seals(o.env.Keys(), p.GitDir, p.Root)}})
	if err == nil {
		err = postgres.CheckBoard(at.Board)
	}
	if err != nil {
		return err
	}
	defer board.Close()
	o.at("begun")
	if err := board.Import(ctx, text, string(journal)); err != nil {
		return err
	}
	o.at("imported")
	if err := store.MarkAway(o.files(p), at.String()); err != nil {
		return err
	}
	o.at("marked")
	if err := pinned.Write(); err != nil { // from here on the board is there
		return err
	}
	o.at("pinned")
	if err := board.Moved(ctx); err != nil {
		return err
	}
	o.at("moved")
	if err := release(); err != nil {
		return err
	}
	return o.arrived(ctx, p, board, at)
}

// settleEdit has an edit of the file that no verb has met become part of the board.
func settleEdit(ctx context.Context, d *verb.Service) error {
	inspector, ok := d.Store.(store.Inspector)
	if !ok {
		return nil
	}
	found, err := inspector.Inspect(ctx)
	if err != nil || found.Previous == nil {
		return err
	}
	return d.Update(ctx, "store move", func(s *blackboard.State, _ transition.Actor) error {
		s.Record(blackboard.Entry{Action: blackboard.ActionStoreMoved, Detail: "an edit of state.yaml was taken before the board was moved"})
		return nil
	})
}

func (o *moveOptions) toFile(ctx context.Context, p *project.Project, cfg *assembly.Settings, at postgres.Address) error {
	d, err := o.env.OpenAt(ctx, p, false)
	if err != nil {
		return err
	}
	s, err := d.View(ctx)
	none, retired := errors.AsType[*postgres.NoBoardError](err)
	if err != nil && !retired {
		return err
	}
	board, err := postgres.Open(postgres.Options{URL: at.URL, Board: postgres.Retired(at.Board), Options: store.Options{LockTimeout: cfg.Get().Protocol.LockTimeout}})
	if err != nil {
		return err
	}
	defer board.Close()
	if retired { // by a move that was interrupted, from here
		if who, err := board.Moving(ctx); err != nil || who != mover(p) {
			return errors.Join(err, none)
		}
	} else {
		if err := idle(d, s); err != nil {
			return err
		}
		retiring, _, err := o.env.Board(config.Store{URL: at.URL, Board: at.Board}, store.Options{LockTimeout: cfg.Get().Protocol.LockTimeout}, 0)
		if err != nil {
			return err
		}
		defer retiring.Close()
		o.at("begun")
		if err := retiring.Retire(ctx, mover(p)); err != nil {
			return err
		}
	}
	o.at("retired")
	text, journal, err := board.Export(ctx)
	if err != nil {
		return err
	}
	news, err := board.Since(ctx, 0, 0)
	if err != nil {
		return err
	}
	unlock, err := safefile.Lock(ctx, p.Lock(), safefile.Holder{PID: os.Getpid(), Op: "store move"})
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	for _, f := range news.Files {
		if strings.HasPrefix(f.Path, "archive/") {
			if err := mirror.WriteFile(p.Liza, f); err != nil {
				return err
			}
		}
	}
	o.at("archived")
	if err := store.MarkAway(o.files(p), "file"); err != nil {
		return err
	}
	if err := store.Place(ctx, o.files(p), text, journal); err != nil {
		return err
	}
	o.at("placed")
	if err := os.Remove(p.Mirror()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", p.Mirror(), err)
	}
	o.at("unrecorded")
	pinned, err := o.env.Pinned(p, p.Liza, postgres.Address{})
	if err == nil {
		err = pinned.Write()
	}
	if err != nil {
		return err
	}
	o.at("pinned")
	if err := store.MarkHere(o.files(p)); err != nil { // from here on the board is the file
		return err
	}
	o.at("marked")
	if err := board.Moved(ctx); err != nil {
		return err
	}
	o.at("moved")
	return o.env.Print(storePlace{Kind: "file", Board: ".liza/state.yaml", Revision: lastRevision(journal)}, "the board is .liza/state.yaml of this host now; the database has what it was as %s\n", postgres.Retired(at.Board))
}

func lastRevision(journal string) int {
	if lines := history.Split(journal); len(lines) > 0 {
		return lines[len(lines)-1].Entry.Rev
	}
	return 0
}
