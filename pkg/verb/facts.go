package verb

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/prose"
	"liza/pkg/safefile"
	"liza/pkg/store"
	"liza/pkg/transition"
)

func factOf(f *blackboard.Fact) Fact {
	return Fact{ID: f.ID, Content: f.Content, Status: cmp.Or(f.Status, blackboard.FactActive), Source: f.Source, Task: f.Task, By: f.By, Category: f.Category,
		Created: f.Created, LastUsed: f.LastUsed, Uses: f.Uses, From: f.From}
}

// KnownFacts lists the active facts; with all those that wait for a person and archived ones too.
func (d *Service) KnownFacts(ctx context.Context, all bool) ([]Fact, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	list, ids := []Fact{}, map[string]bool{}
	for _, f := range s.Facts {
		if all || f.Active() {
			list = append(list, factOf(f))
			ids[f.ID] = true
		}
	}
	if !all {
		return list, nil
	}
	archived, err := d.archivedFacts()
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Backward(archived) { // the newest form of each
		if !ids[f.ID] {
			ids[f.ID] = true
			f.Status = "archived"
			list = append(list, f.Fact)
		}
	}
	return list, nil
}

// factsFile is where facts go that leave the board.
func (d *Service) factsFile() string { return filepath.Join(d.Project.ArchiveDir(), "facts.jsonl") }

// archivedFacts reads what has left the board, oldest first. Lines that cannot be read, such
// as the end of a line that a killed process left, are not facts.
func (d *Service) archivedFacts() ([]ArchivedFact, error) {
	data, err := safefile.Read(d.factsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the archived facts: %v", err)
	}
	var list []ArchivedFact
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxText)
	for lines.Scan() {
		var f ArchivedFact
		if json.Unmarshal(lines.Bytes(), &f) == nil && f.ID != "" {
			list = append(list, f)
		}
	}
	return list, lines.Err()
}

// archiveFacts appends facts to the archive, before they leave the board. A crash in between
// leaves them in both.
func (d *Service) archiveFacts(gone []*blackboard.Fact, why string) error {
	var data []byte
	for _, f := range gone {
		line, err := json.Marshal(ArchivedFact{Fact: factOf(f), Archived: blackboard.TimeOf(d.Now()), Why: why})
		if err != nil {
			return fmt.Errorf("cannot archive %s: %v", f.ID, err)
		}
		data = append(append(data, line...), '\n')
	}
	if len(data) == 0 {
		return nil
	}
	if err := safefile.MakeFolder(d.Project.ArchiveDir(), 0o755); err != nil {
		return fmt.Errorf("cannot archive the facts: %v", err)
	}
	if err := safefile.Append(d.factsFile(), data); err != nil {
		return fmt.Errorf("cannot archive the facts: %w", err)
	}
	return nil
}

// lessons is what has to be known before the facts of a verdict are stored.
type lessons struct {
	archived []ArchivedFact
	empty    bool // nothing was judged: no diff, no output
}

// lessons looks them up when the verdict brings facts. That they cannot be read refuses no
// verdict.
func (d *Service) lessons(ctx context.Context, s *blackboard.State, in VerdictInput) (l lessons) {
	if len(in.Learn) == 0 {
		return l
	}
	var err error
	if l.archived, err = d.archivedFacts(); err != nil {
		d.Progressf("%v", err)
	}
	t := s.Task(in.Task)
	switch {
	case t == nil:
	case !t.ChangesFiles():
		l.empty = t.Output == nil || strings.TrimSpace(t.Output.Text) == ""
	case t.BaseCommit != "" && t.ReviewCommit != "":
		from, to, err := d.Proposal(ctx, s, t, t.ReviewCommit)
		l.empty = err == nil && from == to
	}
	return l
}

