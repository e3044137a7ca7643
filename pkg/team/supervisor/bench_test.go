package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// floor is the cost of a bare write, fsync and rename of the state's bytes.
func floor(p *verbtest.Place, rounds int) time.Duration {
	p.TB.Helper()
	data, err := os.ReadFile(p.Project.State())
	if err != nil {
		p.TB.Fatal(err)
	}
	path := filepath.Join(p.Dir, ".liza", "floor")
	var all []time.Duration
	for range rounds {
		began := time.Now()
		if err := safefile.Replace(path, data, 0o644); err != nil {
			p.TB.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	return median(all)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkVerbs measures claim, submit, verdict and merge in a warm process, beside the
// cost of a bare write of the same file.
func BenchmarkVerbs(b *testing.B) {
	for _, n := range []int{10, 300, 3000} {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) {
			p := verbtest.New(b)
			p.Merges(n)
			ctx := context.Background()
			coder, reviewer, person := p.Service("coder-1"), p.Service("code-reviewer-1"), p.Service("")
			spent := map[string][]time.Duration{}
			timed := func(name string, do func() error) {
				began := time.Now()
				if err := do(); err != nil {
					b.Fatal(name, ": ", err)
				}
				spent[name] = append(spent[name], time.Since(began))
			}
			b.ResetTimer()
			for i := range b.N {
				id := fmt.Sprintf("task-%d", i)
				b.StopTimer()
				p.AddTask(id)
				b.StartTimer()
				timed("claim", func() error { _, err := coder.Claim(ctx, id); return err })
				b.StopTimer()
				dir := p.Repo.WorktreePath(id)
				verbtest.Write(b, filepath.Join(dir, id+".md"), "a word\n")
				p.Git(dir, "add", "-A")
				p.Git(dir, "commit", "-q", "-m", id)
				b.StartTimer()
				timed("submit", func() error { _, err := coder.Submit(ctx, verb.SubmitInput{Task: id}); return err })
				if _, err := reviewer.Reviews.ClaimReview(ctx, id); err != nil {
					b.Fatal(err)
				}
				timed("verdict", func() error {
					_, err := reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: id, Verdict: "approve"})
					return err
				})
				timed("merge", func() error { _, err := person.Merges.Merge(ctx, id); return err })
			}
			b.StopTimer()
			b.ReportMetric(float64(floor(p, 11).Microseconds())/1000, "ms/bare-write")
			for name, all := range spent {
				b.ReportMetric(float64(median(all).Microseconds())/1000, "ms/"+name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// team is a coder and a reviewer whose programs are functions: an agent that takes no time.
type team struct {
	*verbtest.Place
	mu      sync.Mutex
	started map[string]time.Time // task → when the reviewer's program was started
	ready   []time.Time          // when READY_FOR_REVIEW was on disk, in order
}

// submissions notes when a submission was written.
type submissions struct {
	store.Store
	team *team
}

func (s submissions) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	err := s.Store.Update(ctx, op, change)
	if op.Name == "submit" && err == nil {
		s.team.mu.Lock()
		s.team.ready = append(s.team.ready, time.Now())
		s.team.mu.Unlock()
	}
	return err
}

// start stands for agent.Run: the coder commits one file, the reviewer approves.
func (t *team) start(_ context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
	if s.Started != nil {
		if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
			return agent.Result{Outcome: agent.Killed, Error: err.Error()}
		}
	}
	exit := `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"done"%s}`
	switch s.Role {
	case "coder":
		verbtest.Write(t.TB, filepath.Join(s.Dir, s.TaskID+".md"), "a word\n")
		t.Git(s.Dir, "add", "-A")
		t.Git(s.Dir, "commit", "-q", "-m", s.TaskID)
		return agent.Result{Outcome: agent.Finished, Final: fmt.Sprintf(exit, "")}
	case "code_reviewer":
		t.mu.Lock()
		t.started[s.TaskID] = time.Now()
		t.mu.Unlock()
		return agent.Result{Outcome: agent.Finished, Final: fmt.Sprintf(exit, `,"review":{"status":"ok"}`)}
	}
	return agent.Result{Outcome: agent.Finished, Final: fmt.Sprintf(exit, "")}
}

func (t *team) member(role blackboard.Role) *supervisor.Supervisor {
	d := t.Service("")
	d.Board.Store = submissions{d.Board.Store, t}
	return &supervisor.Supervisor{Service: d, Role: role, CLI: "fake", Team: true, PID: os.Getpid(), Start: t.start, Liza: "/bin/true",
		Adapter: func(string) (agent.Adapter, error) { return nil, nil }}
}

// BenchmarkTeam measures a team of one coder and one reviewer whose agents take no time:
// what the orchestration costs per merged task when both always have work, and how long a
// hand-over takes when the reviewer waits for it (each task depends on the one before).
func BenchmarkTeam(b *testing.B) {
	b.Run("overhead", func(b *testing.B) {
		for b.Loop() {
			t := newTeam(b)
			took, _ := t.run(teamTasks, false)
			b.ReportMetric(float64(took.Milliseconds())/teamTasks, "ms/merged-task")
			b.ReportMetric(float64(floor(t.Place, 11).Microseconds())/1000, "ms/bare-write")
			b.ReportMetric(0, "ns/op")
		}
	})
	b.Run("hand-over", func(b *testing.B) {
		for b.Loop() {
			t := newTeam(b)
			_, waits := t.run(teamTasks, true)
			b.ReportMetric(float64(median(waits).Microseconds())/1000, "ms/hand-over-median")
			b.ReportMetric(float64(slices.Max(waits).Microseconds())/1000, "ms/hand-over-worst")
			b.ReportMetric(float64(floor(t.Place, 11).Microseconds())/1000, "ms/bare-write")
			b.ReportMetric(0, "ns/op")
		}
	})
}

const teamTasks = 20 // of a benchmark

func newTeam(tb testing.TB) *team {
	return &team{Place: verbtest.New(tb), started: map[string]time.Time{}}
}

// run lets the team merge tasks; chained makes each depend on the one before.
// waits is how long each submission waited for its reviewer's program.
func (t *team) run(tasks int, chained bool) (took time.Duration, waits []time.Duration) {
	t.TB.Helper()
	for i := range tasks {
		var after []string
		if chained && i > 0 {
			after = []string{fmt.Sprintf("task-%d", i-1)}
		}
		t.AddTask(fmt.Sprintf("task-%d", i), after...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	began := time.Now()
	team := &supervisor.Team{Service: t.Service(""), Until: "goal", Members: []*supervisor.Supervisor{t.member(blackboard.RoleCoder), t.member(blackboard.RoleReviewer)}}
	if err := team.Run(ctx, ctx); err != nil {
		t.TB.Fatal(err)
	}
	took = time.Since(began)
	var begun []time.Time
	for task := range t.State().Tasks() {
		if task.Status != blackboard.Merged {
			t.TB.Fatalf("%s is %s", task.ID, task.Status)
		}
		begun = append(begun, t.started[task.ID])
	}
	slices.SortFunc(begun, time.Time.Compare)
	for i := range begun { // one coder, one reviewer: reviews follow submissions in order
		waits = append(waits, begun[i].Sub(t.ready[i]))
	}
	return took, waits
}

// TestATeamMergesEverything is the benchmark's run as a test: both shapes of a board.
// P-130.
func TestATeamMergesEverything(t *testing.T) {
	t.Parallel()
	for name, chained := range map[string]bool{"independent tasks": false, "a chain of tasks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newTeam(t).run(6, chained)
		})
	}
}
