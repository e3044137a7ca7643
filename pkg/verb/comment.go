package verb

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/transition"
)

// Comment is what a person says about the change of a task: at a line of a file as it is now, about a file (Line 0), or
// about the whole (no Path).
type Comment struct {
	Task, Path string
	Line       int
	Text       string
}

// Comment puts a comment on the board. The coder gets it with its next prompt, as a finding when the work is rejected. Work that
// was approved already then waits for a person's decision.
func (d *Service) Comment(ctx context.Context, in Comment) (Done, error) {
	done := Done{Task: in.Task}
	if err := d.Clean(Text{"the comment", &in.Text}, Text{"the path", &in.Path}); err != nil {
		return done, err
	}
	if len(in.Text) > maxNote {
		return done, WrongUsage("liza help comment", "the comment has %d bytes; %d is the limit", len(in.Text), maxNote)
	}
	if strings.TrimSpace(in.Text) == "" {
		return done, WrongUsage("liza help comment", "the comment is empty")
	}
	s, err := d.View(ctx)
	if err != nil {
		return done, err
	}
	id, err := d.Identify()
	if err != nil {
		return done, err
	}
	if err := d.OnlyPerson(s, id.Actor(s.Clone()), "comment on a change"); err != nil { // before anything is said about the change
		return done, err
	}
	n := &blackboard.Note{Message: in.Text, For: in.Task, Line: in.Line, By: d.Caller.Person, CallerRole: d.CallerRole(d.Caller.Person)}
	if t := s.Find(in.Task); t != nil { // else the rules say it
		if n.File, n.Commit, err = d.placeOf(ctx, s, t, in); err != nil {
			return done, err
		}
	}
	return d.Event(ctx, "comment", in.Task, func(s *blackboard.State, a transition.Actor) error {
		if err := d.OnlyPerson(s, a, "comment on a change"); err != nil {
			return err
		}
		own := *n // the change may run more than once
		return transition.AddNote(s, &own, a, d.Now())
	})
}

// placeOf is the file and the commit that a comment is about.
func (d *Service) placeOf(ctx context.Context, s *blackboard.State, t *blackboard.Task, in Comment) (file, commit string, err error) {
	next := "liza diff " + t.ID + " --stat"
	base, commit, err := d.ChangeOf(ctx, s, t)
	if err != nil {
		return "", "", err
	}
	if in.Path == "" {
		if in.Line != 0 {
			return "", "", WrongUsage("liza help comment", "a line without a file says nothing")
		}
		return "", commit, nil
	}
	file = path.Clean(in.Path)
	changes, err := d.Repo.ChangedFiles(ctx, base, commit)
	if err != nil {
		return "", "", err
	}
	for _, c := range changes {
		if c.Path == file {
			return file, commit, d.hasLine(ctx, c, commit, in.Line, next)
		}
	}
	return "", "", Refuse(next, "%s does not change %s", t.ID, file)
}

// hasLine refuses a line that the file does not have.
func (d *Service) hasLine(ctx context.Context, c git.Change, commit string, line int, next string) error {
	switch {
	case line < 0:
		return WrongUsage("liza help comment", "line %d must be 1 or more", line)
	case line == 0:
		return nil
	case c.Status == "D":
		return Refuse(next, "%s was deleted, so it has no line %d", c.Path, line)
	}
	data, err := d.Repo.ReadFile(ctx, commit, c.Path)
	if err != nil {
		return fmt.Errorf("cannot look at line %d: %w", line, err)
	}
	if lines := bytes.Count(data, []byte("\n")) + 1; line > lines || line == lines && bytes.HasSuffix(data, []byte("\n")) {
		return Refuse(next, "%s has no line %d", c.Path, line)
	}
	return nil
}
