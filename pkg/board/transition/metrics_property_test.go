package transition

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// recount computes the stored figures of specs/protocol.md#12 from scratch: from the tasks of the
// sprint and their histories, and from the journal for what no history tells.
type recount struct {
	kept    []*blackboard.Task      // what was archived
	sprint  map[string]bool         // tasks of the sprint that are not on the board any more
	before  map[string]contribution // what tasks had behind them when the sprint began
	journal []blackboard.Entry      // of the sprint
}

func (r *recount) of(b *board) blackboard.Metrics {
	var m blackboard.Metrics
	merged := 0
	in := b.InSprint()
	count := func(t *blackboard.Task) {
		c, was := contributionOf(t), r.before[t.ID]
		m.TasksDone += c.done
		m.TasksInProgress += c.inProgress
		m.TasksBlocked += c.blocked
		m.IterationsTotal += c.iterations - was.iterations
		m.ReviewCyclesTotal += c.cycles - was.cycles
		m.ReviewVerdictApprovals += c.approvals - was.approvals
		m.ReviewVerdictRejections += c.rejections - was.rejections
		m.TaskSubmittedForReviewCount += c.submitted - was.submitted
		if t.Status == blackboard.Merged {
			merged++
		}
	}
	for _, t := range r.kept {
		if r.sprint[t.ID] {
			count(t)
		}
	}
	for t := range b.Tasks() {
		if in(t) {
			count(t)
		}
	}
	for _, e := range r.journal {
		outcome, _, _ := strings.Cut(e.Detail, ":")
		if e.Action == "retried" || e.Action == "run_failed" && (outcome == "timeout" || outcome == "stalled") {
			m.IterationsTotal++
		}
	}
	m.ReviewVerdictCount = m.ReviewVerdictApprovals + m.ReviewVerdictRejections
	m.ReviewVerdictApprovalRatePercent = percent(m.ReviewVerdictApprovals, m.ReviewVerdictCount)
	m.TaskOutcomeApprovalRatePercent = percent(merged, m.TasksDone)
	return m
}

// Archived makes the recount the archive of its board.
func (r *recount) Archived() map[string]blackboard.Archived {
	all := map[string]blackboard.Archived{}
	for _, t := range r.kept {
		a := blackboard.Archived{Status: t.Status, Supersedes: t.Supersedes, AfterPlan: t.AfterPlan}
		if r.sprint[t.ID] {
			a.Sprint = "sprint-1"
		}
		all[t.ID] = a
	}
	return all
}

// archive takes off the board what may go, as `liza gc` and `liza resume` do.
func (r *recount) archive(b *board, take func() []string) {
	was, in := b.TaskList(), b.InSprint()
	gone := blackboard.List(take())
	for _, t := range was {
		if t != nil && gone.Has(t.ID) {
			r.kept = append(r.kept, t)
			r.sprint[t.ID] = in(t)
		}
	}
}

func (r *recount) nextSprint(b *board) {
	b.must(AbortSprint(b.State, "enough", person, b.now))
	was := b.TaskList()
	archived, err := NextSprint(b.State, nil, person, b.now)
	if err != nil { // somebody works
		b.must(ResumeSprint(b.State, "", "", person, b.now))
		return
	}
	for _, t := range was {
		if t != nil && blackboard.List(archived).Has(t.ID) {
			r.kept = append(r.kept, t)
		}
	}
	r.sprint, r.before, r.journal = map[string]bool{}, map[string]contribution{}, nil
	for t := range b.Tasks() {
		r.before[t.ID] = contributionOf(t)
	}
	b.TakeEntries(0)
	b.after(time.Second)
}

// rename gives the task another id, so that the trials can begin with a new "x".
func rename(s *blackboard.State, was, id string) {
	t := s.Task(was)
	if t == nil {
		return
	}
	t.ID = id
	each := func(list blackboard.List) {
		for i := range list {
			if list[i] == was {
				list[i] = id
			}
		}
	}
	for o := range s.Tasks() {
		each(o.DependsOn)
		each(o.Supersedes)
		each(o.SupersededBy)
	}
	for _, a := range s.Agents {
		if a != nil && a.CurrentTask == was {
			a.CurrentTask = id
		}
	}
	if s.Sprint.Scope != nil {
		each(s.Sprint.Scope.Planned)
		each(s.Sprint.Scope.Stretch)
	}
}

// P-168: after any legal events, archivings and changes of sprint, the figures that writes
// keep up to date are those that a recount from the histories finds.
func TestTheStoredFiguresEqualARecountFromTheHistories(t *testing.T) {
	t.Parallel()
	sprints, archived := 0, 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 168))
		b := team(t)
		situations[random.IntN(len(situations))].make(b)
		r := &recount{sprint: map[string]bool{}}
		b.UseArchive(r)
		r.journal = append(r.journal, b.Entries()...)
		b.TakeEntries(0)
		for step := range 200 {
			switch n := random.IntN(40); {
			case n == 0:
				r.archive(b, func() []string { return Archive(b.State, time.Time{}, person, b.now) })
			case n == 1:
				was := b.Sprint.ID
				r.nextSprint(b)
				if b.Sprint.ID != was {
					sprints++
				}
			case n < 6:
				id := "task-" + strconv.Itoa(int(seed)) + "-" + strconv.Itoa(step)
				rename(b.State, []string{"x", "new"}[n%2], id)
				_ = Create(b.State, codeTask("x"), false, person, Input{}, b.now) // unless there is an x
			default:
				try, who := trials[random.IntN(len(trials))], everybody[random.IntN(len(everybody))]
				if try.do(b, who.actor(b)) != nil {
					b.TakeEntries(0)
					continue
				}
			}
			b.after(time.Duration(random.IntN(900)) * time.Second)
			r.journal = append(r.journal, b.Entries()...)
			b.TakeEntries(0)
			if got, want := *metrics(b.State), r.of(b); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d: the figures are\n%+v\na recount finds\n%+v", seed, step, plainMetrics(got), plainMetrics(want))
			}
		}
		archived += len(r.kept)
	}
	if sprints < 50 || archived < 50 {
		t.Errorf("%d sprints, %d tasks archived: too little happened", sprints, archived)
	}
}

// plainMetrics shows the rates instead of their addresses.
func plainMetrics(m blackboard.Metrics) map[string]int {
	rate := func(p *int) int {
		if p == nil {
			return -1
		}
		return *p
	}
	return map[string]int{"done": m.TasksDone, "in_progress": m.TasksInProgress, "blocked": m.TasksBlocked, "iterations": m.IterationsTotal,
		"cycles": m.ReviewCyclesTotal, "approvals": m.ReviewVerdictApprovals, "rejections": m.ReviewVerdictRejections, "count": m.ReviewVerdictCount,
		"approval rate": rate(m.ReviewVerdictApprovalRatePercent), "submitted": m.TaskSubmittedForReviewCount, "outcome rate": rate(m.TaskOutcomeApprovalRatePercent)}
}
