package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/verb"
)

// Observer gathers the facts of alerts: from the board, control files, processes, git and disk.
type Observer struct {
	service *verb.Service
	began   time.Time
	clock   findings.Clock

	violations []blackboard.Violation
	looked     journalLook
	journal    journalFacts
}

// Observe returns an Observer of the project of d. began needs a monotonic clock reading.
func Observe(d *verb.Service, began time.Time) *Observer { return &Observer{service: d, began: began} }

// Facts gathers the facts that alerts depend on. A fact that cannot be found out keeps its zero value.
func (l *Observer) Facts(ctx context.Context) findings.Observation {
	d, cfg := l.service, l.service.Board.Config()
	f := findings.Observation{Now: d.Board.Now(), Process: d.Board.Facts(), MinFreeMB: cfg.Policy.MinFreeMB, FreeMB: d.Board.Proc.FreeMB(d.Board.Project.Root), SettingsHeld: cfg.Held(), SpecHash: d.Board.SpecHash}
	f.Violations = l.validate(ctx)
	f.State = l.state(ctx)
	if f.State == nil {
		return f
	}
	f.Input, f.ReviewMode, f.HumanReview = d.Board.Input(), blackboard.ReviewMode(cfg.Review.Mode), cfg.Plan.HumanReview
	f.Input.Control, f.Input.FreeMB = d.Board.ControlOn(f.State), f.FreeMB
	f.Triggers = transition.TriggerFacts{HumanReview: cfg.Plan.HumanReview}
	if f.State.Goal != nil {
		f.Triggers.SpecHash = d.Board.SpecHash(f.State.Goal.SpecRef)
	}
	f.ClockJump = l.clock.Look(f.Now, time.Since(l.began), 2*f.State.Heartbeat())
	f.Process.ClockJumped = f.ClockJump != 0
	f.Orders = d.Board.Orders(f.State)
	for _, u := range d.Board.Roles().Unusable(f.State) {
		f.Unusable = append(f.Unusable, findings.Unusable{Role: u.Name, Why: u.Error()})
		d.Board.Roles().TellUnusable(ctx, u)
	}
	for _, r := range d.Checks.RedBaseline(ctx) {
		f.Red = append(f.Red, findings.Red{Check: r.Check, Command: r.Command, Commit: r.Commit, Tail: r.Tail, Log: r.End.Log})
	}
	f.LastActivity, f.Lock = lastActivity(d.Board.Project), l.lock()
	l.journal.read(d.Board.Project, f.State)
	f.Left, f.GaveUp = l.journal.left, l.journal.gaveUp
	l.git(ctx, &f)
	return f
}

// state is the snapshot, the last valid one when the file is damaged, nil without any.
func (l *Observer) state(ctx context.Context) *blackboard.State {
	s, err := l.service.Board.View(ctx)
	if err == nil {
		return s
	}
	kept, ok := l.service.Board.Store.(store.Recoverer)
	if !ok {
		return nil
	}
	if s, err = kept.LastValid(ctx); err != nil {
		return nil
	}
	cfg := l.service.Board.Config()
	s.Defaults, s.Overrides = blackboard.Settings(cfg.Settings()), blackboard.Settings(cfg.Overrides())
	return s
}

// settle is how long a new violation must last: what is being changed just now, by an
// editor, a claim or a merge, looks half done for a moment.
const settle = 100 * time.Millisecond

// validate gives all violations. An error that was not there at the last look counts when
// it is there a moment later as well.
func (l *Observer) validate(ctx context.Context) []blackboard.Violation {
	found, err := l.validateNow(ctx)
	if err == nil && slices.ContainsFunc(found, func(v blackboard.Violation) bool { return isError(v) && !contains(l.violations, v) }) {
		pause := time.NewTimer(settle)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return l.violations
		}
		var again []blackboard.Violation
		again, err = l.validateNow(ctx)
		found = slices.DeleteFunc(again, func(v blackboard.Violation) bool { return isError(v) && !contains(found, v) })
	}
	if err == nil { // otherwise git or a file could not be looked at: nothing new is known
		l.violations = found
	}
	return l.violations
}

