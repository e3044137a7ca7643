package verb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/merge"
)

// Integration gives the state of the integration branch, its base branch and lost work included. It changes nothing.
func (d *Service) Integration(ctx context.Context) (Branch, error) {
	s, err := d.View(ctx)
	if err != nil {
		return Branch{}, err
	}
	return d.LookAtIntegration(ctx, s)
}

// LookAtIntegration is Integration for a snapshot.
func (d *Service) LookAtIntegration(ctx context.Context, s *blackboard.State) (Branch, error) {
	b, _, err := d.standing(ctx, s)
	if err != nil {
		return b, err
	}
	if b.Lost, err = d.lostTasks(ctx, s, b.Tip); err != nil {
		return b, err
	}
	if b.Ahead, err = d.aheadTasks(ctx, s, b); err != nil {
		return b, err
	}
	b.Lag, err = d.BehindTip(ctx, s, b.Tip)
	return b, err
}

// aheadTasks are the tasks that Liza merged beyond where the board left the branch, the first one first, without those that the board has
// as merged.
func (d *Service) aheadTasks(ctx context.Context, s *blackboard.State, b Branch) (ahead []string, err error) {
	if !b.Moved || b.Known == "" || b.Tip == "" {
		return nil, nil
	}
	for _, commit := range []string{b.Known, b.Tip} {
		if there, err := d.Repo.CommitExists(ctx, commit); err != nil || !there {
			return nil, err
		}
	}
	log, err := d.Repo.LogBetween(ctx, b.Known, b.Tip, maxLogged)
	if err != nil {
		return nil, err
	}
	all, err := d.SprintTasks(s)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(log) {
		named, isMerge := strings.CutPrefix(c.Subject, "Merge ")
		id, _, hasTitle := strings.Cut(named, ": ")
		if !isMerge || !hasTitle || len(c.Parents) != 2 || !blackboard.ValidTaskID(id) || slices.Contains(ahead, id) {
			continue
		}
		if !slices.ContainsFunc(all, func(t *blackboard.Task) bool { return t.ID == id && t.Status == blackboard.Merged }) {
			ahead = append(ahead, id)
		}
	}
	return ahead, nil
}

// Behind compares the integration branch with its base branch. It costs a look at two refs while the base branch is
// where it was synced last.
func (d *Service) Behind(ctx context.Context, s *blackboard.State) (Lag, error) {
	tip, err := d.TipOf(ctx, s)
	if err != nil {
		return Lag{}, err
	}
	return d.BehindTip(ctx, s, tip)
}

// BehindTip is Behind for a branch that is at tip.
func (d *Service) BehindTip(ctx context.Context, s *blackboard.State, tip string) (l Lag, err error) {
	l.Branch = s.IntegrationBranch()
	l.Base, l.Guessed, err = d.baseRef(ctx, s)
	if err != nil || l.Base == "" || tip == "" {
		return l, err
	}
	commit, err := d.Repo.BranchTip(ctx, l.Base)
	if errors.Is(err, git.ErrNotFound) {
		commit, err = d.Repo.Resolve(ctx, l.Base)
	}
	if errors.Is(err, git.ErrNotFound) {
		return l, nil // a branch that was renamed: nothing can be said
	}
	if err != nil || commit == tip || s.Integration != nil && commit == s.Integration.Base && !s.ForeignTip(tip) {
		return l, err
	}
	l.Behind, err = d.Repo.CountBetween(ctx, tip, commit)
	return l, err
}

// baseRef is the base branch: the one recorded at init, else the one that is checked out in the main checkout.
func (d *Service) baseRef(ctx context.Context, s *blackboard.State) (ref string, guessed bool, err error) {
	if ref := s.Text("base_ref"); ref != "" {
		return ref, false, nil
	}
	head, err := d.Repo.Head(ctx)
	if err != nil || head.Branch == "" || head.Branch == s.IntegrationBranch() {
		return "", false, err
	}
	return head.Branch, true, nil
}

