package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/face/dashboard"
)

// runs reads the ledger again when the file has changed. Nobody may change the list.
func (s *Source) runs() ([]history.UsageLine, error) {
	path := s.Service.Board.Project.Usage()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.ledger.info; err == nil && was != nil && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) {
		return s.ledger.runs, nil
	}
	runs, err := history.ReadUsage(path)
	if err != nil {
		return nil, err
	}
	s.ledger = ledger{info, runs}
	return runs, nil
}

// sprint is the board, all tasks of its sprint, and the ledger.
func (s *Source) sprint(ctx context.Context) (st *blackboard.State, tasks []*blackboard.Task, runs []history.UsageLine, err error) {
	if st, err = s.State(ctx); st == nil {
		return nil, nil, nil, err
	}
	if tasks, err = s.Service.Board.Histories().SprintTasks(st); err != nil {
		tasks = st.SprintTasks(nil) // what is on the board can be shown without the archive
	}
	runs, err = s.runs()
	return st, tasks, runs, err
}

// Timeline returns the runs of each agent and the events of the sprint.
func (s *Source) Timeline(ctx context.Context) (dashboard.Timeline, error) {
	st, tasks, runs, err := s.sprint(ctx)
	if err != nil {
		return dashboard.Timeline{}, err
	}
	return dashboard.BuildTimeline(st, tasks, runs, s.Service.Board.Now()), nil
}

// Figures returns costs, throughput and quality of the sprint.
func (s *Source) Figures(ctx context.Context) (dashboard.Figures, error) {
	st, tasks, runs, err := s.sprint(ctx)
	if err != nil {
		return dashboard.Figures{}, err
	}
	return dashboard.BuildFigures(st, tasks, runs, s.Service.Board.Now()), nil
}

// Graph returns the tasks with their dependencies, laid out.
func (s *Source) Graph(ctx context.Context) (dashboard.GraphView, error) {
	st, err := s.State(ctx)
	if st == nil {
		return dashboard.GraphView{}, err
	}
	return dashboard.BuildGraph(st), nil
}

// NotKeptError says that revision Revision is not kept; First to Last are.
type NotKeptError struct {
	Revision, First, Last int
}

func (e *NotKeptError) Error() string {
	return fmt.Sprintf("cannot show the board at revision %d: what is kept goes from revision %d to %d", e.Revision, e.First, e.Last)
}

// Next is the command that helps.
func (e *NotKeptError) Next() string { return "liza restore" }

// At returns the view of the newest kept revision at or before rev; the view names it. Ages, leases and waits are those of that
// moment; control files and other facts besides the board are not kept. The error for an unknown revision is a *NotKeptError.
func (s *Source) At(ctx context.Context, rev int) (dashboard.View, error) {
	now, err := s.State(ctx)
	if now == nil {
		return dashboard.View{}, err
	}
	if rev == now.Revision {
		return s.View(ctx)
	}
	kept, ok := s.Service.Board.Store.(store.Past)
	if !ok || rev > now.Revision || rev < 1 {
		return dashboard.View{}, s.notKept(ctx, rev, now)
	}
	st, at, err := kept.Past(ctx, rev)
	if missing := (*store.NoSnapshotError)(nil); errors.As(err, &missing) {
		return dashboard.View{}, s.notKept(ctx, rev, now)
	}
	if err != nil {
		return dashboard.View{}, err
	}
	s.Service.Board.Prepare(st)
	f := s.Facts(st)
	return dashboard.Build(st, dashboard.Input{Now: at, ReviewMode: f.ReviewMode, HumanReview: f.HumanReview}), nil
}

func (s *Source) notKept(ctx context.Context, rev int, now *blackboard.State) error {
	e := &NotKeptError{Revision: rev, First: now.Revision, Last: now.Revision}
	if kept, ok := s.Service.Board.Store.(store.Past); ok {
		all, _ := kept.Revisions(ctx) // without them, only the present one is known
		for _, k := range all {
			e.First = min(e.First, k.Revision)
		}
	}
	return e
}

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
