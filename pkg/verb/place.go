package verb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/review"
)

// A Place is a throw-away worktree in which commands run where and how merges are checked: beside the worktrees of tasks, in the
// same sandbox and with the same caches. Close it.
type Place struct {
	Dir    string
	Commit string
	Setup  string // the command of worktree.setup that failed; "": none

	service *Service
	name    string
	log     string
	limit   time.Duration
	hide    []string
}

// openPlace checks a commit out and runs worktree.setup there. name is that of no task and of no other place.
func (d *Service) openPlace(ctx context.Context, secrets []string, name, commit, log string, limit time.Duration) (*Place, error) {
	p := &Place{Dir: d.Project.ReviewWorktree(name), Commit: commit, service: d, name: name, log: log, limit: limit, hide: secrets}
	if err := d.clearReview(ctx, name); err != nil {
		return p, err
	}
	if _, err := d.Repo.CheckoutDetached(ctx, p.Dir, commit); err != nil {
		return p, err
	}
	if err := os.Remove(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for _, setup := range d.Config().Worktree.Setup {
		if ran := p.run(ctx, setup); ran.Err != nil {
			return p, ran.Err
		} else if ran.Failed() {
			p.Setup = setup
			break
		}
	}
	return p, nil
}

// placeName is the name of a place for the work of a task, "" for the integration branch. The work has not been reviewed: its commands
// have the caches of the task, and open no registry.
func placeName(name, task string) string {
	if task == "" {
		return name
	}
	return name + "@" + task
}

// OpenPlace makes a Place for a person: of the work of a task as it would be merged, or, for "", of the integration branch.
func (d *Service) OpenPlace(ctx context.Context, s *blackboard.State, task string) (*Place, error) {
	commit, err := d.toCheck(ctx, s, task)
	if err != nil {
		return nil, err
	}
	name := placeName(fmt.Sprintf(".here-%d", os.Getpid()), task)
	return d.openPlace(ctx, s.Secrets, name, commit, d.Project.SetupLog(name), s.Duration("integration_check_timeout"))
}

// Log is what worktree.setup has printed.
func (p *Place) Log() string { return p.log }

// Close removes the worktree and ends what still runs in it.
func (p *Place) Close(ctx context.Context) error {
	return p.service.clearReview(context.WithoutCancel(ctx), p.name)
}

func (p *Place) run(ctx context.Context, shell string) review.Ran {
	return review.Command{Shell: shell, Dir: p.Dir, Log: p.log, Timeout: p.limit, Hide: p.hide, Mask: p.service.MaskLog}.RunIn(ctx, p.service.Enclose)
}

// toCheck is the commit that a merge of a task would check now, or the head of the integration branch for "".
func (d *Service) toCheck(ctx context.Context, s *blackboard.State, task string) (string, error) {
	head, err := d.tipHere(ctx, s)
	if err != nil || task == "" {
		return head, err
	}
	t := s.Task(task)
	if t == nil {
		return "", WrongUsage("liza status", "no task '%s'", task)
	}
	work := t.ReviewCommit
	if !slices.Contains([]blackboard.Status{blackboard.ReadyForReview, blackboard.Approved}, t.Status) || work == "" {
		if work, err = d.Repo.BranchTip(ctx, git.TaskBranch(task)); err != nil {
			return "", Refuse("liza show "+task, "task %s has no work that could be checked: it is %s", task, t.Status)
		}
	}
	tree, err := d.Repo.MergeTree(ctx, head, work)
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		return "", Refuse("liza diff "+task, "%s does not merge with %s: conflict in %s", task, s.IntegrationBranch(), strings.Join(conflict.Files, ", "))
	}
	if err != nil {
		return "", err
	}
	return d.Repo.CommitTree(ctx, tree, []string{head, work}, "Check "+task)
}

// manifest names the files in which projects say where their dependencies lie.
var manifest = regexp.MustCompile(`(^|/)(go\.(mod|work)|package\.json|pnpm-workspace\.yaml|Cargo\.toml|pyproject\.toml|requirements[^/]*\.txt|setup\.cfg|Gemfile|composer\.json|pubspec\.yaml|build\.gradle(\.kts)?|settings\.gradle(\.kts)?|CMakeLists\.txt|Makefile)$`)