// lostTasks are the merged tasks of the board and of the sprint's archive whose work the tip does not have.
func (d *Service) lostTasks(ctx context.Context, s *blackboard.State, tip string) ([]string, error) {
	all, err := d.SprintTasks(s)
	if err != nil {
		return nil, err
	}
	var commits []string
	var tasks []*blackboard.Task
	for _, t := range all {
		if t.Status == blackboard.Merged && t.ChangesFiles() && t.ClaimSeq > 0 && t.MergeCommit != "" && t.MergeCommit != tip {
			commits, tasks = append(commits, t.MergeCommit), append(tasks, t)
		}
	}
	if len(commits) == 0 {
		return nil, nil
	}
	missing := map[string]bool{}
	for _, c := range commits {
		missing[c] = tip == ""
	}
	if tip != "" {
		outside, err := d.Repo.Uncontained(ctx, commits, tip)
		if err != nil {
			return nil, err
		}
		for _, c := range outside {
			missing[c] = true
		}
	}
	var lost []string
	for _, t := range tasks {
		if missing[t.MergeCommit] {
			lost = append(lost, t.ID)
		}
	}
	return lost, nil
}

// MissingWork says what of the merged work the integration branch lacks, and the command that helps; "" when it has
// everything. It asks git once for all tasks.
func (d *Service) MissingWork(ctx context.Context) (string, error) {
	what, next, err := d.FindMissingWork(ctx)
	if what == "" {
		return "", err
	}
	return what + "; next: " + next, err
}

// FindMissingWork says what merged work the integration branch does not have, and the command that helps; "" for nothing.
func (d *Service) FindMissingWork(ctx context.Context) (what, next string, err error) {
	s, err := d.View(ctx)
	if err != nil {
		return "", "", err
	}
	b, _, err := d.standing(ctx, s)
	if err != nil {
		return "", "", err
	}
	if b.Moved {
		return b.Text, b.Next, nil
	}
	lost, err := d.lostTasks(ctx, s, b.Tip)
	if err != nil || len(lost) == 0 {
		return "", "", err
	}
	what = "the work of " + strings.Join(lost, ", ") + " is merged, but not on " + b.Branch
	return what, "liza merge --again " + lost[0], nil
}

// AcceptIntegration is a person's decision that the integration branch is right where it is.
func (d *Service) AcceptIntegration(ctx context.Context, reason string) (Branch, error) {
	return d.decide(ctx, "accept what the integration branch has", reason, func(b *Branch, s *blackboard.State) error {
		if b.Tip == "" {
			return Refuse("liza integration restore", "%s: there is nothing to accept", blackboard.MovedText(s, ""))
		}
		var err error
		if b.Known != "" { // what Liza left may be on the way to be forgotten
			b.Saved, err = d.Repo.Keep(ctx, keptTips, b.Known, b.Tip)
		}
		d.Failpoint("I1")
		return err
	}, func(b *Branch, s *blackboard.State, reason string, a transition.Actor) {
		transition.AcceptTip(s, b.Tip, reason, b.Saved, a, d.Now())
	})
}

// RestoreIntegration puts the integration branch back to where Liza left it. The other tip is saved.
func (d *Service) RestoreIntegration(ctx context.Context, reason string) (Branch, error) {
	return d.decide(ctx, "restore the integration branch", reason, func(b *Branch, s *blackboard.State) error {
		if path, found, err := d.Repo.CheckedOutAt(ctx, b.Branch); err != nil {
			return err
		} else if found {
			return Refuse("git -C "+path+" switch OTHER", "%s is checked out in %s; switch it to another branch", b.Branch, path)
		}
		if there, err := d.Repo.CommitExists(ctx, b.Known); err != nil {
			return err
		} else if !there {
			return Fail("liza integration accept", "cannot restore %s: commit %s is gone", b.Branch, blackboard.ShortCommit(b.Known))
		}
		if b.Tip != "" {
			var err error
			if b.Saved, err = d.Repo.Keep(ctx, keptTips, b.Tip, b.Known); err != nil {
				return err
			}
		}
		d.Failpoint("I1")
		if err := d.putBranch(ctx, b.Branch, b.Known, b.Tip); err != nil {
			return err
		}
		d.Failpoint("I2")
		return nil
	}, func(b *Branch, s *blackboard.State, reason string, a transition.Actor) {
		transition.RestoreTip(s, b.Tip, reason, b.Saved, a, d.Now())
	})
}

