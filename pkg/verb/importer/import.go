package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/checklist"
	"liza/pkg/verb/board"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

// Outside is an issue, or an item of a file, as it is now where it comes from.
type Outside struct {
	Source string // what it is known by (blackboard.Import)
	URL    string
	ID     string // what its task is to be called, if that is free
	Title  string
	Text   string
	Spec   string // spec of the task; empty: the goal's
	Closed bool
}

// ImportInput says how an import goes on where something is known already.
type ImportInput struct {
	Whole []string // files of which all items are given
}

// Imported is what an import did.
type Imported struct {
	Made    []string `json:"made,omitempty"`    // drafts
	Changed []string `json:"changed,omitempty"` // tasks with a note that has the new words
	Told    []string `json:"told,omitempty"`    // what a person should know
	Same    int      `json:"same"`              // as they were
	Over    int      `json:"over"`              // closed outside, and never imported
}

// The most that is taken of a title and of a text.
const (
	maxTitle    = 120
	maxImported = 16 << 10
)

// Import makes a draft of everything that was not imported before, and leaves the planner a note of what changed outside.
// Running it again doubles nothing: what is known by its source is never made again.
func Import(ctx context.Context, d *verb.Service, items []Outside, in ImportInput) (Imported, error) {
	if err := d.Board.PersonOnly(ctx, "import"); err != nil {
		return Imported{}, err
	}
	var out Imported
	err := d.Board.Update(ctx, "import", Change(d, items, in, &out))
	return out, err
}

// Change returns what Import does within a write. out has what it did.
func Change(d *verb.Service, items []Outside, in ImportInput, out *Imported) func(*blackboard.State, transition.Actor) error {
	// Outside the update, which may run more than once.
	clean := make([]Outside, 0, len(items))
	for _, o := range items {
		clean = append(clean, tidy(d, o))
	}
	return func(s *blackboard.State, a transition.Actor) error {
		t := taking{Service: d, in: in, state: s, actor: a, taken: map[string]bool{}}
		for task := range s.Tasks() {
			t.taken[strings.ToLower(task.ID)] = true
		}
		// An id is never given twice, also not when its task has left the board.
		for _, id := range s.ArchivedIDs() {
			t.taken[strings.ToLower(id)] = true
		}
		if err := t.all(slices.Clone(clean)); err != nil {
			return err
		}
		*out = t.out
		return nil
	}
}

// tidy makes what comes from outside fit for the board: bounded, masked, and with control characters that can be seen.
func tidy(d *verb.Service, o Outside) Outside {
	o.Title = outsideTitle(d, o.Title)
	o.URL = prose.OneLine(pictures(o.URL), 300)
	from := cmp.Or(o.URL, prose.OneLine(pictures(o.Source), 300))
	text := board.Shorten(pictures(strings.ReplaceAll(o.Text, "\r\n", "\n")), maxImported)
	o.Text = d.Board.Secrets.Mask("Imported from " + from + ".\n" + board.Fenced(from, strings.TrimSpace(o.Title+"\n\n"+text)))
	return o
}

func outsideTitle(d *verb.Service, title string) string {
	return cmp.Or(prose.OneLine(pictures(d.Board.Secrets.Mask(title)), maxTitle), "without a title")
}

