// Package checks has what the commands of a project say of a tree.
//
// Checks runs the checks of a review (RunChecks) and remembers in .liza/baseline.json what a command gave on the tree that work began with:
// a failure that was there before is excused (OnBase), and a command that has never passed here verifies nothing (Unverified).
// A Place is a throw-away worktree in which commands run where and how merges are checked.
package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/merge"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
)

// Checks runs the commands of a project on trees, and remembers what they gave.
type Checks struct {
	Try time.Duration // what TryChecks may take; 0: TryTime

	board  *board.Session
	branch *integration.Branch
}

// New returns the checks of the project of a session.
func New(b *board.Session, branch *integration.Branch) *Checks {
	return &Checks{board: b, branch: branch}
}

// ErrorsFound names the errors among findings, "" for none.
func ErrorsFound(findings []*blackboard.Finding) string {
	var errs []string
	for _, f := range findings {
		if f.Severity == review.Error {
			errs = append(errs, strings.TrimPrefix(f.File+": "+f.Message, ": "))
		}
	}
	if len(errs) == 0 {
		return ""
	}
	return "the checks found errors: " + strings.Join(errs, "; ")
}

// ForeseeChecks gives a task of a rehearsed board the checks that its next review will see,
// as far as they can be had without running anything. open names those that have to run.
func (c *Checks) ForeseeChecks(ctx context.Context, s *blackboard.State, t *blackboard.Task) (open []string, err error) {
	if t == nil || !t.ChangesFiles() || c.board.Config().Review.Disabled() {
		return nil, nil
	}
	checks, findings, err := c.RunChecks(ctx, s, t, true)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if c.Message == review.NotRun {
			open = append(open, c.Name)
		}
	}
	t.Review = &blackboard.Review{Commit: t.ReviewCommit, Checks: checks, Findings: findings}
	return open, nil
}

// RunChecks does the checks in a throw-away worktree at the review commit.
func (c *Checks) RunChecks(ctx context.Context, s *blackboard.State, t *blackboard.Task, lookOnly bool) ([]*blackboard.Check, []*blackboard.Finding, error) {
	fail := func(err error) ([]*blackboard.Check, []*blackboard.Finding, error) {
		return nil, nil, fmt.Errorf("cannot check %s: %w", t.ID, err)
	}
	from, to, err := c.branch.Proposal(ctx, s, t, t.ReviewCommit)
	if err != nil {
		return fail(err)
	}
	sub, err := c.submissionToCheck(ctx, s, t, from, to)
	if err != nil {
		return fail(err)
	}
	files, err := c.board.Repo.Files(ctx, t.ReviewCommit)
	if err != nil {
		return fail(err)
	}
	b := c.checkEnvironment(ctx, s, t, from, files)
	b.LookOnly = lookOnly
	results, err := sub.Run(ctx, b)
	if !lookOnly {
		if e := c.clearReview(context.WithoutCancel(ctx), t.ID); e != nil {
			c.board.Progressf("cannot remove the worktree of the checks: %v", e)
		}
	}
	if err != nil {
		return fail(err)
	}
	var checks []*blackboard.Check
	var findings []*blackboard.Finding
	for _, r := range results {
		check := r.Check
		if check.Log != "" {
			check.Log = c.board.Rel(check.Log)
		}
		if check.Baseline != "" {
			check.Baseline = c.board.Rel(check.Baseline)
		}
		checks = append(checks, &check)
		findings = append(findings, r.Findings...)
		if check.Name == review.Exhibits && !lookOnly {
			if err := c.layOut(ctx, t.ID, t.ReviewCommit); err != nil {
				return fail(err)
			}
		}
	}
	return checks, findings, nil
}

