package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/blackboard/audit"
	"liza/pkg/git"
	"liza/pkg/history"
	"liza/pkg/project"
	"liza/pkg/store"
	"liza/pkg/verb"
)

// boardName is how people know the file of their project.
const boardName = ".liza/state.yaml"

// place is a state file, and what is around it: nothing at all, a folder, or a project.
type place struct {
	name    string // as people know the file
	root    string // "" for a file that lies in no .liza
	store   *store.File
	project *project.Project // nil outside of a project
	repo    *git.Repo        // nil when git is missing, or there is no repository
	looked  *journalLook     // the last look of a watcher; nil: each look counts
}

// placeOf is the place of the file that was named, else of the project's state.
func (e *Env) placeOf(ctx context.Context, args []string) (*place, error) {
	if len(args) == 0 {
		found, err := e.Find(ctx)
		if err != nil {
			return nil, err
		}
		return e.placeIn(ctx, found)
	}
	file := args[0]
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.Dir, file)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, usagef("liza validate FILE", "%s is no file that can be read", args[0])
	}
	p := &place{name: args[0]}
	if filepath.Base(filepath.Dir(file)) == ".liza" {
		p.root = filepath.Dir(filepath.Dir(file))
		if found, err := project.At(p.root); err == nil && found.State() == realFile(file) {
			return e.placeIn(ctx, found)
		}
	}
	var err error
	p.store, err = store.Open(store.Options{Path: file, GitDir: filepath.Join(filepath.Dir(file), ".no-git-dir"), Now: e.Now})
	return p, err
}