// decide carries out a decision about a tip under merge.lock, so that nothing merges meanwhile.
func (d *Service) decide(ctx context.Context, what, reason string, move func(*Branch, *blackboard.State) error,
	record func(b *Branch, s *blackboard.State, reason string, a transition.Actor)) (Branch, error) {
	var b Branch
	if err := d.Clean(Text{"--reason", &reason}); err != nil {
		return b, err
	}
	if err := d.PersonOnly(ctx, what); err != nil {
		return b, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return b, err
	}
	m := d.mergerOn(s, blackboard.Human)
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return b, err
	}
	defer func() { _ = unlock() }()
	if s, err = d.View(ctx); err != nil { // what the holder of the lock did
		return b, err
	}
	tip, err := d.askedTip(ctx, s)
	if err != nil {
		return b, err
	}
	if b, err = d.noteIntegration(ctx, s, tip); err != nil {
		return b, err
	}
	if !b.Moved {
		return b, NothingToDo(fmt.Sprintf("%s is where Liza left it, at %s", b.Branch, blackboard.ShortCommit(b.Tip)))
	}
	if err := move(&b, s); err != nil {
		return b, err
	}
	err = d.Update(ctx, "integration", func(s *blackboard.State, a transition.Actor) error {
		record(&b, s, reason, a)
		return nil
	})
	if err != nil {
		return b, err
	}
	if s, err = d.View(ctx); err != nil {
		return b, err
	}
	saved := b.Saved
	b, err = d.LookAtIntegration(ctx, s)
	b.Saved = saved
	return b, err
}

// Synced is the result of Sync.
type Synced struct {
	merge.Synced
	Guessed bool `json:"base_guessed,omitempty"` // the base branch is not recorded: what is checked out was taken
}

// Sync merges the base branch, or from, into the integration branch through the integration checks.
func (d *Service) Sync(ctx context.Context, from string, dry bool) (Synced, error) {
	var out Synced
	if err := d.PersonOnly(ctx, "sync"); err != nil {
		return out, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return out, err
	}
	if !dry {
		if err := d.AdoptTip(ctx, s); err != nil {
			return out, err
		}
	}
	if from == "" {
		if from, out.Guessed, err = d.baseRef(ctx, s); err != nil {
			return out, err
		}
	}
	if from == "" {
		return out, Refuse("liza sync --from REF", "the base branch is not recorded (base_ref), and no other branch is checked out")
	}
	base, err := d.askFor(ctx, from)
	if err != nil {
		return out, err
	}
	out.Synced, err = d.mergerOn(s, blackboard.Human).Sync(ctx, from, base, dry)
	return out, err
}

// askFor resolves what is to be merged. A branch of a remote, as origin/main, is what the remote has now; its commits are fetched, and
// no ref moves.
func (d *Service) askFor(ctx context.Context, from string) (commit string, err error) {
	remote, branch, _ := strings.Cut(from, "/")
	if _, err := d.Repo.BranchTip(ctx, from); errors.Is(err, git.ErrNotFound) && branch != "" {
		if url, err := d.Repo.RemoteURL(ctx, remote); err == nil && url != "" {
			return d.fetchBranch(ctx, remote, branch)
		}
	}
	commit, err = d.Repo.Resolve(ctx, from)
	if errors.Is(err, git.ErrNotFound) {
		err = WrongUsage("liza sync --from REF", "%s does not name a commit of this repository", from)
	}
	return commit, err
}