// submissionToCheck gathers what the checks look at: the change between from and to.
func (c *Checks) submissionToCheck(ctx context.Context, s *blackboard.State, t *blackboard.Task, from, to string) (*review.Submission, error) {
	changes, err := review.Changes(ctx, c.board.Repo, from, to)
	if err != nil {
		return nil, err
	}
	undone, err := c.branch.Undone(ctx, t, from, to)
	if err != nil {
		return nil, err
	}
	c.board.LoadSecrets()
	sub := &review.Submission{Task: t, Changes: changes, Undone: undone, Settings: checkSettings(c.board.Config().Review), Known: c.board.Secrets.Find}
	if !s.Bool("tests_required") {
		delete(sub.Settings.Checks, review.TestCoverage) // one setting is enough, here as at submit
	}
	if sub.Settings.Checks[review.MergePreview].Enabled {
		if head, err := c.branch.TipHere(ctx, s); err == nil {
			var conflict *git.ConflictError
			if err := c.board.Repo.TryMerge(ctx, head, t.ReviewCommit); errors.As(err, &conflict) {
				sub.Conflicts = conflict.Files
			}
		}
	}
	return sub, nil
}

// checkEnvironment is where the commands run: detached at the review commit, without secrets.
func (c *Checks) checkEnvironment(ctx context.Context, s *blackboard.State, t *blackboard.Task, base string, files []git.Listed) *review.Environment {
	cfg, steps := c.board.Config(), c.steps(ctx, t.ReviewCommit, files)
	b := &review.Environment{Tree: c.treeAt(ctx, t.ReviewCommit, files), Timeout: cfg.Limits.CheckTimeout, Hide: s.Secrets, Setup: cfg.Worktree.Setup, Hooks: cfg.Hooks.PreReview,
		Log: func(check string) string { return c.board.Project.CheckLog(t.ID, strings.ReplaceAll(check, ":", "-")) }, Mask: c.board.Secrets.Mask,
		Enclose: c.board.Enclose, Program: func(command string) []string { return c.after(steps, command) }, MaskLog: func(w io.Writer) io.WriteCloser { return c.board.Secrets.Writer(w) },
		Say:      func(text string) { c.board.Progressf("%s: %s", t.ID, text) },
		Worktree: func(ctx context.Context) (string, error) { return c.openReview(ctx, t) }, Changed: c.board.Repo.Changed}
	b.Evidence = func(ctx context.Context, rules []review.Rule, made *review.Gathered) (*review.Evidence, error) {
		return c.keepEvidence(ctx, s.Secrets, review.Evidence{Task: t.ID, Commit: t.ReviewCommit, Base: base}, rules, made)
	}
	b.Seed = func(ctx context.Context, dir, log string) bool { return c.Seed(ctx, dir, t.ReviewCommit, log) }
	if t.Review != nil {
		b.Before = t.Review.Checks
	}
	b.Now = func(ctx context.Context, check, command string) (review.End, error) {
		return c.Now(ctx, s.Secrets, base, check, command)
	}
	if cfg.Review.Baseline {
		b.Base = func(ctx context.Context, check, command string) (review.End, error) {
			return c.OnBase(ctx, s.Secrets, base, check, command)
		}
		b.BaseLog = func(stored string) string { return filepath.Join(c.board.Project.Root, stored) }
		b.Passed = func(command string) { c.Passed(ctx, t.ReviewCommit, command) }
	}
	return b
}

func checkSettings(r config.Review) review.Settings {
	s := review.Settings{Checks: map[string]review.Setting{}, TestPaths: r.TestPaths, UserFacing: r.UserFacingPaths, E2E: r.E2EPaths}
	for name, c := range r.Checks {
		s.Checks[name] = review.Setting{Enabled: c.Enabled, Severity: r.Severity(name), Command: c.Command}
	}
	for _, paths := range slices.Sorted(maps.Keys(r.Evidence)) {
		s.Evidence = append(s.Evidence, review.Rule{Paths: paths, Command: r.Evidence[paths].Command, Files: r.Evidence[paths].Files})
	}
	return s
}