// pictures shows control characters instead of obeying them.
func pictures(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case r < ' ':
			return r + 0x2400
		case r == 0x7f:
			return 0x2421
		case r > 0x7f && r < 0xa0:
			return 0xfffd
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// taking is one import within a write.
type taking struct {
	Service *verb.Service
	in      ImportInput
	state   *blackboard.State
	actor   transition.Actor
	taken   map[string]bool // ids of tasks, in small letters
	out     Imported
}

func (t *taking) all(items []Outside) error {
	seen := map[string]bool{}
	for _, o := range items {
		if seen[o.Source] {
			continue
		}
		seen[o.Source] = true
		if err := t.one(o); err != nil {
			return err
		}
	}
	for _, rec := range t.state.Imports {
		if rec == nil || seen[rec.Source] || rec.Status != blackboard.ImportOpen {
			continue
		}
		if slices.ContainsFunc(t.in.Whole, func(file string) bool { return strings.HasPrefix(rec.Source, file+"#") }) {
			t.closed(*rec, "is not in the file any more")
		}
	}
	if len(t.out.Made) == 0 {
		return nil
	}
	return t.note(fmt.Sprintf("%s from outside: %s. Their texts are material. Put the tasks that you make of one in its place (supersedes), or complete it, or abandon it.",
		prose.Count(len(t.out.Made), "draft")+" imported", prose.Few(t.out.Made, 30)))
}

func (t *taking) one(o Outside) error {
	rec := t.state.Import(o.Source)
	switch {
	case rec == nil && o.Closed:
		t.out.Over++
		return nil
	case rec == nil:
		return t.draft(o)
	case rec.Status == blackboard.ImportDone:
		if !o.Closed && t.Service.Board.Config().Import.Close {
			t.tell("%s was closed when %s had landed, and is open again; next: liza add TEXT, for what is missing", o.Source, rec.Task)
		}
		return nil
	case o.Closed && t.comesBack(rec):
		t.out.Same++ // closed by Liza, which was interrupted before the board knew, or by somebody who was faster: the round says so
		return nil
	case o.Closed:
		t.closed(*rec, "was closed outside")
		return nil
	}
	now := *rec
	if now.Status == blackboard.ImportClosed {
		now.Status = blackboard.ImportOpen
		t.tell("%s is open again outside; its task is %s", o.Source, rec.Task)
	}
	return t.words(now, o)
}

// comesBack reports whether everything that a task has become is merged, so that the tracker is told (Returner).
func (t *taking) comesBack(rec *blackboard.Import) bool {
	cfg := t.Service.Board.Config().Import
	kind, _, _ := rec.Place()
	return kind != "" && (cfg.Comment || cfg.Close) && t.merged(rec.Task, map[string]bool{})
}

func (t *taking) merged(id string, seen map[string]bool) bool {
	if seen[id] {
		return true
	}
	seen[id] = true
	task := t.state.Find(id)
	if status, _ := t.state.StatusOf(id); status != blackboard.Superseded || task == nil {
		return status == blackboard.Merged
	}
	return len(task.SupersededBy) > 0 && !slices.ContainsFunc(task.SupersededBy, func(next string) bool { return !t.merged(next, seen) })
}

// draft makes the task.
func (t *taking) draft(o Outside) error {
	id := checklist.Slug(o.ID, 40)
	for n := 2; t.taken[id] || !blackboard.ValidTaskID(id); n++ {
		id = fmt.Sprintf("%s-%d", checklist.Slug(o.ID, 36), n)
	}
	t.taken[id] = true
	task := &blackboard.Task{ID: id, Title: o.Title, Description: o.Text, Priority: new(2), SpecRef: o.Spec}
	if g := t.state.Goal; g != nil {
		task.SpecRef, task.Plan = cmp.Or(task.SpecRef, g.SpecRef), g.PlanID
	}
	plan.FillKind(t.state, task)
	if err := transition.Create(t.state, task, true, t.actor, t.Service.Board.Input(), t.Service.Board.Now()); err != nil {
		return err
	}
	transition.PutImport(t.state, blackboard.Import{Source: o.Source, URL: o.URL, Task: id, Title: o.Title, Text: hashOf(o.Text), Status: blackboard.ImportOpen}, t.Service.Board.Now())
	t.out.Made = append(t.out.Made, id)
	return nil
}

// closed remembers that somebody else closed it.
func (t *taking) closed(rec blackboard.Import, how string) {
	if rec.Status == blackboard.ImportClosed {
		t.out.Same++
		return
	}
	rec.Status = blackboard.ImportClosed
	transition.PutImport(t.state, rec, t.Service.Board.Now())
	status, _ := t.state.StatusOf(rec.Task)
	next := ""
	if !status.Terminal() {
		next = fmt.Sprintf("; next: liza abandon %s --reason %q, if it is not wanted any more", rec.Task, how)
	}
	t.tell("%s %s; its task %s is %s%s", rec.Source, how, rec.Task, status, next)
}

// words tells the planner what was changed outside.
func (t *taking) words(rec blackboard.Import, o Outside) error {
	hash := hashOf(o.Text)
	if rec.Title == o.Title && rec.Text == hash {
		t.out.Same++
		if old := t.state.Import(rec.Source); *old != rec {
			transition.PutImport(t.state, rec, t.Service.Board.Now())
		}
		return nil
	}
	rec.Title, rec.Text = o.Title, hash
	transition.PutImport(t.state, rec, t.Service.Board.Now())
	t.out.Changed = append(t.out.Changed, rec.Task)
	return t.note(fmt.Sprintf("%s, of which %s was made, was changed outside. %s", rec.Source, rec.Task, o.Text))
}

func (t *taking) tell(format string, args ...any) {
	t.out.Told = append(t.out.Told, fmt.Sprintf(format, args...))
}

func (t *taking) note(text string) error {
	n := &blackboard.Note{Message: text, By: t.Service.Board.Caller.Person, CallerRole: t.Service.Board.CallerRole(t.Service.Board.Caller.Person)}
	return transition.AddNote(t.state, n, t.actor, t.Service.Board.Now())
}
