package supervisor_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/code/git/gittest"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// What a merged task may cost, start and end of the team included: writes of the board, processes of git that Liza starts, and
// runs of agent programs, each of which has one reaper. Seven writes are those of the work; where the reviewer is not waiting when work is handed
// in, its claim is one more, and how often that is depends on the machine. Of the processes of git one makes the checkout that each review has of
// its own, beside the worktree of the coder.
const (
	mostWrites   = 9
	mostGit      = 14
	runsOfATask  = 2
	costOfTasks  = 20
	costOfCoders = 2
)

// counted is a store that counts writes by the name of their operation.
type counted struct {
	store.Store
	mu     *sync.Mutex
	writes map[string]int
	views  *int
}

func (c counted) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	err := c.Store.Update(ctx, op, change)
	if err == nil {
		c.mu.Lock()
		c.writes[op.Name]++
		c.mu.Unlock()
	}
	return err
}

func (c counted) View(ctx context.Context) (*blackboard.State, error) {
	c.mu.Lock()
	*c.views++
	c.mu.Unlock()
	return c.Store.View(ctx)
}

// What a team writes and starts for each task that it merges. It prints a table by step.
func TestAMergedTaskCostsFewWritesAndFewProcesses(t *testing.T) {
	breaker := gittest.InPath(t) // not parallel: it changes the environment
	team := newTeam(t)
	writes, runs, views := map[string]int{}, map[string]int{}, 0
	var mu sync.Mutex
	kept := store.Grouped(team.Store)
	counts := func(store.Store) store.Store { return counted{kept, &mu, writes, &views} }
	start := func(ctx context.Context, a agent.Adapter, s agent.Spec) agent.Result {
		mu.Lock()
		runs[s.Role]++
		mu.Unlock()
		return team.start(ctx, a, s)
	}
	member := func(role blackboard.Role) *supervisor.Supervisor {
		m := team.member(role)
		m.Service.Board.Store, m.Start = counts(m.Service.Board.Store), start
		return m
	}
	var names []string
	for i := range costOfTasks {
		names = append(names, fmt.Sprintf("task-%d", i))
		team.AddTask(names[i])
	}
	looker := team.Service("")
	looker.Board.Store = counts(looker.Board.Store)
	all := &supervisor.Team{Service: looker, Until: "goal", Members: []*supervisor.Supervisor{member(blackboard.RoleReviewer)}}
	for range costOfCoders {
		all.Members = append(all.Members, member(blackboard.RoleCoder))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first := team.State().Revision
	var failed error
	git := breaker.Commands(func() { failed = all.Run(ctx, ctx) })
	if failed != nil {
		t.Fatal(failed)
	}
	for _, id := range names {
		if task := team.State().Task(id); task.Status != blackboard.Merged {
			t.Fatalf("%s is %s", id, task.Status)
		}
	}
	revisions := team.State().Revision - first
	processes := map[string]int{}
	for _, c := range git {
		if !strings.Contains(c, "user.name=Test") { // else it is the agent's
			processes[command(c)]++
		}
	}
	t.Logf("%d revisions of the board; writes per merged task: %s", revisions, table(writes))
	t.Logf("processes of git per merged task: %s", table(processes))
	t.Logf("runs of agent programs per merged task: %s; looks at the board: %.1f", table(runs), float64(views)/costOfTasks)
	if revisions > mostWrites*costOfTasks {
		t.Errorf("%d revisions of the board for %d tasks; at most %d each", revisions, costOfTasks, mostWrites)
	}
	if n := total(processes); n > mostGit*costOfTasks {
		t.Errorf("%d processes of git for %d tasks; at most %d each", n, costOfTasks, mostGit)
	}
	if n := total(runs); n > runsOfATask*costOfTasks {
		t.Errorf("%d runs for %d tasks; at most %d each", n, costOfTasks, runsOfATask)
	}
}

// The write that hands work in claims the review for a reviewer of the team that waits, under the reviewer's name.
func TestAWaitingReviewerGetsTheReviewWithTheSubmission(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	for _, id := range []string{"task-1", "task-2"} {
		team.AddTask(id)
	}
	coder, reviewer := team.member(blackboard.RoleCoder), team.member(blackboard.RoleReviewer)
	coder.Start = func(ctx context.Context, a agent.Adapter, s agent.Spec) agent.Result {
		watching, enough := context.WithCancel(ctx)
		defer enough()
		for range team.Store.Watch(watching) {
			if e := team.State().Agents["code-reviewer-1"]; e != nil && e.Status == blackboard.AgentWaiting {
				break
			}
		}
		return team.start(ctx, a, s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all := &supervisor.Team{Service: team.Service(""), Until: "goal", Members: []*supervisor.Supervisor{coder, reviewer}}
	if err := all.Run(ctx, ctx); err != nil {
		t.Fatal(err)
	}
	entries, err := history.Journal{Path: team.Project.Journal()}.Read(history.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	submitted, with := map[int]any{}, 0
	for _, e := range entries {
		switch e.Action {
		case blackboard.ActionReadyForReview:
			submitted[e.Rev] = e.Extra["run"]
		case blackboard.ActionReviewClaimed:
			run, together := submitted[e.Rev]
			if together {
				with++
			}
			if e.Agent != "code-reviewer-1" || together && e.Extra["run"] == run {
				t.Errorf("the review is claimed by %s in the run %v, beside one of the coder %v", e.Agent, e.Extra["run"], run)
			}
		}
	}
	if len(submitted) != 2 || with == 0 { // once it may have been looking at the board just then
		t.Errorf("%d of %d submissions claimed a review", with, len(submitted))
	}
}

func total(counts map[string]int) (n int) {
	for _, one := range counts {
		n += one
	}
	return n
}

// table is the counts per task, the largest first.
func table(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	text := fmt.Sprintf("%.1f", float64(total(counts))/costOfTasks)
	for _, name := range names {
		text += fmt.Sprintf("\n%6.1f  %s", float64(counts[name])/costOfTasks, name)
	}
	return text
}

// command is the command among the arguments of a git process.
func command(args string) string {
	words := strings.Fields(args)
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "-c" || words[i] == "-C":
			i++
		case !strings.HasPrefix(words[i], "-"):
			return words[i] + second(words[i+1:])
		}
	}
	return args
}

// second is the word that tells one use of a command from another: an option or a command of its own.
func second(words []string) string {
	if len(words) == 0 || len(words[0]) == 40 {
		return ""
	}
	return " " + words[0]
}
