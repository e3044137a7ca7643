package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"liza/pkg/board/transition"
	"liza/pkg/code/git"
)

// A journey is one running train: its candidates, and its running checks. Only its own goroutine uses it; the checks hand
// over their results.
type journey struct {
	*Merger
	train
	done    map[string]bool           // tasks that are not examined again
	changed bool                      // the board changed since the train looked at it
	base    string                    // head of the branch at the beginning
	jobs    map[string]*job           // by task
	commits map[string]string         // candidates by name of the attempt; the empty attempt has base
	trees   map[string]*sight         // by tree
	ends    map[*sight]checked        // results of the checks
	faults  map[*sight]error          // errors of attempts without a result
	running map[string]*checking      // by the task of the attempt
	ended   chan checked              //
	remade  bool                      // a commit was merged that differs from the one that later candidates are built on
	report  func(r Result, err error) // called for a task that has left the train
}

// checking is a check under way.
type checking struct {
	sight   *sight
	stop    context.CancelFunc
	stopped bool
}

// checked is how a check ended.
type checked struct {
	task, commit string
	failed, log  string
	excused      []string
	unverified   []string
	unran        []string
	passed       []string
	err          error
}

// maxTrains is how often a train is built again after a concurrent move of the branch or a change of a task.
const maxTrains = 5

// inTrains merges approved tasks, in trains of Train tasks, until none is left that could be merged.
func (m *Merger) inTrains(ctx context.Context) ([]Result, error) {
	var results []Result
	var errs []error
	done := map[string]bool{}
	report := func(r Result, err error) {
		if refused, ok := errors.AsType[*transition.Refusal](err); ok {
			r.Reason, r.Asked = refused.Message, refused.Guard == WaitsForChecks
		} else if err != nil {
			errs = append(errs, err)
		}
		done[r.Task] = true
		results = append(results, r)
	}
	for moved := 0; ctx.Err() == nil; {
		y := m.assemble(done, report)
		waiting, err := y.approved(ctx, m.Train)
		if err != nil || len(waiting) == 0 {
			return results, errors.Join(append(errs, err)...)
		}
		y.enlist(ctx, waiting)
		err = y.run(ctx)
		if errors.Is(err, git.ErrRefMoved) && moved < maxTrains {
			moved++
			err = nil
		}
		if err != nil {
			return results, errors.Join(append(errs, err)...)
		}
	}
	return results, errors.Join(errs...)
}

// approved are the next members of the train, at most that many, in the order of their approval: those with the best
// priority of which nothing is known yet. Waiting raises the priority, as for claims.
func (y *journey) approved(ctx context.Context, most int) ([]member, error) {
	s, err := y.view(ctx)
	if err != nil {
		return nil, err
	}
	var list []member
	for _, c := range transition.ApprovedTasks(s) {
		if t := c.Task; !y.done[t.ID] && y.jobs[t.ID] == nil {
			list = append(list, member{id: t.ID, priority: transition.MergePriority(s, c, y.Now())})
		}
	}
	chosen := slices.Clone(list)
	slices.SortStableFunc(chosen, func(a, b member) int { return cmp.Compare(a.priority, b.priority) })
	chosen = chosen[:min(most, len(chosen))]
	return slices.DeleteFunc(list, func(a member) bool {
		return !slices.ContainsFunc(chosen, func(b member) bool { return a.id == b.id })
	}), nil
}

// assemble makes a train without members.
func (m *Merger) assemble(done map[string]bool, report func(Result, error)) *journey {
	said := new(sync.Mutex) // checks that run side by side warn
	own := *m
	own.Warn = func(text string) {
		said.Lock()
		defer said.Unlock()
		m.warn("%s", text)
	}
	y := &journey{Merger: &own, done: done, report: report, jobs: map[string]*job{}, commits: map[string]string{}, trees: map[string]*sight{}, ends: map[*sight]checked{},
		faults: map[*sight]error{}, running: map[string]*checking{}, ended: make(chan checked)}
	y.seen, y.runs = map[string]*sight{}, 1
	if m.Rerun {
		y.runs = 2
	}
	return y
}

// enlist appends the tasks that need a candidate, and reports the results of the others.
func (y *journey) enlist(ctx context.Context, members []member) {
	var ready []member
	for _, a := range members {
		j, facts, err := y.begun(ctx, a.id)
		switch {
		case err != nil || facts == nil:
			y.report(j.result, err)
			continue
		case y.base == "":
			y.base = j.old
			y.commits[attempt{}.name()] = y.base
		}
		if j.old != y.commits[attempt{line: y.merged}.name()] {
			continue // the branch was moved just now: the next train takes it
		}
		if changes, err := y.Repo.ChangedFiles(ctx, j.task.BaseCommit, j.task.ReviewCommit); err == nil { // only the order rests on it
			for _, c := range changes {
				a.files = append(a.files, c.Path)
			}
		}
		y.jobs[a.id] = j
		ready = append(ready, a)
	}
	y.waiting = append(y.waiting, inOrder(ready)...)
}

