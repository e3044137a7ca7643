package maintain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/verb/verb"
)

func pastOf(d *verb.Service) (store.Past, error) {
	if p, ok := d.Board.Store.(store.Past); ok {
		return p, nil
	}
	return nil, errors.New("cannot restore: this store keeps no snapshots")
}

// Restored is the result of Restore.
type Restored struct {
	Revision int    `json:"revision"`       // the new one
	From     int    `json:"from"`           // the one that was put back
	Kept     string `json:"kept,omitempty"` // where the former content of the file is, if it was not a state that Liza wrote
}

// Restore puts an old state back as a new revision (specs/protocol.md#14, B01 and B06). Only a
// person may; the state may be damaged.
func Restore(ctx context.Context, d *verb.Service, revision int) (Restored, error) {
	r, err := pastOf(d)
	if err == nil {
		err = d.Board.PersonOnly(ctx, "restore the state")
	}
	if err != nil {
		return Restored{}, err
	}
	before := d.Board.LastState(ctx)
	now, kept, err := r.Restore(ctx, store.Op{Name: "restore", Agent: blackboard.Human}, revision)
	out := Restored{Revision: now, From: revision, Kept: kept}
	if err != nil || before.Tip() == "" {
		return out, err
	}
	// The branch is not restored with the board, so what is known of it stays.
	err = d.Board.Store.Update(ctx, store.Op{Name: "restore", Agent: blackboard.Human}, func(s *blackboard.State) error {
		if s.Tip() == before.Tip() {
			return store.ErrUnchanged
		}
		s.Integration = before.Clone().Integration
		s.Integration.Intent, out.Revision = nil, s.Revision+1
		return nil
	})
	return out, err
}

// Content returns the text of the state at revision.
func Content(ctx context.Context, d *verb.Service, revision int) ([]byte, error) {
	r, err := pastOf(d)
	if err != nil {
		return nil, err
	}
	return r.Content(ctx, revision)
}

// Whole returns the number of tasks of the state at revision, and its first problem, "" when it is valid.
func Whole(ctx context.Context, d *verb.Service, revision int) (tasks int, problem string, err error) {
	r, err := pastOf(d)
	if err != nil {
		return 0, "", err
	}
	return r.Whole(ctx, revision)
}

// Snapshots returns the states that can be restored, the newest first: some twenty, or all.
func Snapshots(ctx context.Context, d *verb.Service, all bool) ([]store.Snapshot, error) {
	r, err := pastOf(d)
	switch {
	case err != nil:
		return nil, err
	case all:
		return r.Revisions(ctx)
	}
	return r.Snapshots(ctx)
}

// Edit lets a person edit the state: open gets the text and returns the edited one. Writes of others meanwhile are kept. When the
// edit breaks a rule or conflicts with them, open is called again with the edited text and the error; it returns nil to give up.
func Edit(ctx context.Context, d *verb.Service, open func(text []byte, problem error) ([]byte, error)) (store.Edited, error) {
	r, ok := d.Board.Store.(store.Editor)
	if !ok {
		return store.Edited{}, errors.New("cannot edit the state: this store has no text")
	}
	if err := d.Board.PersonOnly(ctx, "edit the state"); err != nil {
		return store.Edited{}, err
	}
	base, err := r.Text(ctx)
	if err != nil {
		return store.Edited{}, err
	}
	text, problem := base, error(nil)
	for {
		edited, err := open(text, problem)
		if err != nil {
			return store.Edited{}, err
		}
		if edited == nil {
			return store.Edited{}, problem
		}
		text = edited
		done, err := r.Edit(ctx, store.Op{Name: "edit", Agent: blackboard.Human}, base, text)
		var invalid *store.InvalidError
		var conflict *store.ConflictError
		if !errors.As(err, &invalid) && !errors.As(err, &conflict) {
			return done, err
		}
		problem = err
	}
}

// journalProblems are what stays wrong with the journal when it is looked at several
// times: an entry ahead of the state may be one that is being written just now.
func (p *Board) journalProblems(ctx context.Context, revision int) ([]blackboard.Violation, error) {
	if p.looked != nil && time.Since(p.looked.at) < journalRest {
		return p.looked.found, nil
	}
	found, err := p.lookAtJournal(ctx, revision)
	if err == nil && p.looked != nil {
		*p.looked = journalLook{time.Now(), found}
	}
	return found, err
}

// journalRest is how long a watcher trusts its last look at the journal: all entries are read for
// one, and a team writes many times a second.
const journalRest = 10 * time.Second

// A journalLook is what was found in the journal, and when.
type journalLook struct {
	at    time.Time
	found []blackboard.Violation
}

func (p *Board) lookAtJournal(ctx context.Context, revision int) ([]blackboard.Violation, error) {
	problems, err := p.checkJournal(ctx, revision)
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for n := 0; n < 5 && err == nil && len(problems) > 0; n++ {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var s *blackboard.State
		if s, err = p.Store.View(ctx); err != nil {
			break
		}
		var again []blackboard.Violation
		again, err = p.checkJournal(ctx, s.Revision)
		problems = slices.DeleteFunc(problems, func(x blackboard.Violation) bool {
			return !slices.ContainsFunc(again, func(y blackboard.Violation) bool { return y.Line == x.Line && y.Rule == x.Rule })
		})
	}
	return problems, err
}

// checkJournal looks at the journal once: do its entries fit the board (V57), and are they
// those that Liza wrote (V68)?
func (p *Board) checkJournal(ctx context.Context, revision int) ([]blackboard.Violation, error) {
	problems, err := p.Store.JournalProblems(ctx, revision)
	if err != nil {
		return nil, err
	}
	var list []blackboard.Violation
	for _, x := range problems {
		v := blackboard.Violation{Rule: "V57", Fixable: x.Fixable, Subjects: []string{"log.yaml"}, Line: x.Line, Message: strings.TrimPrefix(x.Message, "log.yaml: ")}
		if x.Fixable {
			v.Severity, v.Message = blackboard.SeverityWarning, v.Message+"; a writer that was killed before it changed the board leaves this, and the next write cuts it"
		}
		list = append(list, v)
	}
	broken, err := p.Store.JournalBroken(ctx)
	if err != nil || broken == nil || slices.ContainsFunc(list, func(v blackboard.Violation) bool { return v.Line == broken.Line }) {
		return list, err
	}
	v := blackboard.Violation{Rule: RuleJournal, Subjects: []string{broken.File}, Line: broken.Line, Message: broken.Message + "; " + NextSeal + " accepts the journal as it stands"}
	if broken.Unproven {
		v.Severity, v.Message = blackboard.SeverityWarning, broken.Message
	}
	return append(list, v), nil
}

const (
	RuleJournal = "V68"
	NextSeal    = "liza validate --accept WHY"
)

// Board is a state file, alone, in a folder, or in a project.
type Board struct {
	Name    string // as people know the file
	Root    string // "" for a file that lies in no .liza
	Store   store.Project
	Project *project.Project // nil outside of a project
	Remote  string           // over which work travels, "" for none
	Archive *history.Archive // what was read of the archive is not read again; nil: each look reads it
	Repo    *git.Repo        // nil when git is missing, or there is no repository

	Now           func() time.Time
	Processes     blackboard.ProcessFacts
	SkipSpecFiles bool

	looked *journalLook // the last look of a watcher; nil: each look counts
}