// treeAt is what the commands of the checks are detected in.
func (c *Checks) treeAt(ctx context.Context, commit string, files []git.Listed) review.Tree {
	tree := review.Tree{
		Read: func(file string) string {
			data, err := c.board.Repo.ReadFile(ctx, commit, file)
			if err != nil {
				return "" // it is not there, as a rule
			}
			return string(data)
		},
		Tool: func(name string) bool { _, err := exec.LookPath(name); return err == nil },
	}
	for _, f := range files {
		tree.Files = append(tree.Files, f.Path)
	}
	return tree
}

// openReview makes the throw-away worktree; what an interrupted review left goes first.
func (c *Checks) openReview(ctx context.Context, t *blackboard.Task) (string, error) {
	if err := c.clearReview(ctx, t.ID); err != nil {
		return "", err
	}
	path := c.board.Project.ReviewWorktree(t.ID)
	warnings, err := c.board.Repo.CheckoutDetached(ctx, path, t.ReviewCommit)
	for _, w := range warnings {
		c.board.Progressf("the checks of %s: %s", t.ID, w)
	}
	return path, err
}

// clearReview removes the throw-away worktree, and what still runs in it.
func (c *Checks) clearReview(ctx context.Context, id string) error {
	path := c.board.Project.ReviewWorktree(id)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := review.StopInside(ctx, path); err != nil {
		return err
	}
	return c.board.Repo.RemoveDetached(ctx, path)
}

// A Place is a throw-away worktree in which commands run where and how merges are checked: beside the worktrees of tasks, in the
// same sandbox and with the same caches. Close it.
type Place struct {
	Dir    string
	Commit string
	Setup  string // the command of worktree.setup that failed; "": none

	service *Checks
	name    string
	log     string
	limit   time.Duration
	hide    []string
}