func contains(list []blackboard.Violation, v blackboard.Violation) bool {
	return slices.ContainsFunc(list, func(x blackboard.Violation) bool {
		return x.Rule == v.Rule && x.Path == v.Path && x.Message == v.Message
	})
}

func (l *Observer) validateNow(ctx context.Context) ([]blackboard.Violation, error) {
	p := BoardOf(l.service)
	if p == nil {
		return nil, nil
	}
	p.looked = &l.looked
	i, err := p.Store.Inspect(ctx)
	if err != nil {
		v, err := p.unreadable(err)
		return withExcerpt(p.Project.State(), v.Violations), err
	}
	facts, err := p.facts(ctx, i)
	if err != nil {
		return nil, err
	}
	// No rule of the watcher reads warnings, and a board has one for each task that was merged before it had seals: finding
	// the line of each would take longer than the rest.
	found := slices.DeleteFunc(audit.Validate(i.State, i.Previous, facts), func(v blackboard.Violation) bool { return !isError(v) && v.Rule != "V58" })
	return i.Locate(found), nil
}

// withExcerpt adds the line of the file that cannot be read (specs/protocol.md#14, B01).
func withExcerpt(path string, list []blackboard.Violation) []blackboard.Violation {
	data, err := safefile.Read(path)
	if err != nil {
		return list
	}
	rows := strings.Split(string(data), "\n")
	for i, v := range list {
		if v.Rule == "V01" && v.Line > 0 && v.Line <= len(rows) {
			row := []rune(strings.TrimSpace(rows[v.Line-1]))
			list[i].Message += fmt.Sprintf(": '%s'", string(row[:min(len(row), 80)]))
		}
	}
	return list
}

