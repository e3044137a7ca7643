package wall

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/code/project"
	"liza/pkg/run/sandbox"
)

// What a run has inside that is neither its checkout nor the machine's lies here: its home, and what is shown to it of Liza and git.
const own = "/run/liza"

// Place says at which paths a run at a level has what it works with. At closed it is as in a clone in an empty folder: the folder in
// which it works is where the person's checkout is, HOME is short, and TMPDIR is /tmp, wherever these lie. What
// is shown to it of .liza and of the git folder within that checkout is in a folder of its own. Elsewhere each path is its own.
func (m *Maker) Place(level sandbox.Level, u Use) sandbox.Place {
	return Run{Project: m.Project, Private: privateOf(m.Project, u.Name), Dir: u.Dir, Look: u.Look}.place(level)
}

func (r Run) place(level sandbox.Level) sandbox.Place {
	if level != sandbox.Closed || r.Look {
		return nil
	}
	p, private := r.Project, r.Private
	place := sandbox.Place{{Source: filepath.Join(private, "home"), Target: own + "/home"}, {Source: filepath.Join(private, "tmp"), Target: "/tmp"},
		{Source: filepath.Join(private, "services"), Target: own + "/services"}}
	if r.Dir == p.Root {
		return place
	}
	place = append(place, sandbox.Mount{Source: r.Dir, Target: p.Root}, sandbox.Mount{Source: p.Liza, Target: own}, sandbox.Mount{Source: ".liza/output", Target: own + "/output"})
	if safefile.Within(p.GitDir, p.Root) {
		place = append(place, sandbox.Mount{Source: p.GitDir, Target: own + "/git"})
	}
	return place
}

// privateOf is the folder that a run has for itself.
func privateOf(p *project.Project, name string) string {
	return filepath.Join(p.Tmp(), privatePrefix+name)
}

// tmp is the folder for temporary files of the run. Where it has no other name inside, its own has to be short: names of Unix sockets have
// 107 bytes at most. There the folder of its sockets has it, in the person's runtime folder or in /tmp.
func (r Run) tmp(level sandbox.Level) string {
	if level == sandbox.Partial && r.Folder != "" {
		return filepath.Join(r.Folder, "tmp")
	}
	return filepath.Join(r.Private, "tmp")
}

// besides gives what a run is shown of the person's checkout itself, such as a program of the project's settings or an ignored file that is
// allowed, a place beside its own checkout: there it would be in the way of what the checkout has. Commands are given that path.
func (r Run) besides(place sandbox.Place, shown []string) sandbox.Place {
	if !r.moves(place) {
		return place
	}
	for _, path := range shown {
		if path != r.Project.Root && safefile.Within(path, r.Project.Root) && place.Inside(path) == path {
			rel, _ := filepath.Rel(r.Project.Root, path)
			place = append(place, sandbox.Mount{Source: path, Target: filepath.Join(own, "checkout", rel)})
		}
	}
	return place
}

// moves reports whether the run's folder is in the place of the person's checkout.
func (r Run) moves(place sandbox.Place) bool {
	return r.Dir != r.Project.Root && place.Inside(r.Dir) == r.Project.Root
}

// links has git's small files that name other places name those of the inside: the .git of the folder, and the objects that its git folder
// borrows. They are shown over the real ones, which git outside reads.
func (r Run) links(w *Plan) {
	s := &w.Spec
	if !r.moves(s.Place) {
		return
	}
	over := func(name, path, text string) {
		file := filepath.Join(r.Private, name)
		w.Texts = append(w.Texts, sandbox.Mount{Source: s.Place.Text(text), Target: file})
		s.Files = append(s.Files, sandbox.Mount{Source: file, Target: path})
	}
	admin := ""
	if r.Git != nil {
		admin = r.Git.Target
		borrowed := slices.DeleteFunc(slices.Clone(r.Git.Read), func(path string) bool { return slices.Contains([]string{"modules", "lfs"}, filepath.Base(path)) })
		over("alternates", filepath.Join(admin, "objects", "info", "alternates"), strings.Join(borrowed, "\n")+"\n")
	} else if admin = linkedTo(r.Project.GitDir, r.Dir); admin == "" {
		return
	}
	over("git", filepath.Join(r.Dir, ".git"), "gitdir: "+admin+"\n")
	for i, m := range r.modules(filepath.Join(admin, "modules")) {
		link := filepath.Join(m.dir, ".git")
		if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
			continue // it is not checked out
		}
		over(fmt.Sprintf("git-of-%d", i), link, "gitdir: "+m.git+"\n")
		over(fmt.Sprintf("config-of-%d", i), filepath.Join(m.git, "config"), m.config)
	}
}

// A module is a submodule in the folder of a run: both of its links are relative ones, as git makes them.
type module struct{ dir, git, config string }

// worktreeLine is where the configuration of a submodule's git folder names the submodule's folder.
var worktreeLine = regexp.MustCompile(`(?m)^(\s*worktree = )(.+)$`)

// modules are those of a folder in which git keeps git folders of submodules, and those that they have. The configurations name absolute paths.
func (r Run) modules(folder string) (all []module) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		git := filepath.Join(folder, e.Name())
		config, err := safefile.Read(filepath.Join(git, "config"))
		if err != nil { // the name of the submodule has a slash
			all = append(all, r.modules(git)...)
			continue
		}
		named := worktreeLine.FindSubmatch(config)
		if named == nil {
			continue
		}
		dir := string(named[2])
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(git, dir)
		}
		if safefile.Within(dir, r.Dir) {
			all = append(all, module{dir, git, worktreeLine.ReplaceAllString(string(config), "${1}"+strings.ReplaceAll(dir, "$", "$$"))})
		}
		all = append(all, r.modules(filepath.Join(git, "modules"))...)
	}
	return all
}

// linkedTo is git's folder of a linked worktree of the repository whose common folder is given; "" when dir is none.
func linkedTo(common, dir string) string {
	text, err := safefile.ReadWithin(dir, ".git", mostOfLink)
	admin, isLink := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if admin = filepath.Clean(admin); err != nil || !isLink || filepath.Dir(admin) != filepath.Join(common, "worktrees") {
		return ""
	}
	return admin
}