// learn stores what a reviewer learned about the project, at most three facts a verdict
// (specs/roles-and-knowledge.md#6.2). A bad one refuses no verdict: the journal says which rule it broke.
func (d *Service) learn(s *blackboard.State, a transition.Actor, in VerdictInput, l lessons, now time.Time) {
	status := blackboard.FactActive
	if d.Config().Facts.Review {
		status = blackboard.FactPending
	}
	for i, text := range in.Learn {
		text = strings.TrimSpace(text)
		f, is := known(s, l.archived, text)
		why := d.noFact(s, text)
		switch {
		case i >= exitcmd.MaxLearn:
			why = fmt.Sprintf("a verdict brings %d facts at most", exitcmd.MaxLearn)
		case l.empty && why == "":
			why = "the judged work was empty"
		case why == "" && is:
			why = "it is known already"
			if f != nil {
				f.LastUsed = blackboard.TimeOf(now)
				why = "it is known as " + f.ID
			}
		}
		if why != "" {
			s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionFactRefused, Task: in.Task,
				Detail: prose.FirstLine(why + ": " + text), Extra: map[string]any{"level": "warning"}})
			continue
		}
		transition.Learn(s, blackboard.Fact{Content: text, Status: status, Source: "reviewer", Task: in.Task, Category: "project"}, highest(l.archived), a, now)
	}
}

// LearnLate stores the facts of an exit command whose verdict came by a verb.
func (d *Service) LearnLate(ctx context.Context, in VerdictInput) error {
	if err := d.cleanVerdict(&in); err != nil {
		return err
	}
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	l := d.lessons(ctx, s, in)
	return d.Update(ctx, "learn", func(s *blackboard.State, a transition.Actor) error {
		d.learn(s, a, in, l, d.Now())
		return nil
	})
}

// highest is the highest number of an archived fact: ids are not used twice.
func highest(archived []ArchivedFact) int {
	n := 0
	for _, f := range archived {
		n = max(n, (&blackboard.Fact{ID: f.ID}).Number())
	}
	return n
}

// AddFact puts a fact on the board that a person or planner knows. It passes the filter of
// what reviewers learn.
func (d *Service) AddFact(ctx context.Context, content, category string) (Fact, error) {
	if err := d.Clean(Text{"the text", &content}); err != nil {
		return Fact{}, err
	}
	content = strings.TrimSpace(content)
	if category = cmp.Or(category, "project"); !slices.Contains(blackboard.FactCategories, category) {
		return Fact{}, WrongUsage("liza help facts", "--category '%s' must be %s", category, strings.Join(blackboard.FactCategories, ", "))
	}
	archived, err := d.archivedFacts()
	if err != nil {
		return Fact{}, err
	}
	var out Fact
	err = d.Update(ctx, "fact", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.MayKnow(s, a, "add facts", true, d.Now()); err != nil {
			return err
		}
		if why := d.noFact(s, content); why != "" {
			return WrongUsage("liza help facts", "that is not a fact: %s", why)
		}
		if f, is := known(s, archived, content); is {
			if f == nil {
				return NothingToDo("that is known already, and was archived; next: liza facts list --all")
			}
			return NothingToDo("that is known already as " + f.ID + ": " + prose.FirstLine(f.Content))
		}
		out = factOf(transition.Learn(s, blackboard.Fact{Content: content, Status: blackboard.FactActive, Source: "human", Category: category}, highest(archived), a, d.Now()))
		return nil
	})
	return out, err
}

// RemoveFacts moves facts to the archive, all or none.
func (d *Service) RemoveFacts(ctx context.Context, ids []string) error {
	var gone []*blackboard.Fact
	ahead := func([]store.Gone) error { return d.archiveFacts(gone, "removed by a person") }
	return d.UpdateAhead(ctx, "facts", ahead, func(s *blackboard.State, a transition.Actor) (err error) {
		if err := transition.MayKnow(s, a, "remove facts", false, d.Now()); err != nil {
			return err
		}
		gone, err = transition.RemoveFacts(s, ids, "removed", a, d.Now())
		return err
	})
}

// ApproveFacts lets prompts have facts that waited for a person, all or none.
func (d *Service) ApproveFacts(ctx context.Context, ids []string) (already bool, err error) {
	err = d.Update(ctx, "facts", func(s *blackboard.State, a transition.Actor) error {
		if err := transition.MayKnow(s, a, "approve facts", false, d.Now()); err != nil {
			return err
		}
		return transition.ApproveFacts(s, ids, a, d.Now())
	})
	if transition.IsAlreadyDone(err) {
		return true, nil
	}
	return false, err
}