func (d *Service) fetchBranch(ctx context.Context, remote, branch string) (commit string, err error) {
	ref := "refs/heads/" + branch
	at, err := d.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil {
		return "", err
	}
	if at[ref] == "" {
		return "", WrongUsage("liza sync --from REF", "the remote %s has no branch %s", remote, branch)
	}
	return at[ref], d.Repo.Fetch(ctx, remote, at[ref])
}

// MergeAgain merges the work of a MERGED task once more that the integration branch has lost.
func (d *Service) MergeAgain(ctx context.Context, id string) (merge.Result, error) {
	if err := d.PersonOnly(ctx, "merge again"); err != nil {
		return merge.Result{Task: id}, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return merge.Result{Task: id}, err
	}
	if s.Task(id) == nil {
		if err := d.Known(ctx, id); err != nil {
			return merge.Result{Task: id}, err
		}
	}
	if err := d.AdoptTip(ctx, s); err != nil {
		return merge.Result{Task: id}, err
	}
	return d.mergerOn(s, blackboard.Human).Again(ctx, id)
}

// maxLogged is how many commits are looked at to find those of tasks.
const maxLogged = 2000

// AdoptTip takes the branch as it is for a board that remembers no tip. That a branch was moved is written down by
// supervisors and watchers: a verb that is refused for it changes nothing.
func (d *Service) AdoptTip(ctx context.Context, s *blackboard.State) error {
	if s.Tip() != "" {
		return nil
	}
	_, err := d.SeeIntegration(ctx, s)
	return err
}

// SeeIntegration looks where the integration branch is; a tip that Liza did not make is written into
// the journal, once, and the work that Liza left is kept from git's garbage collection. It costs one look
// at a ref, and writes only when there is news.
func (d *Service) SeeIntegration(ctx context.Context, s *blackboard.State) (Branch, error) {
	b, news, err := d.standing(ctx, s)
	if err != nil || !news || d.Rehearsal {
		return b, err
	}
	// Under the lock of merges branch and board agree. While somebody merges, the next look sees it.
	unlock, err := d.lockMerges(ctx, 100*time.Millisecond)
	if held := new(safefile.HeldError); errors.As(err, &held) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	defer func() { _ = unlock() }()
	if s, err = d.View(ctx); err != nil {
		return b, err
	}
	tip, err := d.TipOf(ctx, s)
	if err != nil {
		return b, err
	}
	return d.noteIntegration(ctx, s, tip)
}

// Branch gives the state of the integration branch.
type Branch struct {
	Lag
	Tip   string   `json:"tip"`             // "": the branch does not exist
	Known string   `json:"known_tip"`       // where Liza left it
	Moved bool     `json:"moved"`           // it is elsewhere
	Lost  []string `json:"lost,omitempty"`  // merged tasks whose work it lacks
	Ahead []string `json:"ahead,omitempty"` // tasks that it has merges of, and the board has not as merged: one that was put back from a backup
	Saved string   `json:"saved,omitempty"`
	Text  string   `json:"-"` // of a branch that was moved
	Next  string   `json:"-"`
}

// Lag is how far the integration branch is behind its base branch.
type Lag struct {
	Branch  string `json:"integration_branch"`
	Base    string `json:"base_ref,omitempty"`     // the base branch
	Guessed bool   `json:"base_guessed,omitempty"` // base_ref is not set: the branch that is checked out is taken
	Behind  int    `json:"behind"`                 // commits of the base branch that it lacks
}

func (l Lag) String() string {
	return fmt.Sprintf("%s lacks %s of its base branch %s", l.Branch, prose.Count(l.Behind, "commit"), l.Base)
}