// join adds tasks that were approved since the train began, as far as there is room. Otherwise a team would have as many
// tasks in a train as it has reviewers.
func (y *journey) join(ctx context.Context) (joined bool, err error) {
	y.changed = false
	before := len(y.waiting)
	if room := y.Train - before - len(y.culprits); room > 0 {
		members, err := y.approved(ctx, room)
		if err != nil {
			return false, err
		}
		y.enlist(ctx, members)
	}
	return len(y.waiting) > before, nil
}

// run runs the train to its end. It returns git.ErrRefMoved if the branch or a task has changed, and the rest has to begin
// again.
func (y *journey) run(ctx context.Context) (err error) {
	watching, enough := context.WithCancel(ctx)
	changes := y.Store.Watch(watching)
	defer func() {
		enough()
		y.halt()
		for id := range y.jobs {
			if e := y.deleteCandidate(context.WithoutCancel(ctx), id); e != nil {
				y.warn("cannot remove the candidate of %s: %v", id, e)
			}
		}
	}()
	for ctx.Err() == nil {
		d := y.next()
		switch d.action {
		case merges:
			goOn, err := y.land(ctx, d)
			if err != nil || !goOn {
				return err
			}
		case blame:
			y.did(d)
		case reject:
			if err := y.reject(ctx, d); err != nil {
				return err
			}
		case skip:
			y.did(d)
			y.report(y.jobs[d.task].result, y.faults[y.seen[attempt{line: y.merged}.with(d.task).name()]])
		case check:
			if y.changed || len(d.attempts) == 0 {
				joined, err := y.join(ctx)
				if err != nil {
					return err
				}
				if joined {
					continue
				}
			}
			if len(d.attempts) == 0 {
				return nil
			}
			if again := y.start(ctx, d.attempts); again {
				continue
			}
			select {
			case e := <-y.ended:
				y.end(ctx, e)
			case <-changes:
				y.changed = true
			}
		}
	}
	return ctx.Err()
}

// halt ends all checks.
func (y *journey) halt() {
	for _, c := range y.running {
		c.stop()
	}
	for range len(y.running) {
		<-y.ended
	}
	clear(y.running)
}

// CheckSlots returns the number of checks of a train that run at a time for the setting slots.
func CheckSlots(slots int) int {
	if slots > 0 {
		return slots
	}
	return max(1, runtime.NumCPU()/2)
}

// start starts the checks of attempts, as far as there is room, and ends useless ones. again reports that a result is known
// at once.
func (y *journey) start(ctx context.Context, attempts []attempt) (again bool) {
	room := attempts[:min(CheckSlots(y.Slots), len(attempts))]
	useful := map[*sight]bool{}
	for _, a := range room { // before anything is ended: it may have the same tree
		was := y.verdict(a)
		useful[y.look(ctx, a)] = true
		if y.verdict(a) != was {
			return true
		}
	}
	for _, a := range attempts {
		useful[y.seen[a.name()]] = true
	}
	busy := map[*sight]bool{}
	for _, c := range y.running {
		if !useful[c.sight] && !c.stopped {
			c.stopped = true
			c.stop()
		}
		busy[c.sight] = true
	}
	for _, a := range room {
		s := y.seen[a.name()]
		if len(y.running) >= CheckSlots(y.Slots) || busy[s] || y.running[a.last()] != nil {
			continue
		}
		if err := y.check(ctx, a, s); err != nil {
			s.void, y.faults[s] = true, err
			return true
		}
		busy[s] = true
	}
	return false
}

// look makes the candidate of an attempt, if it is missing, and returns its results.
func (y *journey) look(ctx context.Context, a attempt) *sight {
	name := a.name()
	if s := y.seen[name]; s != nil {
		return s
	}
	s, err := y.build(ctx, a)
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		s = &sight{conflict: append([]string{}, conflict.Files...)}
	} else if err != nil {
		s = &sight{void: true}
		y.faults[s] = err
	}
	y.seen[name] = s
	return s
}

func (y *journey) build(ctx context.Context, a attempt) (*sight, error) {
	j := *y.jobs[a.last()]
	j.old = y.commits[a.before().name()]
	if a.dry {
		return &sight{ran: 1, passed: true}, y.Repo.TryMerge(ctx, j.old, j.task.ReviewCommit)
	}
	commit, err := j.candidate(ctx, j.task.ReviewCommit, j.message()+j.announced())
	if err != nil {
		return nil, err
	}
	tree, err := y.Repo.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	y.commits[a.name()] = commit
	s := y.trees[tree]
	if s == nil {
		s = new(sight)
		if y.Known != nil && y.Known(ctx, commit) {
			s.ran, s.passed = 1, true
		}
		y.trees[tree] = s
	}
	return s, nil
}

