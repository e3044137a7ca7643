package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/prompt"
	"liza/pkg/role"
	"liza/pkg/safefile"
)

const (
	gatherTime  = 2 * time.Second // for each gatherer
	changedLook = 10              // tasks in work whose worktrees are looked at
)

// gather fills in what comes from the repository (specs/roles-and-knowledge.md#2.5): what the role
// wants and the kind may have. What takes too long or fails is left out, and told.
func (s *Supervisor) gather(ctx context.Context, in *prompt.Input) (warnings []string) {
	step := func(piece role.Piece, fill func(context.Context) error) {
		if access := piece.For(in.Kind); access == role.Never || access == role.Optional && !in.Role.Wants(piece) {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, gatherTime)
		defer cancel()
		if err := fill(ctx); err != nil {
			warnings = append(warnings, fmt.Sprintf("the prompt goes without %s: %v", piece, err))
		}
	}
	var files *listing
	tracked := func(ctx context.Context) (err error) {
		if files == nil {
			files, err = s.tracked(ctx, in)
		}
		return err
	}
	step("repo_structure", func(ctx context.Context) error {
		if err := tracked(ctx); err != nil {
			return err
		}
		readme, _ := files.read(ctx)(prompt.Readme(files.paths))
		in.RepoTree = prompt.Tree(files.paths, readme)
		return ctx.Err()
	})
	step("relevant_files", func(ctx context.Context) error {
		if err := tracked(ctx); err != nil {
			return err
		}
		found := prompt.RelevantFiles(in.Task, files.paths, s.Service.Config().Context.RelevantFilesLimit, files.read(ctx))
		if ctx.Err() == nil {
			in.Relevant = found
		}
		return ctx.Err()
	})
	step("session_context", func(ctx context.Context) error {
		in.Changed = s.changed(ctx, in)
		return nil
	})
	return warnings
}

// listing is what git tracks where the agent works, without what is excluded.
type listing struct {
	repo  *git.Repo
	dir   string // "" when the files are those of a commit
	files map[string]git.Listed
	paths []string

	contents map[string]string // of a commit, by object
}

// tracked lists the files of the agent's folder; before there is one, those of the commit
// that it will begin with.
func (s *Supervisor) tracked(ctx context.Context, in *prompt.Input) (*listing, error) {
	l := &listing{repo: s.Service.Repo, dir: in.Worktree, files: map[string]git.Listed{}}
	var list []git.Listed
	var err error
	if _, gone := os.Stat(in.Worktree); gone == nil {
		list, err = l.repo.ListWorktree(ctx, in.Worktree)
	} else {
		l.dir = ""
		list, err = l.repo.ListCommit(ctx, in.Task.BaseCommit)
	}
	if err != nil {
		return nil, err
	}
	excluded := prompt.Excluded(s.Service.Config().Context.ExcludedPaths)
	for _, f := range list {
		if !excluded(f.Path) {
			l.files[f.Path] = f
			l.paths = append(l.paths, f.Path)
		}
	}
	return l, nil
}

const (
	largestFile = 256 << 10
	readAtOnce  = 32 << 20
)

// read gives the content of regular files of moderate size.
func (l *listing) read(ctx context.Context) func(path string) (string, bool) {
	return func(path string) (string, bool) {
		f, ok := l.files[path]
		switch {
		case !ok || !f.Regular || ctx.Err() != nil:
			return "", false
		case l.dir == "":
			return l.readCommitted(ctx, f)
		}
		name := filepath.Join(l.dir, filepath.FromSlash(path))
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > largestFile {
			return "", false
		}
		data, err := safefile.Read(name)
		return string(data), err == nil
	}
}

// readCommitted reads all files of the commit at the first call: one process for all.
func (l *listing) readCommitted(ctx context.Context, f git.Listed) (string, bool) {
	if l.contents == nil {
		var objects []string
		room := int64(readAtOnce)
		for _, p := range l.paths {
			if x := l.files[p]; x.Regular && x.Size <= largestFile && x.Size <= room {
				objects = append(objects, x.Object)
				room -= x.Size
			}
		}
		contents, err := l.repo.ReadObjects(ctx, objects)
		if err != nil {
			return "", false
		}
		l.contents = contents
	}
	text, ok := l.contents[f.Object]
	return text, ok
}

// changed are the files that other tasks in work have changed so far, where the plan does
// not say which ones they are about.
func (s *Supervisor) changed(ctx context.Context, in *prompt.Input) map[string][]string {
	files := map[string][]string{}
	for t := range in.State.Tasks() {
		if len(files) == changedLook {
			break
		}
		if t == nil || t == in.Task || t.ID == in.Task.ID || len(t.Files) > 0 || t.BaseCommit == "" || t.KindOf() == blackboard.MessageTask {
			continue
		}
		switch t.Status {
		case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Approved:
			list, err := s.Running.sawChanged(t.ID, s.Service.Now(), func() ([]string, error) {
				return s.Service.Repo.ChangedIn(ctx, s.Service.Repo.WorktreePath(t.ID), t.BaseCommit)
			})
			if err == nil {
				files[t.ID] = list
			}
		}
	}
	return files
}