// IntegrationTip is where the integration branch is, on the remote if work travels over one, "" when it does not exist. The snapshot is older than the
// look at the branch: what a merge left meanwhile is not foreign, and s is told its own tip.
func IntegrationTip(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string, view func(context.Context) (*blackboard.State, error)) (string, error) {
	tip, err := branchTip(ctx, repo, s, remote)
	if errors.Is(err, git.ErrNotFound) {
		tip, err = "", nil
	}
	if err != nil || !s.ForeignTip(tip) {
		return tip, err
	}
	later, err := view(ctx)
	if err == nil && later.Revision > s.Revision && (later.Tip() != s.Tip() || !later.ForeignTip(tip)) { // else s is an edit by hand
		return s.Tip(), nil
	}
	return tip, nil
}

// TipOf is IntegrationTip for the board of the service.
func (d *Service) TipOf(ctx context.Context, s *blackboard.State) (string, error) {
	return IntegrationTip(ctx, d.Repo, s, d.Remote(), d.Store.View)
}

// askedTip is where the integration branch is on the remote at this moment, if work travels over one. What this host has seen of it does
// not say whether somebody has put it back.
func (d *Service) askedTip(ctx context.Context, s *blackboard.State) (string, error) {
	remote, ref := d.Remote(), "refs/heads/"+s.IntegrationBranch()
	if remote == "" {
		return d.TipOf(ctx, s)
	}
	at, err := d.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil || at[ref] == "" {
		return "", err
	}
	return at[ref], errors.Join(d.Repo.Fetch(ctx, remote, at[ref]), d.Repo.SawRemote(ctx, remote, s.IntegrationBranch(), at[ref]))
}

// standing compares the branch with what the board says; news: the board does not say it yet.
func (d *Service) standing(ctx context.Context, s *blackboard.State) (b Branch, news bool, err error) {
	tip, err := d.TipOf(ctx, s)
	if err != nil {
		return b, false, err
	}
	b, news = d.standingAt(s, tip)
	return b, news, nil
}

func (d *Service) standingAt(s *blackboard.State, tip string) (b Branch, news bool) {
	b = Branch{Lag: Lag{Branch: s.IntegrationBranch()}, Known: s.Tip(), Tip: tip}
	if s.Tip() == "" {
		return b, b.Tip != ""
	}
	if b.Moved = s.ForeignTip(b.Tip); b.Moved {
		b.Text, b.Next = blackboard.MovedText(s, b.Tip), blackboard.DecideTip(b.Tip)
	}
	m := s.Integration.Moved
	return b, b.Moved != (m != nil) || m != nil && m.Tip != b.Tip
}

// noteIntegration is SeeIntegration under merge.lock.
func (d *Service) noteIntegration(ctx context.Context, s *blackboard.State, tip string) (Branch, error) {
	b, news := d.standingAt(s, tip)
	if !news {
		return b, nil
	}
	if b.Known == "" {
		return b, d.asSystem(ctx, func(s *blackboard.State) { transition.AdoptTip(s, b.Tip, d.Now()) })
	}
	if b.Moved {
		if _, err := d.Repo.Keep(ctx, keptTips, b.Known, b.Tip); err != nil {
			return b, err
		}
	}
	return b, d.asSystem(ctx, func(s *blackboard.State) { transition.SeeTip(s, b.Tip, d.Now()) })
}

func (d *Service) asSystem(ctx context.Context, change func(*blackboard.State)) error {
	return d.Update(ctx, "integration", func(s *blackboard.State, _ transition.Actor) error {
		change(s)
		return nil
	})
}

func (d *Service) lockMerges(ctx context.Context, wait time.Duration) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return safefile.LockIn(ctx, d.Project.MergeLock(), safefile.Holder{PID: os.Getpid(), Host: d.Proc.Host, Agent: blackboard.Human, Op: "integration", Since: d.Now()})
}

// keptTips is the folder of the attic with the tips of the integration branch that were left; no task has such an id.
const keptTips = "_integration"

