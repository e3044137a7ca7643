package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/norace"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/store"
	"liza/pkg/verb/verb/verbtest"
)

// fullMark asks for the long forms of the tests (make crash, make load).
const fullMark = "STORE_TEST_FULL"

// long is the second number in the long form of a test.
func long(short, full int) int {
	if os.Getenv(fullMark) != "" {
		return full
	}
	return short
}

// A sprint is a board full of tasks for scripted agents, which `liza run` works on as a
// process of its own.
type sprint struct {
	*verbtest.Place
	liza  string
	tasks []string
	level string // of the sandbox; "": open
}

// newSprint has n tasks; of each four the last waits for the one before. Of each five the
// first is sent back once by its reviewer. Limits are out of reach: being killed is not a fault
// of a task.
func newSprint(t *testing.T, n int) *sprint {
	t.Helper()
	s := &sprint{Place: verbtest.New(t), liza: measuredProgram(t)}
	err := s.Store.Update(t.Context(), store.Op{Name: "limits"}, func(st *blackboard.State) error {
		for _, key := range []string{"max_coder_iterations", "max_review_cycles"} {
			st.Config[key] = 1000
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var sentBack strings.Builder
	for i := range n {
		id := fmt.Sprintf("task-%02d", i)
		var after []string
		if i%4 == 3 {
			after = []string{s.tasks[i-1]}
		}
		if i%5 == 0 {
			fmt.Fprintf(&sentBack, "  %s: [{review: {status: needs_fix, reason: \"%s.md:1 lacks a word\"}}]\n", id, id)
		}
		s.AddTask(id, after...)
		s.tasks = append(s.tasks, id)
	}
	verbtest.Write(t, s.scenario(), `
default:
  coder: {run: 'echo "the work of $LIZA_TASK_ID" > $LIZA_TASK_ID.md; echo . >> more-$LIZA_TASK_ID.md', commit: Work}
  code_reviewer: {review: {status: ok}}
code_reviewer:
`+sentBack.String())
	return s
}

func (s *sprint) scenario() string { return filepath.Join(s.Dir, ".git", "scenario.yaml") }

// lizaProgram is the test program under the name of liza: it stops at failpoints, and has liza-agent beside it.
func lizaProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("liza")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// measuredProgram is what is measured: in the long form the real program.
func measuredProgram(t *testing.T) string {
	t.Helper()
	if os.Getenv(fullMark) == "" {
		return lizaProgram(t)
	}
	dir := t.TempDir()
	if err := norace.Build(dir, "liza/cmd/liza", "liza/cmd/liza-spawn"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "liza")
}

// command is a process of liza in the repository, without anything of an agent that may be
// running the tests, and with the key that sealed the board.
func (s *sprint) command(ctx context.Context, out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.liza, args...)
	cmd.Dir = s.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LIZA_") })
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+s.StateHome(), "LIZA_SANDBOX="+cmp.Or(s.level, "open"), "LIZA_TEST_TIMING=max_review_retries=1000,max_agent_runs=1000")
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

func (s *sprint) run(ctx context.Context, out *bytes.Buffer, coders, reviewers int) *exec.Cmd {
	return s.command(ctx, out, "run", "--plain", "--scenario", s.scenario(), "--coders", fmt.Sprint(coders), "--reviewers", fmt.Sprint(reviewers))
}

// everythingMerged checks that every task was merged exactly once, by board, journal and
// repository, that the branch has the work of each task, and that nothing is left over.
func (s *sprint) everythingMerged() {
	t := s.TB
	t.Helper()
	s.Sound()
	st := s.State()
	if st.Goal.Status != blackboard.Completed {
		t.Errorf("the goal is %s", st.Goal.Status)
	}
	journal, err := os.ReadFile(s.Project.Journal())
	if err != nil {
		t.Fatal(err)
	}
	onBranch := strings.Fields(s.Git(s.Dir, "log", "--first-parent", "--format=%(trailers:key=Liza-Task,valueonly)", "integration"))
	slices.Sort(onBranch)
	if !slices.Equal(onBranch, s.tasks) {
		t.Errorf("merged on the branch are %v, want each task once", onBranch)
	}
	for _, id := range s.tasks {
		task := st.Task(id)
		merged := 0
		for _, h := range task.History {
			if h.Event == "merged" {
				merged++
			}
		}
		if task.Status != blackboard.Merged || merged != 1 {
			t.Errorf("%s is %s, with %d merged entries", id, task.Status, merged)
		}
		if n := bytes.Count(journal, []byte("action: merged, task: "+id+",")); n != 1 {
			t.Errorf("the journal has %d times that %s was merged", n, id)
		}
		text, err := exec.Command("git", "-C", s.Dir, "show", "integration:"+id+".md").CombinedOutput()
		if err != nil || string(text) != "the work of "+id+"\n" {
			t.Errorf("the branch has %q of %s", text, id)
		}
		s.keptWork(task)
	}
}

// keptWork checks that no commit that was recorded for a task is lost: it is on the
// integration branch or in the attic.
func (s *sprint) keptWork(task *blackboard.Task) {
	t := s.TB
	t.Helper()
	refs := []string{"refs/heads/integration"}
	refs = append(refs, strings.Fields(s.Git(s.Dir, "for-each-ref", "--format=%(refname)", "refs/liza/attic/"+task.ID))...)
	for _, a := range task.Attempts {
		if a == nil || a.Commit == "" {
			continue
		}
		held := slices.ContainsFunc(refs, func(ref string) bool {
			return exec.Command("git", "-C", s.Dir, "merge-base", "--is-ancestor", a.Commit, ref).Run() == nil
		})
		if !held {
			t.Errorf("commit %s of %s is in none of %v", a.Commit, task.ID, refs)
		}
	}
}

// An observer looks at every revision that it can get hold of.
type observer struct {
	looked, gap       int // revisions seen; by how many two of them were apart at most
	coding, reviewing int // at a time, at most
	wrong             []string
}

// observe looks until ctx ends.
func (s *sprint) observe(ctx context.Context) *observer {
	o := &observer{}
	f, err := s.open()
	if err != nil {
		return &observer{wrong: []string{err.Error()}}
	}
	changes := f.Watch(ctx)
	var before *blackboard.State
	for ctx.Err() == nil {
		st, err := f.View(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			o.wrong = append(o.wrong, err.Error())
			break
		}
		o.look(before, st, s)
		before = st
		select {
		case <-changes:
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return o
}

// open is the store as another process sees it.
func (s *sprint) open() (*store.File, error) {
	return store.Open(store.Options{Path: s.Project.State(), GitDir: s.Project.GitDir, Now: time.Now})
}

func (o *observer) look(before, st *blackboard.State, s *sprint) {
	if before != nil && before.Revision == st.Revision {
		return
	}
	o.looked++
	for _, v := range audit.Validate(st, nil, audit.Evidence{Now: time.Now(), Write: true, Archive: s.TaskArchive}) {
		if v.Severity == blackboard.SeverityError {
			o.wrong = append(o.wrong, fmt.Sprintf("revision %d: %s", st.Revision, v))
		}
	}
	coding, reviewing := 0, 0
	for t := range st.Tasks() {
		if t.Status == blackboard.Claimed {
			coding++
		}
		if t.ReviewingBy != "" {
			reviewing++
		}
	}
	o.coding, o.reviewing = max(o.coding, coding), max(o.reviewing, reviewing)
	if before == nil {
		return
	}
	o.gap = max(o.gap, st.Revision-before.Revision)
	if st.Revision < before.Revision {
		o.wrong = append(o.wrong, fmt.Sprintf("revision %d came after %d", st.Revision, before.Revision))
	}
	for was := range before.Tasks() {
		if t := st.Task(was.ID); t == nil || was.Status.Terminal() && t.Status != was.Status || t.ClaimSeq < was.ClaimSeq || len(t.History) < len(was.History) {
			o.wrong = append(o.wrong, fmt.Sprintf("revision %d: %s went back", st.Revision, was.ID))
		}
	}
}
