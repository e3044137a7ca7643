package wall

import (
	"path/filepath"
	"slices"

	"liza/pkg/run/sandbox"
)

// A GitHome is git's configuration for a home folder that is not the person's (git.HomeConfig).
type GitHome struct{ Home, Project string }

const (
	gitHome    = ".gitconfig"
	GitProject = ".gitconfig.project" // what gitHome includes for the repository of the project
)

// into writes it, unless the settings show the person's own.
func (g GitHome) into(w *Plan, project bool) {
	s := &w.Spec
	if own := filepath.Join(s.Person, gitHome); g.Home == "" || slices.Contains(s.HomeRead, gitHome) || slices.Contains(s.HomeRead, own) {
		return
	}
	w.Texts = append(w.Texts, sandbox.Mount{Source: g.Home, Target: filepath.Join(s.Home, gitHome)})
	if project {
		w.Texts = append(w.Texts, sandbox.Mount{Source: g.Project, Target: filepath.Join(s.Home, GitProject)})
	}
}

// throwAway gives setup, which installs hooks, folders of its own for them. Nothing reads these hooks.
func (r Run) throwAway(w *Plan) {
	if w.Spec.Level != sandbox.Closed || !r.Job || !r.Write || r.Git != nil || r.Dir == r.Project.Root {
		return
	}
	for _, name := range []string{"hooks", "info"} {
		own, theirs := filepath.Join(r.Private, name), filepath.Join(r.Project.GitDir, name)
		w.Make, w.Spec.Over = append(w.Make, own), append(w.Spec.Over, sandbox.Mount{Source: own, Target: theirs})
		if name == "info" && r.Person.Real(theirs) != "" {
			w.Copy = append(w.Copy, sandbox.Mount{Source: theirs, Target: own})
		}
	}
}
