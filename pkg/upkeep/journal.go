package upkeep

import (
	"context"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/project"
	"liza/pkg/store"
)

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
	NextSeal    = "liza seal --reason TEXT"
)

// Board is a state file and what is around it: nothing at all, a folder, or a project.
type Board struct {
	Name    string // as people know the file
	Root    string // "" for a file that lies in no .liza
	Store   store.Project
	Project *project.Project // nil outside of a project
	Remote  string           // over which work travels, "" for none
	Repo    *git.Repo        // nil when git is missing, or there is no repository

	Now           func() time.Time
	Processes     blackboard.ProcessFacts
	SkipSpecFiles bool

	looked *journalLook // the last look of a watcher; nil: each look counts
}