// Built is what the present goal brought onto the integration branch, and how to take it over.
type Built struct {
	Lag
	Tasks    []string  `json:"tasks"` // merged
	Work     []Brought `json:"work"`  // what they brought, as far as the base branch lacks it
	Tip      string    `json:"tip"`
	Commits  int       `json:"commits"`            // that the base branch lacks
	Stat     string    `json:"diffstat,omitempty"` // against the base branch
	Look     string    `json:"look,omitempty"`     // the command that shows it
	TakeOver string    `json:"take_over,omitempty"`
}

// Brought are the commits of one merged task, oldest first; merges are left out.
type Brought struct {
	Task    string       `json:"task"`
	Commits []git.Logged `json:"commits"`
}

// Built looks at what was merged. What cannot be found out is left out.
func (d *Service) Built(ctx context.Context, s *blackboard.State) Built {
	b := Built{Tasks: []string{}, Work: []Brought{}, Lag: Lag{Branch: s.IntegrationBranch()}}
	all, err := d.SprintTasks(s)
	if err != nil {
		all = s.TaskList()
	}
	mergedAs := map[string]string{}
	for _, t := range all {
		if t.Status == blackboard.Merged && t.ChangesFiles() {
			b.Tasks = append(b.Tasks, t.ID)
			mergedAs[t.MergeCommit] = t.ID
		}
	}
	if d.Repo == nil || len(b.Tasks) == 0 {
		return b
	}
	if b.Tip, err = d.TipOf(ctx, s); err != nil || b.Tip == "" {
		return b
	}
	if b.Lag, err = d.BehindTip(ctx, s, b.Tip); err != nil || b.Base == "" {
		return b
	}
	base, err := d.Repo.Resolve(ctx, b.Base)
	if err != nil {
		b.Base = ""
		return b
	}
	b.Commits, _ = d.Repo.CountBetween(ctx, base, b.Tip)
	if log, err := d.Repo.LogBetween(ctx, base, b.Tip, maxLogged); err == nil {
		for i := range log { // an agent wrote it
			log[i].Subject = d.Mask(log[i].Subject)
		}
		b.Work = broughtBy(log, b.Tip, mergedAs)
	}
	from := base
	if common, err := d.Repo.MergeBase(ctx, base, b.Tip); err == nil {
		from = common
	}
	if stat, err := d.Repo.DiffStat(ctx, from, b.Tip); err == nil {
		lines := strings.Split(strings.TrimSpace(stat), "\n")
		b.Stat = strings.TrimSpace(lines[len(lines)-1])
	}
	b.Look = fmt.Sprintf("git diff %s...%s", b.Base, b.Branch)
	b.TakeOver = "git merge " + b.Branch
	if _, err := d.Repo.BranchTip(ctx, b.Base); err == nil {
		b.TakeOver = fmt.Sprintf("git switch %s && git merge %s", b.Base, b.Branch)
	}
	return b
}

// broughtBy finds the commits that each merge brought onto the branch: those that what was on it before has not.
func broughtBy(log []git.Logged, tip string, mergedAs map[string]string) []Brought {
	known := map[string]git.Logged{}
	for _, c := range log {
		known[c.Hash] = c
	}
	var line []git.Logged // the branch itself, oldest first
	for c, ok := known[tip]; ok; c, ok = known[c.Parents[0]] {
		if line = append(line, c); len(c.Parents) == 0 {
			break
		}
	}
	slices.Reverse(line)
	list, seen := []Brought{}, map[string]bool{}
	for _, merge := range line {
		var commits []git.Logged
		for left := []string{merge.Hash}; len(left) > 0; left = left[1:] {
			c, ok := known[left[0]]
			if !ok || seen[c.Hash] {
				continue
			}
			seen[c.Hash] = true
			left = append(left, c.Parents...)
			if len(c.Parents) < 2 {
				commits = append(commits, c)
			}
		}
		if task := mergedAs[merge.Hash]; task != "" && len(commits) > 0 {
			slices.Reverse(commits)
			list = append(list, Brought{Task: task, Commits: commits})
		}
	}
	return list
}