// upwards is a path that leads out of its folder.
var upwards = regexp.MustCompile(`(?:\.\./)+[\w@.+/-]*[\w@+-]`)

// mostLacks is how many differences are told.
const mostLacks = 12

// Lacks lists what the person's checkout has and the place has not, as paths and with the reason of each: files that manifests name outside of the repository, a
// go.work above it, submodules, and what git ignores or does not track.
func (p *Place) Lacks(ctx context.Context) (paths, texts []string, err error) {
	root := p.service.Project.Root
	files, err := p.service.Repo.ListCommit(ctx, p.Commit)
	if err != nil {
		return nil, nil, err
	}
	add := func(rel, why string) {
		if !slices.Contains(paths, rel) && len(paths) < mostLacks && filled(filepath.Join(root, rel)) && !filled(filepath.Join(p.Dir, rel)) {
			paths, texts = append(paths, rel), append(texts, rel+" ("+why+")")
		}
	}
	isGo := false
	for _, f := range files {
		isGo = isGo || path.Base(f.Path) == "go.mod"
		switch {
		case f.Submodule:
			add(f.Path, "a submodule that is not fetched there")
		case !f.Regular:
			if to, err := os.Readlink(filepath.Join(root, f.Path)); err == nil && !filepath.IsAbs(to) {
				if at := path.Join(path.Dir(f.Path), to); strings.HasPrefix(at, "../") {
					add(at, "the link "+f.Path+" leads to it")
				}
			}
		case manifest.MatchString(f.Path):
			text, err := p.service.Repo.ReadFile(ctx, p.Commit, f.Path)
			if err != nil {
				return nil, nil, err
			}
			for _, to := range upwards.FindAllString(string(text), -1) {
				if at := path.Join(path.Dir(f.Path), to); strings.HasPrefix(at, "../") {
					add(at, f.Path+" names it")
				}
			}
		}
	}
	for dir := filepath.Dir(root); isGo && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(root, filepath.Join(dir, "go.work")); err == nil {
			add(rel, "go finds it above your checkout")
		}
	}
	others, err := p.service.Repo.NotCommitted(ctx)
	for _, o := range others {
		if top, _, _ := strings.Cut(o.Path, "/"); top != ".liza" && top != ".worktrees" && o.How != git.Modified {
			add(strings.TrimSuffix(o.Path, "/"), o.How)
		}
	}
	return paths, texts, err
}

// filled reports whether there is a file, or a folder that is not empty.
func filled(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) > 0
}

// isPrivate reports whether a path outside of the repository is not for the commands of a project: a hidden file or folder, whose
// name begins with a dot, or what the repository itself lies in.
func isPrivate(root, rel string) bool {
	rest := strings.TrimLeft(strings.ReplaceAll(rel, "../", "\x00"), "\x00")
	return strings.HasPrefix(rel, "..") && (strings.HasPrefix(rest, ".") || strings.Contains(rest, "/.")) || strings.HasPrefix(root+"/", filepath.Join(root, rel)+"/")
}

// greenInCheckout reports whether a command that fails in the place passes in the person's checkout. It is run there only where
// the sandbox can keep it from writing, and while the checkout has the same files.
func (p *Place) greenInCheckout(ctx context.Context, lacks []string, shell string) bool {
	d, root := p.service, p.service.Project.Root
	changed, err := d.Repo.ChangedIn(ctx, root, p.Commit)
	if err != nil || len(changed) > 0 || d.Enclose == nil {
		return false
	}
	if slices.ContainsFunc(lacks, func(l string) bool { return isPrivate(root, l) }) {
		return false
	}
	c := review.Command{Shell: shell, Dir: root, ReadOnly: true, Log: strings.TrimSuffix(p.log, ".log") + ".checkout.log", Timeout: p.limit, Hide: p.hide, Mask: d.MaskLog}
	for _, l := range lacks {
		c.Reads = append(c.Reads, filepath.Join(root, l))
	}
	ran := c.RunIn(ctx, d.Enclose)
	return ran.Err == nil && !ran.Failed()
}