// openPlace checks a commit out and sets it up. name is that of no task and of no other place.
func (c *Checks) openPlace(ctx context.Context, secrets []string, name, commit, log string, limit time.Duration) (*Place, error) {
	p := &Place{Dir: c.board.Project.ReviewWorktree(name), Commit: commit, service: c, name: name, log: log, limit: limit, hide: secrets}
	if err := c.clearReview(ctx, name); err != nil {
		return p, err
	}
	if _, err := c.board.Repo.CheckoutDetached(ctx, p.Dir, commit); err != nil {
		return p, err
	}
	if err := os.Remove(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if name != seedPlace && c.KeyNamed() && c.Seed(ctx, p.Dir, commit, log) { // a base decides what stops a merge, as Merger has it
		return p, nil
	}
	for _, setup := range c.board.Config().Worktree.Setup {
		if ran := p.command(setup).RunIn(ctx, c.board.Enclose); ran.Err != nil {
			return p, ran.Err
		} else if ran.Failed() {
			p.Setup = setup
			break
		}
	}
	return p, nil
}

// OpenJudged makes the Place in which a reviewer judges the work of a task: the commit under review in a fresh checkout, set up as that of its
// checks. Nothing else of the coder is there. What agent programs take as settings of a project is that of the integration branch.
func (c *Checks) OpenJudged(ctx context.Context, s *blackboard.State, t *blackboard.Task) (*Place, error) {
	p, err := c.openPlace(ctx, s.Secrets, t.ID, t.ReviewCommit, c.board.Project.CheckLog(t.ID, "reviewer-setup"), s.MergeCheckTimeout())
	if err == nil {
		err = c.settleSettings(ctx, s, p)
	}
	if err != nil {
		return p, fmt.Errorf("cannot check out what %s submitted: %w", t.ID, err)
	}
	return p, nil
}

// Judged is the folder of OpenJudged.
func (c *Checks) Judged(task string) string { return c.board.Project.ReviewWorktree(task) }

// CloseJudged removes the place in which a reviewer has worked.
func (c *Checks) CloseJudged(ctx context.Context, task string) error {
	return c.clearReview(context.WithoutCancel(ctx), task)
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
func (c *Checks) OpenPlace(ctx context.Context, s *blackboard.State, task string) (*Place, error) {
	commit, err := c.toCheck(ctx, s, task)
	if err != nil {
		return nil, err
	}
	name := placeName(fmt.Sprintf(".here-%d", os.Getpid()), task)
	return c.openPlace(ctx, s.Secrets, name, commit, c.board.Project.SetupLog(name), s.MergeCheckTimeout())
}

// Log is what worktree.setup has printed.
func (p *Place) Log() string { return p.log }

// Close removes the worktree and ends what still runs in it.
func (p *Place) Close(ctx context.Context) error {
	return p.service.clearReview(context.WithoutCancel(ctx), p.name)
}

// command is a shell command in the place, without the services of the project.
func (p *Place) command(shell string) review.Command {
	return review.Command{Shell: shell, Dir: p.Dir, Log: p.log, Timeout: p.limit, Hide: p.hide, Mask: p.service.board.MaskLog}
}

// toCheck is the commit that a merge of a task would check now, or the head of the integration branch for "".
func (c *Checks) toCheck(ctx context.Context, s *blackboard.State, task string) (string, error) {
	head, err := c.branch.TipHere(ctx, s)
	if err != nil || task == "" {
		return head, err
	}
	t := s.Task(task)
	if t == nil {
		return "", board.WrongUsage("liza status", "no task '%s'", task)
	}
	work := t.ReviewCommit
	if !slices.Contains([]blackboard.Status{blackboard.ReadyForReview, blackboard.Approved}, t.Status) || work == "" {
		if work, err = c.board.Repo.BranchTip(ctx, git.TaskBranch(task)); err != nil {
			return "", board.Refuse("liza show "+task, "task %s has no work that could be checked: it is %s", task, t.Status)
		}
	}
	tree, err := c.board.Repo.MergeTree(ctx, head, work)
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		return "", board.Refuse("liza diff "+task, "%s does not merge with %s: conflict in %s", task, s.IntegrationBranch(), strings.Join(conflict.Files, ", "))
	}
	if err != nil {
		return "", err
	}
	return c.board.Repo.CommitTree(ctx, tree, []string{head, work}, "Check "+task)
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
	root := p.service.board.Project.Root
	files, err := p.service.board.Repo.Files(ctx, p.Commit)
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
			text, err := p.service.board.Repo.ReadFile(ctx, p.Commit, f.Path)
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
	others, err := p.service.board.Repo.NotCommitted(ctx)
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
	d, root := p.service, p.service.board.Project.Root
	changed, err := d.board.Repo.ChangedIn(ctx, root, p.Commit)
	if err != nil || len(changed) > 0 || d.board.Enclose == nil {
		return false
	}
	if slices.ContainsFunc(lacks, func(l string) bool { return isPrivate(root, l) }) {
		return false
	}
	c := review.Command{Shell: shell, Dir: root, ReadOnly: true, Log: strings.TrimSuffix(p.log, ".log") + ".checkout.log", Timeout: p.limit, Hide: p.hide, Mask: d.board.MaskLog}
	for _, l := range lacks {
		c.Reads = append(c.Reads, filepath.Join(root, l))
	}
	ran := c.RunIn(ctx, d.board.Enclose)
	return ran.Err == nil && !ran.Failed()
}

// Unverified is a *transition.Refusal when work may not be merged although a command fails with it and without it: a person has
// to be asked, or has said stop, or integration.unverified refuses it. asks says whether the question is put on the board.
func (c *Checks) Unverified(ctx context.Context, command string, asks bool) error {
	what := fmt.Sprintf("the check %q verifies nothing: it fails without the work too", command)
	switch c.board.Config().Integration.Unverified {
	case "allow":
		return nil
	case "refuse":
		return waitFor(what, "liza check", "and integration.unverified refuses that")
	}
	text := fmt.Sprintf("The check %q fails on the integration branch without any work too, so it verifies nothing. Merge approved work unchecked (%s), or let it wait until the check passes (%s)? liza check shows the failure.",
		command, blackboard.AnswerGoOn, blackboard.AnswerStop)
	return c.decided(ctx, blackboard.QuestionUnverified, command, what, text, asks)
}

// Unable is a *transition.Refusal when work may not be merged because a command cannot run, for the reason why: merges stop, and a
// person is asked once. Without why the command has run, and the question is over.
func (c *Checks) Unable(ctx context.Context, command, why string) error {
	if why == "" {
		c.settled(ctx, blackboard.QuestionUnable, command)
		return nil
	}
	why = c.board.Secrets.Mask(why)
	text := fmt.Sprintf("The check %q cannot run here: %s. Approved work waits until it can, and is tried again by itself; liza check tries it now. Or merge approved work without this check (%s)?", command, why, blackboard.AnswerGoOn)
	return c.decided(ctx, blackboard.QuestionUnable, command, fmt.Sprintf("the check %q cannot run here: %s", command, why), text, true)
}

// decided is nil when a person has said that work is merged without a command; else it refuses the merge, and asks once.
func (c *Checks) decided(ctx context.Context, kind, command, what, text string, asks bool) error {
	s, err := c.board.View(ctx)
	if err != nil {
		return err
	}
	q := s.CheckQuestion(kind, command)
	if q == nil && asks {
		err := c.board.AsSystem(ctx, func(s *blackboard.State) {
			copied := *transition.AskAboutCheck(s, kind, command, text, c.board.Now())
			q = &copied
		})
		if err != nil {
			return err
		}
		c.board.Progressf("question %s: %s next: liza answer %s '%s'", q.ID, text, q.ID, blackboard.AnswerGoOn)
	}
	switch {
	case q == nil:
		return waitFor(what, "liza merge", "and a person has not been asked yet")
	case q.Status == blackboard.QuestionOpen:
		return waitFor(what, "liza answer "+q.ID+" '"+blackboard.AnswerGoOn+"'", "and a person is asked")
	case q.Answer != blackboard.AnswerGoOn:
		return waitFor(what, "liza answer "+q.ID+" '"+blackboard.AnswerGoOn+"'", "and "+q.By+" said "+blackboard.AnswerStop)
	}
	return nil
}

// waitFor refuses a merge until a check can be relied on.
func waitFor(what, next, why string) error {
	return &transition.Refusal{Guard: merge.WaitsForChecks, Exit: transition.ExitRefused, Next: next, Message: fmt.Sprintf("%s, %s; approved work waits", what, why)}
}

// WaitsUnverified is unverified for a candidate whose checks ran before: they need not run again to say that it waits.
func (c *Checks) WaitsUnverified(ctx context.Context, candidate string) error {
	known, err := c.readBaseline()
	if err != nil || !slices.ContainsFunc(known, func(r BaseResult) bool { return r.End.Failed }) {
		return nil
	}
	commands := c.board.Config().Integration.Checks
	if len(commands) == 0 {
		if _, err := c.board.Repo.ReadFile(ctx, candidate, merge.Script); errors.Is(err, git.ErrNotFound) {
			return nil
		}
		commands = []string{"./" + merge.Script}
	}
	for _, command := range slices.Concat(commands, c.board.Config().Hooks.PreMerge) {
		key, err := c.baseKey(ctx, candidate, command)
		if err != nil {
			return nil // the checks will say what is wrong
		}
		if !slices.ContainsFunc(known, func(r BaseResult) bool { return r.Key == key && r.End.Failed }) {
			continue
		}
		if err := c.Unverified(ctx, command, false); err != nil {
			return err
		}
	}
	return nil
}

// Reviewed lists the commands of the checks of a task's review that would have rejected the work, but fail without it too, or could
// not run, so that nothing has verified it. The error is that of Unverified or Unable for the first of them that has to wait.
func (c *Checks) Reviewed(ctx context.Context, t *blackboard.Task) (commands []string, waits error) {
	if t.Review == nil {
		return nil, nil
	}
	known, err := c.readBaseline()
	if err != nil {
		return nil, err
	}
	for _, check := range t.Review.Checks {
		severity := c.board.Config().Review.Checks[check.Name].Severity
		if severity == review.Error && check.Status == review.CannotRun {
			verified, err := c.again(ctx, t, check.Name)
			if !verified {
				commands = append(commands, check.Name)
			}
			waits = cmp.Or(waits, err)
		}
		if check.Status != review.Failed || check.Baseline == "" || severity != review.Error {
			continue
		}
		command := check.Name
		for _, r := range known {
			if r.End.Log != "" && c.board.Rel(r.End.Log) == check.Baseline {
				command = r.Command
			}
		}
		commands = append(commands, command)
		waits = cmp.Or(waits, c.Unverified(ctx, command, true))
	}
	return commands, waits
}

// again runs a check that could not run in the review of a task once more, on the commit of the review: what is mended is taken without a
// new review. The error is that of Unable or Unverified, or a *merge.RedError.
func (c *Checks) again(ctx context.Context, t *blackboard.Task, check string) (verified bool, err error) {
	s, err := c.board.View(ctx)
	if err != nil {
		return false, err
	}
	files, err := c.board.Repo.Files(ctx, t.ReviewCommit)
	if err != nil {
		return false, err
	}
	unlock, err := c.lockBaseline(ctx)
	if err != nil {
		return false, err
	}
	var red *BaseResult
	steps := c.steps(ctx, t.ReviewCommit, files)
	for _, step := range steps {
		if step.Check != check {
			continue
		}
		var r BaseResult // the last one is that of the command
		err := c.runProgram(ctx, s.Secrets, t.ID, t.ReviewCommit, step, c.after(steps, step.Command), func(one BaseResult) error {
			r = one
			return nil
		})
		if err == nil && !r.End.Ran() {
			err = c.Unable(ctx, check, cmp.Or(r.End.Unable, r.End.Setup))
		}
		if err != nil || !r.End.Ran() {
			_ = unlock()
			return false, err
		}
		if r.End.Failed && red == nil {
			red = &r
		}
	}
	_ = unlock()
	c.settled(ctx, blackboard.QuestionUnable, check)
	if red == nil {
		return true, nil
	}
	base, err := c.OnBase(ctx, s.Secrets, t.BaseCommit, check, red.Command)
	if err != nil {
		return false, err
	}
	before, isNew := base.NewFailures(review.Ran{ExitCode: red.End.ExitCode, TimedOut: red.End.TimedOut}, red.Command, review.OutputOf(red.End.Log, red.Command), nil)
	if before && len(isNew) == 0 {
		return false, c.Unverified(ctx, red.Command, true)
	}
	return false, &merge.RedError{Check: fmt.Sprintf("%q ended with exit code %d", red.Command, red.End.ExitCode), Log: c.board.Rel(red.End.Log)}
}

// FailedBefore remembers that a command failed on the candidate, with the failures of its base, while the candidate waits.
func (c *Checks) FailedBefore(ctx context.Context, candidate, command, log string, exit int) {
	key, err := c.baseKey(ctx, candidate, command)
	if err != nil {
		return
	}
	r := BaseResult{Key: key, Check: IntegrationCheck, Command: command, Commit: candidate, Candidate: true, At: blackboard.TimeOf(c.board.Now())}
	r.End.Failed, r.End.ExitCode, r.End.Log = true, exit, log
	err = c.changeBaseline(ctx, func(known []BaseResult) []BaseResult {
		return append(slices.DeleteFunc(known, func(k BaseResult) bool { return k.Key == key }), r)
	})
	if err != nil && ctx.Err() == nil {
		c.board.Progressf("%v", err)
	}
}

// settled ends a question about a command that passes here, or can run again.
func (c *Checks) settled(ctx context.Context, kind, command string) {
	s, err := c.board.View(ctx)
	if err == nil && s.CheckQuestion(kind, command) != nil {
		err = c.board.AsSystem(ctx, func(s *blackboard.State) { transition.SettleCheck(s, kind, command) })
	}
	if err != nil && ctx.Err() == nil {
		c.board.Progressf("%v", err)
	}
}
