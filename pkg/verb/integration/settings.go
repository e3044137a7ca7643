package integration

import (
	"context"
	"path"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
)

// Settings are the files of a commit that agent programs take as settings of a project.
type Settings struct {
	Files   []git.Listed
	setting func(file string) bool
	targets []string // to which links among them lead: what is there is read in their place
}

// Has reports whether programs take what is at a path as settings of the project.
func (s Settings) Has(file string) bool {
	return s.setting(file) || slices.ContainsFunc(s.targets, func(to string) bool { return file == to || strings.HasPrefix(file, to+"/") })
}

// SettingsAt finds the settings of agent programs in a commit.
func (i *Branch) SettingsAt(ctx context.Context, commit string) (s Settings, err error) {
	if s.setting = i.board.ProjectSetting; s.setting == nil {
		s.setting = func(string) bool { return false }
	}
	files, err := i.board.Repo.Files(ctx, commit)
	if err != nil {
		return s, err
	}
	for _, f := range files {
		if f.Regular || f.Submodule || !s.setting(f.Path) {
			continue
		}
		to, err := i.board.Repo.ReadFile(ctx, commit, f.Path)
		if err != nil {
			return s, err
		}
		if at := path.Join(path.Dir(f.Path), string(to)); !path.IsAbs(string(to)) && at != "." && at != ".." && !strings.HasPrefix(at, "../") {
			s.targets = append(s.targets, at)
		}
	}
	s.Files = slices.DeleteFunc(files, func(f git.Listed) bool { return f.Submodule || !s.Has(f.Path) })
	return s, nil
}

// SettingsChanged has an error finding for each file of a submission that agent programs would take as their settings: merged, it acts in every
// run, that of a reviewer too, so only a person lets it through.
func (i *Branch) SettingsChanged(ctx context.Context, s *blackboard.State, t *blackboard.Task) (found []*blackboard.Finding, err error) {
	from, to, err := i.Proposal(ctx, s, t, t.ReviewCommit)
	if err != nil {
		return nil, err
	}
	changes, err := i.board.Repo.ChangedFiles(ctx, from, to)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	before, err := i.SettingsAt(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if before.Has(c.Path) || c.OldPath != "" && before.Has(c.OldPath) {
			found = append(found, &blackboard.Finding{Severity: review.Error, Check: blackboard.CheckSettings, File: c.Path, Message: "agent programs take this file as their settings; a person has to approve the change",
				Fix: "leave it out, or have a person release the merge with liza approve " + t.ID})
		}
	}
	return found, nil
}