// check begins the checks of a candidate (M4, M5).
func (y *journey) check(ctx context.Context, a attempt, s *sight) error {
	j := *y.jobs[a.last()]
	j.base = y.base
	commit := y.commits[a.name()]
	j.at("M4")
	if err := j.setCandidate(ctx, commit); err != nil {
		return err
	}
	j.at("M5")
	ctx, stop := context.WithCancel(ctx)
	y.running[j.name] = &checking{sight: s, stop: stop}
	go func() {
		e := checked{task: j.name, commit: commit}
		e.failed, e.log, e.err = j.checked(ctx, commit)
		e.excused, e.unverified, e.unran, e.passed = j.excused, j.unverified, j.unran, j.passed
		y.ended <- e
	}()
	return nil
}

// end takes note of how a check ended.
func (y *journey) end(ctx context.Context, e checked) {
	c := y.running[e.task]
	delete(y.running, e.task)
	c.stop()
	switch {
	case c.stopped || ctx.Err() != nil:
		return // what it says may be of its end
	case e.err != nil:
		c.sight.void, y.faults[c.sight] = true, e.err
		return
	}
	before := y.ends[c.sight]
	y.ends[c.sight] = e
	c.sight.ran++
	c.sight.passed, c.sight.excused = e.failed == "", e.excused
	switch {
	case c.sight.passed && c.sight.ran > 1:
		if err := y.noteFlaky(ctx, y.jobs[e.task].task, before.failed, before.log, e.log); err != nil {
			y.warn("cannot record that the checks of %s are flaky: %v", e.task, err)
		}
	case c.sight.passed && len(e.excused)+len(e.unran) == 0 && y.Remember != nil:
		y.Remember(ctx, e.commit)
	}
}

// land merges a task whose candidate is good, by the steps of any merge (M6 to M10), if it has not changed since the train
// began. goOn is false if the rest has to begin again.
func (y *journey) land(ctx context.Context, d decision) (goOn bool, err error) {
	a := attempt{line: y.merged}.with(d.task)
	built := y.jobs[d.task]
	j, facts, err := y.begun(ctx, d.task)
	if err != nil || facts == nil { // it waits; or it is on the branch already, as part of another
		y.report(j.result, err)
		return false, nil
	}
	commit := y.commits[a.name()]
	if j.old != y.commits[a.before().name()] || j.task.ReviewCommit != built.task.ReviewCommit || j.message() != built.message() {
		return false, fmt.Errorf("cannot merge %s: the branch or the approval changed meanwhile: %w", d.task, git.ErrRefMoved)
	}
	if err := j.setCandidate(ctx, commit); err != nil {
		return false, err
	}
	e, ran := y.ends[y.seen[a.name()]]
	if j.passed = e.passed; !ran { // they passed before on this tree
		j.passed = slices.Concat(j.Checks, j.Hooks)
	}
	j.unverified, j.unran = slices.Concat(e.unverified, j.reviewed), e.unran
	if y.remade = y.remade || j.checkedText() != j.announced(); y.remade { // the tree is the one that was checked
		commit, err = j.remade(ctx, commit, j.message()+j.checkedText())
	}
	if err != nil {
		return false, err
	}
	y.commits[a.name()] = commit
	j.at("M6")
	r, err := j.move(ctx, commit, *facts)
	if errors.Is(err, git.ErrRefMoved) {
		return false, err
	}
	y.report(r, err)
	if err != nil {
		return false, nil
	}
	y.did(d)
	return true, nil
}

// reject records that a task does not merge, with the task that it collides with.
func (y *journey) reject(ctx context.Context, d decision) error {
	i := slices.IndexFunc(y.culprits, func(c culprit) bool { return c.task == d.task })
	a := attempt{line: y.culprits[i].after}.with(d.task)
	s := y.seen[a.name()]
	r := Result{Reason: "conflict", Files: s.conflict, With: d.with}
	if !d.conflict {
		e := y.ends[s]
		r = Result{Reason: "checks", Check: cmp.Or(e.failed, y.broughtBack(a)), Log: e.log, With: d.with}
	}
	y.did(d)
	built := y.jobs[d.task]
	now, err := y.view(ctx)
	if err != nil {
		return err
	}
	if t := now.Task(d.task); t == nil || t.ReviewCommit != built.task.ReviewCommit || t.ClaimSeq != built.task.ClaimSeq {
		return fmt.Errorf("cannot merge %s: the task changed meanwhile: %w", d.task, git.ErrRefMoved)
	}
	y.report(built.fail(ctx, r))
	return nil
}