func realFile(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

func (e *Env) placeIn(ctx context.Context, found *project.Project) (*place, error) {
	cfg, err := e.config(found, true)
	if err != nil {
		return nil, err
	}
	s, err := e.store(found, cfg, &history.Archive{Dir: found.ArchiveDir()})
	if err != nil {
		return nil, err
	}
	p := &place{name: boardName, root: found.Root, store: s, project: found}
	if repo, err := git.Open(ctx, found.Root); err == nil {
		p.repo = repo
	}
	return p, nil
}

// validationFacts is what Validate needs and the state cannot say.
func (e *Env) validationFacts(ctx context.Context, p *place, i *store.Inspection, noSpecFiles bool) (audit.Facts, error) {
	f := audit.Facts{Now: e.Now(), Decode: i.Decode, MissingSections: i.Missing,
		SkipSpecFiles: noSpecFiles || e.Get("SKIP_SPEC_FILE_CHECK") == "true",
		Line:          func(path string) int { line, _ := i.Line(path); return line }}
	if p.root != "" {
		f.SpecExists = func(ref string) bool { _, err := verb.SpecFile(p.root, ref); return err == nil }
		f.WorktreeExists = func(path string) bool {
			info, err := os.Stat(filepath.Join(p.root, path))
			return err == nil && info.IsDir()
		}
	}
	if p.project == nil {
		return f, nil
	}
	f.Archive = &history.Archive{Dir: p.project.ArchiveDir()}
	proc := e.processes()
	f.Processes = blackboard.ProcessFacts{Host: proc.Host, BootID: proc.BootID, Running: proc.Running}
	var err error
	if f.JournalProblems, err = p.journalProblems(ctx, i.State.Revision); err != nil || p.repo == nil {
		return f, err
	}
	err = gitFacts(ctx, p.repo, i.State, p.store.View, &f)
	return f, err
}

// journalProblems are what stays wrong with the journal when it is looked at several
// times: an entry ahead of the state may be one that is being written just now.
func (p *place) journalProblems(ctx context.Context, revision int) ([]blackboard.Violation, error) {
	if p.looked != nil && time.Since(p.looked.at) < journalRest {
		return p.looked.found, nil
	}
	found, err := p.lookAtJournal(ctx, revision)
	if err == nil && p.looked != nil {
		*p.looked = journalLook{time.Now(), found}
	}
	return found, err
}

// journalRest is how long a watcher trusts its last look at the journal: all entries are read for
// one, and a team writes many times a second.
const journalRest = 10 * time.Second

// A journalLook is what was found in the journal, and when.
type journalLook struct {
	at    time.Time
	found []blackboard.Violation
}

func (p *place) lookAtJournal(ctx context.Context, revision int) ([]blackboard.Violation, error) {
	problems, err := p.checkJournal(revision)
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for n := 0; n < 5 && err == nil && len(problems) > 0; n++ {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var s *blackboard.State
		if s, err = p.store.View(ctx); err != nil {
			break
		}
		var again []blackboard.Violation
		again, err = p.checkJournal(s.Revision)
		problems = slices.DeleteFunc(problems, func(x blackboard.Violation) bool {
			return !slices.ContainsFunc(again, func(y blackboard.Violation) bool { return y.Line == x.Line && y.Rule == x.Rule })
		})
	}
	return problems, err
}

// checkJournal looks at the journal once: do its entries fit the board (V57), and are they
// those that Liza wrote (V68)?
func (p *place) checkJournal(revision int) ([]blackboard.Violation, error) {
	problems, err := p.store.Journal().Check(revision)
	if err != nil {
		return nil, err
	}
	var list []blackboard.Violation
	for _, x := range problems {
		list = append(list, blackboard.Violation{Rule: "V57", Fixable: x.Fixable, Subjects: []string{"log.yaml"}, Line: x.Line,
			Message: strings.TrimPrefix(x.Message, "log.yaml: ")})
	}
	broken, err := p.store.JournalBroken()
	if err != nil || broken == nil || slices.ContainsFunc(list, func(v blackboard.Violation) bool { return v.Line == broken.Line }) {
		return list, err
	}
	v := blackboard.Violation{Rule: ruleJournal, Subjects: []string{broken.File}, Line: broken.Line, Message: broken.Message + "; " + nextSeal + " accepts the journal as it stands"}
	if broken.Unproven {
		v.Severity, v.Message = blackboard.SeverityWarning, broken.Message
	}
	return append(list, v), nil
}

const (
	ruleJournal = "V68"
	nextSeal    = "liza seal --reason TEXT"
)

// gitFacts adds what git says about branches, worktrees and merges.
func gitFacts(ctx context.Context, repo *git.Repo, s *blackboard.State, view func(context.Context) (*blackboard.State, error), f *audit.Facts) error {
	f.BranchExists = func(name string) bool { _, err := repo.BranchTip(ctx, name); return err == nil }
	f.ResolveCommit = func(short string) (string, bool) { full, err := repo.Resolve(ctx, short); return full, err == nil }
	var err error
	if f.TaskBranches, err = repo.Branches(ctx, "task"); err != nil {
		return err
	}
	worktrees, err := repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range worktrees {
		if rel, err := filepath.Rel(repo.Root(), w.Path); err == nil && !w.Main {
			f.Worktrees = append(f.Worktrees, filepath.ToSlash(rel))
		}
	}
	if err := trackedFacts(ctx, repo, f); err != nil {
		return err
	}
	head, err := verb.IntegrationTip(ctx, repo, s, view)
	if err != nil {
		return err
	}
	if f.IntegrationTip = &head; head == "" {
		return nil
	}
	return mergeFacts(ctx, repo, s, head, f)
}

func mergeFacts(ctx context.Context, repo *git.Repo, s *blackboard.State, head string, f *audit.Facts) error {
	var commits []string
	for _, t := range s.Tasks {
		if t == nil {
			continue
		}
		if t.MergeCommit != "" {
			commits = append(commits, t.MergeCommit)
		}
		if t.MergeIntent != nil {
			commits = append(commits, t.MergeIntent.Commit)
		}
	}
	outside, err := repo.Uncontained(ctx, commits, head)
	if err != nil {
		return err
	}
	lost := map[string]bool{}
	for _, c := range outside {
		lost[c] = true
	}
	f.MergedIntoIntegration = func(commit string) bool { return !lost[commit] }
	return nil
}

// trackedFacts warns of files of Liza that stand in the index (protocol 14, B26).
func trackedFacts(ctx context.Context, repo *git.Repo, f *audit.Facts) error {
	tracked, err := repo.Tracked(ctx, ".liza", ".worktrees")
	if err != nil {
		return err
	}
	for _, path := range tracked {
		if verb.MayBeTracked(path) {
			continue
		}
		f.Decode = append(f.Decode, blackboard.Violation{Rule: "V56", Severity: blackboard.SeverityWarning, Subjects: []string{path},
			Message: path + " is tracked by git; next: git rm --cached -r " + topOf(path)})
	}
	return nil
}

func topOf(path string) string {
	if strings.HasPrefix(path, ".worktrees") {
		return ".worktrees"
	}
	return path
}
