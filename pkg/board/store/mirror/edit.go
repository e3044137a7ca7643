package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// takeEdit writes a person's edit of the copy to the board, with the revision in its text as base. An edit that breaks a rule
// stays in the copy, and this host writes nothing until it is corrected. An edit that contradicts later writes is kept in a
// file beside the copy, which follows the board again.
func (s *Store) takeEdit(ctx context.Context) error {
	r, ok := readRecord(s.o.Record)
	if !ok || !s.edited(r) {
		return nil
	}
	return s.locked(ctx, func() error {
		r, ok := readRecord(s.o.Record)
		if !ok {
			return nil
		}
		text, err := s.edit(r)
		if text == nil || err != nil {
			return err
		}
		return s.carry(ctx, r, text)
	})
}

// byPerson is who edits a file.
var byPerson = store.Op{Name: "edit", Agent: blackboard.Human}

func (s *Store) carry(ctx context.Context, r record, text []byte) error {
	if _, err := s.Shared.View(ctx); err != nil {
		return err
	}
	if r.Board != s.Latest().Board {
		return s.renew(ctx, r, s.Latest())
	}
	bare := body(text)
	said, err := s.engine.Parse(bare)
	if err != nil {
		return lower(err, text)
	}
	done, err := s.HandEdit(ctx, byPerson, said.Revision(), bare)
	var invalid *store.InvalidError
	var conflict *store.ConflictError
	var gone *store.NoSnapshotError
	switch {
	case errors.As(err, &invalid):
		return lower(err, text)
	case errors.As(err, &conflict), errors.As(err, &gone):
		s.o.Alert(blackboard.AlertHandEdit, fmt.Sprintf("an edit of revision %d in .liza/state.yaml was not taken to the board: %v; it is kept in %s", said.Revision(), err, s.keep(text)))
	case err != nil:
		return err
	case done.Revision > 0:
		what := prose.Few(done.Names, mostNamed)
		if what == "" {
			what = "comments or layout only"
		}
		s.o.Alert(blackboard.AlertHandEdit, "state.yaml was edited by hand: "+what)
		for _, x := range done.Refused {
			s.o.Alert(blackboard.AlertHandEdit, x.Text()+"; the edit is kept in "+s.keep(text))
		}
	}
	if _, err := s.Shared.View(ctx); err != nil {
		return err
	}
	return s.renew(ctx, r, s.Latest())
}

// mostNamed is how many ids a message names.
const mostNamed = 5

// lower moves the lines of an error below the head of the copy.
func lower(err error, text []byte) error {
	var invalid *store.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	head := strings.Count(string(text), "\n") - strings.Count(string(body(text)), "\n")
	own := *invalid
	own.Violations = append([]blackboard.Violation(nil), invalid.Violations...)
	for i := range own.Violations {
		if own.Violations[i].Line > 0 {
			own.Violations[i].Line += head
		}
	}
	return &own
}
