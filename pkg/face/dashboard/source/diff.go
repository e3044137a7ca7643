package source

import (
	"context"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/face/dashboard"
)

// mostDiff is how many bytes of a change are shown.
const mostDiff = 4 << 20

// Diff is what a task changes against its base, while it is worked on, before and after its merge, with what was found at its
// lines. A task that has none is a *blackboard.Refusal. It is nil when there is no such task.
func (s *Source) Diff(ctx context.Context, id string) (*dashboard.Diff, error) {
	st, t, err := s.find(ctx, id)
	if t == nil {
		return nil, err
	}
	p, err := s.Service.Integration.PatchesOf(ctx, st, t, mostDiff)
	if err != nil {
		return nil, err
	}
	d := &dashboard.Diff{Base: p.Base, Commit: p.Commit, Live: p.Live, Merged: t.Status == blackboard.Merged, Files: []dashboard.DiffFile{}, Cut: p.Cut}
	for _, f := range p.Files {
		d.Added, d.Removed = d.Added+f.Added, d.Removed+f.Removed
		x := dashboard.DiffFile{Path: f.Path, From: f.OldPath, Status: statusOf(f), Added: f.Added, Removed: f.Removed, Binary: f.Binary, Mode: f.Mode, Patch: s.shown(f), Cut: f.Cut}
		if f.Mode != f.OldMode && strings.Trim(f.OldMode, "0") != "" {
			x.OldMode = f.OldMode
		}
		d.Files = append(d.Files, x)
	}
	d.Place(dashboard.FindingsOf(st, t))
	return d, nil
}

func statusOf(f git.FilePatch) string {
	switch {
	case f.Status == "A":
		return "added"
	case f.Status == "D":
		return "deleted"
	case f.Status == "R":
		return "renamed"
	case f.Status == "C":
		return "copied"
	case f.Hunks == "" && !f.Binary && f.Mode != f.OldMode:
		return "mode"
	}
	return "modified"
}

// shown is a patch without secrets: those that people named, and what looks like one.
func (s *Source) shown(f git.FilePatch) string {
	head := "+++ b/" + strings.ReplaceAll(f.Path, "\n", " ") + "\n" // it decides what may look like a secret
	return s.Service.Board.Mask(strings.TrimPrefix(review.Redact(head+f.Hunks), head))
}