// lastActivity is when the journal or the output of an agent program grew last.
func lastActivity(p *project.Project) time.Time {
	var last time.Time
	consider := func(info os.FileInfo, err error) {
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	consider(os.Stat(p.Journal()))
	logs, _ := os.ReadDir(filepath.Dir(p.Output("x"))) // before the first run there is none
	for _, e := range logs {
		consider(e.Info())
	}
	return last
}

// lock is who holds the lock of the state now. A name that a killed writer left is none.
func (l *Observer) lock() *findings.Lock {
	h, held := safefile.CurrentHolder(l.service.Board.Project.Lock())
	if !held || h.Since.IsZero() {
		return nil
	}
	return &findings.Lock{Holder: h.String(), Since: h.Since}
}

// journalFacts are drawn from what came into the journal since the last look, or since the sprint began.
type journalFacts struct {
	rev    int // the last revision that was looked at
	since  blackboard.Time
	left   map[blackboard.Role]time.Time
	joined []blackboard.Entry // members that gave up, and that came
	gaveUp []findings.GaveUp
}

func (j *journalFacts) read(p *project.Project, s *blackboard.State) {
	var since blackboard.Time
	if s.Sprint != nil && s.Sprint.Timeline != nil {
		since = s.Sprint.Timeline.Started
	}
	now := *j
	if since != j.since || s.Revision < j.rev || j.left == nil {
		now = journalFacts{since: since, left: map[blackboard.Role]time.Time{}}
	}
	if now.rev == s.Revision {
		return
	}
	began, _ := since.At()
	var err error
	entries := func(action blackboard.Action) []blackboard.Entry {
		list, failed := history.Journal{Path: p.Journal()}.Read(history.Filter{Action: action, Since: began, AfterRev: now.rev})
		err = errors.Join(err, failed)
		return slices.DeleteFunc(list, func(e blackboard.Entry) bool { return e.Rev > s.Revision }) // they are read again with their board
	}
	left := maps.Clone(now.left)
	for _, e := range slices.Concat(entries(blackboard.ActionUnregistered), entries(blackboard.ActionAgentLapsed)) {
		id := e.Agent
		if id == blackboard.System { // "coder-1: process 4121 is gone"
			id, _, _ = strings.Cut(e.Detail, ":")
		}
		role, _, _ := blackboard.ParseAgentID(id)
		if at, ok := e.Timestamp.At(); ok && at.After(left[role]) {
			left[role] = at
		}
	}
	now.joined = slices.Concat(now.joined, entries(blackboard.ActionAgentGaveUp), entries(blackboard.ActionRegistered))
	if err != nil {
		return
	}
	slices.SortStableFunc(now.joined, func(a, b blackboard.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	now.left, now.gaveUp, now.rev = left, findings.GaveUps(now.joined), s.Revision
	*j = now
}

// git adds what the repository says; what cannot be found out stays unknown.
func (l *Observer) git(ctx context.Context, f *findings.Observation) {
	repo, s := l.service.Board.Repo, f.State
	if repo == nil {
		return
	}
	branch := s.IntegrationBranch()
	if len(transition.ApprovedTasks(s)) > 0 {
		if path, found, err := repo.CheckedOutAt(ctx, branch); err == nil && found {
			f.CheckedOutAt = path
		}
	}
	if tip := s.Tip(); tip != "" {
		f.FiltersOff, _ = repo.FiltersOff(ctx, tip)
	}
	if l.service.Board.Caller.AgentID == "" { // an agent's process only looks
		if b, err := l.service.Integration.SeeIntegration(ctx, s); err == nil && b.Moved {
			f.Tip = &b.Tip
		}
	}
	if s.Text("base_ref") == "" {
		return
	}
	if lag, err := l.service.Integration.Behind(ctx, s); err == nil {
		f.Behind = findings.Behind{Commits: lag.Behind, Text: lag.String()}
	}
}

// gitFacts adds what git says about branches, worktrees and merges.
func gitFacts(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string, view func(context.Context) (*blackboard.State, error), f *audit.Evidence) error {
	f.BranchExists = func(name string) bool { _, err := repo.BranchTip(ctx, name); return err == nil }
	f.ResolveCommit = func(short string) (string, bool) { full, err := repo.Resolve(ctx, short); return full, err == nil }
	var err error
	if f.TaskBranches, err = repo.Branches(ctx, "task"); err != nil {
		return err
	}
	worktrees, err := repo.Worktrees(ctx)
	if err != nil && repo.ClearRemoved(ctx) == nil { // which writes an entry again that a loss of power has emptied
		worktrees, err = repo.Worktrees(ctx)
	}
	if err != nil {
		return err
	}
	for _, w := range worktrees {
		if w.Main {
			continue
		}
		if filepath.Dir(w.Path) == repo.WorktreesFolder() {
			f.Worktrees = append(f.Worktrees, ".worktrees/"+filepath.Base(w.Path))
		} else if rel, err := filepath.Rel(repo.Root(), w.Path); err == nil {
			f.Worktrees = append(f.Worktrees, filepath.ToSlash(rel))
		}
	}
	if err := trackedFacts(ctx, repo, f); err != nil {
		return err
	}
	head, err := integration.IntegrationTip(ctx, repo, s, remote, view)
	if err != nil {
		return err
	}
	if f.IntegrationTip = &head; head == "" {
		return nil
	}
	if s.ForeignTip(head) {
		if why, err := repo.Whole(ctx, head, s.Tip()); err == nil && why != "" { // nothing can be said of what it holds
			return mergeFacts(ctx, repo, s, s.Tip(), f)
		}
	}
	return mergeFacts(ctx, repo, s, head, f)
}

func mergeFacts(ctx context.Context, repo *git.Repo, s *blackboard.State, head string, f *audit.Evidence) error {
	var commits []string
	for t := range s.Tasks() {
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

// trackedFacts warns of files of Liza that are in the index (specs/protocol.md#14, B26).
func trackedFacts(ctx context.Context, repo *git.Repo, f *audit.Evidence) error {
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
