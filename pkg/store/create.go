package store

import (
	"context"
	"fmt"
	"os"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/safefile"
	"liza/pkg/yamldoc"
)

// A Comment is put into the first state: above a section ("config"), or behind a key of
// one ("config.lease_duration").
type Comment struct{ Path, Text string }

// Create writes the first state of a project, with revision 1 and all sections that it
// has, and the journal with what s recorded. The folder must exist and must not hold a
// state.
func Create(ctx context.Context, o Options, s *blackboard.State, comments ...Comment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(o.Path); err == nil {
		return fmt.Errorf("cannot create %s: it exists", short(o.Path))
	}
	f, err := Open(o)
	if err != nil {
		return err
	}
	v, err := f.first(s, comments)
	if err != nil {
		return err
	}
	v.made = true
	if err := safefile.Replace(o.Path+".lock", nil, 0o644); err != nil {
		return err
	}
	journal := history.Journal{Path: journalPath(o.Path), Mask: o.Mask}
	if err := safefile.Replace(journal.Path, nil, 0o644); err != nil {
		return err
	}
	end, err := journal.Append(1, history.Begins, f.complete(Op{Name: "init", Agent: blackboard.Human}, s.Entries()))
	if err != nil {
		return err
	}
	staged, err := safefile.Stage(o.Path, v.doc.Bytes(), 0o644)
	if err != nil {
		return err
	}
	if v.stamp, err = staged.CommitStamp(); err != nil {
		return err
	}
	f.settle(v, f.beginChain(v), "", end)
	return MarkHere(o)
}

// Place makes a board that was elsewhere the file: its text and its journal as they are. It may be done again.
func Place(ctx context.Context, o Options, text []byte, journal string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := Open(o)
	if err != nil {
		return err
	}
	v := &version{made: true}
	if err := v.parse(text, f.reader); err != nil {
		return f.unreadable(err)
	}
	end := history.Begins
	for _, line := range history.Split(journal) {
		end = line.Link
	}
	if err := safefile.Replace(journalPath(o.Path), []byte(journal), 0o644); err != nil {
		return err
	}
	staged, err := safefile.Stage(o.Path, text, 0o644)
	if err != nil {
		return err
	}
	if v.stamp, err = staged.CommitStamp(); err != nil {
		return err
	}
	f.settle(v, f.beginChain(v), "", end)
	return nil
}

// first is the version with revision 1 of a state.
func (r *rules) first(s *blackboard.State, comments []Comment) (*version, error) {
	first := s.Clone()
	if r.o.Mask != nil {
		first.Mask(nil, r.o.Mask)
	}
	if r.o.Seals != nil {
		k, err := r.makeKey()
		if err != nil {
			return nil, err
		}
		first.SealTip(nil, k, true)
	}
	first.Version, first.Revision = "1", 1
	text := render(first, comments)
	doc, err := r.reader.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", short(r.o.Path), err)
	}
	v := &version{doc: doc, base: state(doc, nil)}
	for _, sec := range sections() {
		if !yamldoc.Alike(sec.of(v.base).Interface(), sec.of(first).Interface()) {
			return nil, fmt.Errorf("cannot create %s: the file would not say what section %s is", short(r.o.Path), sec.key)
		}
	}
	return v, nil
}

// render writes all sections, empty ones too unless they have no value at all.
func render(s *blackboard.State, comments []Comment) string {
	var b strings.Builder
	for i, sec := range sections() {
		value := sec.of(s)
		if value.IsZero() && sec.kind == whole && sec.key != "config" && sec.key != "secrets" {
			continue
		}
		above, behind := "", map[string]string{}
		for _, c := range comments {
			if c.Path == sec.key {
				above = c.Text
			} else if key, ok := strings.CutPrefix(c.Path, sec.key+"."); ok {
				behind[key] = c.Text
			}
		}
		if i > 1 {
			b.WriteByte('\n')
		}
		b.WriteString(yamldoc.Section(sec.key, value.Interface(), above, behind, sec.key == "tasks" || sec.key == "agents"))
	}
	return b.String()
}
