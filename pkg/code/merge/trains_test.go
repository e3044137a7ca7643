package merge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// trainOf is a merger with a train of n tasks, all checked at one time.
func trainOf(p *verbtest.Place, n int) *merge.Merger {
	p.Config.Merge.Train, p.Config.Merge.Slots = n, n
	return merger(p)
}

func all(t *testing.T, m *merge.Merger) map[string]merge.Result {
	t.Helper()
	results, err := m.All(context.Background())
	by := map[string]merge.Result{}
	for _, r := range results {
		if _, twice := by[r.Task]; twice {
			t.Errorf("two results of %s", r.Task)
		}
		by[r.Task] = r
	}
	if err != nil && !strings.Contains(err.Error(), "cannot merge") {
		t.Fatal(err)
	}
	return by
}

// counted is a check that notes where it ran, then does what the line says.
func counted(p *verbtest.Place, line string) string {
	return "git rev-parse HEAD^{tree} >> " + filepath.Join(p.Dir, ".git", "ran") + "; " + line
}

// ran are the trees that were checked.
func ran(p *verbtest.Place) []string {
	text, _ := os.ReadFile(filepath.Join(p.Dir, ".git", "ran"))
	return strings.Fields(string(text))
}

// green runs the check again on each first-parent commit since the beginning.
func green(t *testing.T, p *verbtest.Place, since, check string) {
	t.Helper()
	for _, commit := range strings.Fields(p.Git(p.Dir, "rev-list", "--first-parent", since+"..integration")) {
		dir := filepath.Join(t.TempDir(), "again")
		p.Git(p.Dir, "worktree", "add", "-q", "--detach", dir, commit)
		cmd := exec.Command("sh", "-c", check)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("the branch is red at %s: %v\n%s", p.Git(p.Dir, "log", "-1", "--format=%h %s", commit), err, out)
		}
		p.Git(p.Dir, "worktree", "remove", "--force", dir)
	}
}

// collides is a check that fails with a file of bad, and with both of a pair.
func collides(bad []string, pairs ...[2]string) string {
	var lines []string
	for _, id := range bad {
		lines = append(lines, "test ! -e "+id+".md || exit 3")
	}
	for _, p := range pairs {
		lines = append(lines, fmt.Sprintf("test ! -e %s.md || test ! -e %s.md || exit 4", p[0], p[1]))
	}
	return strings.Join(lines, "; ")
}

// Of 12 tasks (40 with STORE_TEST_FULL) some are bad and two pairs fail only together.
func TestATrainFindsCulpritsAndTheBranchIsNeverRed(t *testing.T) {
	t.Parallel()
	n, bad, pairs := 8, []string{"task-03"}, [][2]string{{"task-02", "task-07"}, {"task-05", "task-06"}}
	if os.Getenv("STORE_TEST_FULL") != "" {
		n, bad, pairs = 40, []string{"task-03", "task-17", "task-29"}, [][2]string{{"task-02", "task-31"}, {"task-11", "task-12"}}
	}
	p := verbtest.New(t)
	before := head(p)
	for i := range n {
		p.Approved(fmt.Sprintf("task-%02d", i))
	}
	check := collides(bad, pairs...)
	p.Config.Integration.Checks = []string{counted(p, check)}
	m := trainOf(p, n)
	m.Slots = 8
	results := all(t, m)
	with := map[string]string{}
	for _, id := range bad {
		with[id] = ""
	}
	for _, pair := range pairs {
		with[pair[1]] = pair[0]
	}
	for id, r := range results {
		partner, culprit := with[id]
		if want := map[bool]blackboard.Status{false: blackboard.Merged, true: blackboard.IntegrationFailed}[culprit]; r.Status != want || r.With != partner || p.State().Task(id).Status != want {
			t.Errorf("%s: %+v, want %s with %q", id, r, want, partner)
		}
		if history := p.State().Task(id).History; culprit && partner != "" && !strings.HasSuffix(history[len(history)-1].Reason, " (with the work of "+partner+", not without it)") {
			t.Errorf("%s is not told what it collides with: %q", id, history[len(history)-1].Reason)
		}
	}
	if len(results) != n {
		t.Errorf("%d results, want %d", len(results), n)
	}
	trees := ran(p)
	slices.Sort(trees)
	t.Logf("%d tasks, %d culprits: %d checks", n, len(with), len(trees))
	if distinct := len(slices.Compact(slices.Clone(trees))); distinct != len(trees) {
		t.Errorf("%d checks of %d trees", len(trees), distinct)
	}
	if merges := strings.Count(p.Git(p.Dir, "log", "--first-parent", "--format=Liza%(trailers:key=Liza-Task)", before+"..integration"), "Liza-Task"); merges != n-len(with) {
		t.Errorf("%d merges on the branch, want %d", merges, n-len(with))
	}
	green(t, p, before, check)
	var left []string
	for id := range with {
		left = append(left, id)
	}
	slices.Sort(left)
	p.Sound(left...)
}

// together is a check that passes once so many checks run at one time, or have run.
func together(p *verbtest.Place, n int) string {
	return counted(p, fmt.Sprintf("i=0; until test $(wc -l <%s) -ge %d; do i=$((i+1)); test $i -lt 1200 || exit 9; sleep 0.05; done", filepath.Join(p.Dir, ".git", "ran"), n))
}

// What merges one after the other is checked side by side: no check passes before all run. With STORE_TEST_FULL it is measured
// too, with checks that sleep; the ratio is that of the same run.
func TestATrainIsFasterThanOneAfterTheOther(t *testing.T) {
	t.Parallel()
	took := func(train, n int, check string) time.Duration {
		p := verbtest.New(t)
		if p.Config.Integration.Checks = []string{check}; check == "" {
			p.Config.Integration.Checks = []string{together(p, n)}
		}
		for i := range n {
			p.Approved(fmt.Sprintf("task-%02d", i))
		}
		m := trainOf(p, train)
		began := time.Now()
		for id, r := range all(t, m) {
			if r.Status != blackboard.Merged {
				t.Errorf("%s is %s: %s", id, r.Status, r.Reason)
			}
		}
		p.Sound()
		return time.Since(began)
	}
	took(8, 8, "")
	if os.Getenv("STORE_TEST_FULL") == "" {
		return
	}
	const n, seconds, least = 20, "6", 4
	serial, train := took(1, n, "sleep "+seconds), took(n, n, "sleep "+seconds)
	ratio := serial.Seconds() / train.Seconds()
	t.Logf("%d tasks, checks of %s s, %d slots: %.1f s one after the other, %.1f s as a train: %.1f times as fast", n, seconds, n, serial.Seconds(), train.Seconds(), ratio)
	if ratio < least {
		t.Errorf("%.1f times as fast, want at least %d", ratio, least)
	}
}

// A team approves one task after the other. What is approved while the checks of others run joins their train: with two
// reviewers it would have two cars, and be as slow as merging one by one.
func TestWhatIsApprovedMeanwhileJoinsTheTrain(t *testing.T) {
	t.Parallel()
	const n = 6
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{together(p, n)}
	approved := func(from, to int) {
		for i := range to - from {
			p.Approved(fmt.Sprintf("task-%02d", from+i))
		}
	}
	approved(0, 2)
	var reviewers sync.WaitGroup
	reviewers.Go(func() {
		for len(ran(p)) == 0 { // until the first check runs, which waits for those of the others
			<-time.After(10 * time.Millisecond)
		}
		approved(2, n)
	})
	results := all(t, trainOf(p, n))
	reviewers.Wait()
	for id, r := range results {
		if r.Status != blackboard.Merged {
			t.Errorf("%s is %s: %s", id, r.Status, r.Reason)
		}
	}
	if len(results) != n || len(ran(p)) != n {
		t.Errorf("%d tasks merged with %d checks, want %d each", len(results), len(ran(p)), n)
	}
	p.Sound()
}

// A check whose result is of no use any more is ended: its place is needed.
func TestAUselessCheckIsStopped(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	// The first one fails as soon as that of both runs, which would go on for ten minutes.
	p.Config.Integration.Checks = []string{`git=../../.git
if test -e task-1.md -a -e task-2.md; then touch $git/both; sleep 600; touch $git/waited; exit 4; fi
i=0; until test ! -e task-1.md -o -e $git/both; do i=$((i+1)); test $i -lt 1200 || exit 9; sleep 0.05; done
test ! -e task-1.md || exit 3`}
	p.Approved("task-1")
	p.Approved("task-2")
	results := all(t, trainOf(p, 2))
	if r := results["task-1"]; r.Status != blackboard.IntegrationFailed || !strings.Contains(r.Check, "exit code 3") || results["task-2"].Status != blackboard.Merged {
		t.Errorf("%+v", results)
	}
	if _, err := os.Lstat(filepath.Join(p.Dir, ".git", "waited")); err == nil {
		t.Error("the check of both went on to its end")
	}
	p.Sound("task-1")
}

// A tree whose checks have passed is not checked again: by another task of the train, or after a crash.
func TestEqualTreesAreCheckedOnce(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{counted(p, "true")}
	for _, id := range []string{"task-1", "task-2", "same"} {
		p.AddTask(id)
	}
	approve(t, p, "task-1", "one.md")
	coder, reviewer := p.Service("coder-9"), p.Service("code-reviewer-9")
	must(t)(coder.Claim(context.Background(), "same"))
	dir := p.Repo.WorktreePath("same")
	verbtest.Write(t, filepath.Join(dir, "one.md"), "a word of task-1\n")
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "the same")
	must(t)(coder.Submit(context.Background(), verb.SubmitInput{Task: "same"}))
	must(t)(reviewer.Reviews.ClaimReview(context.Background(), "same"))
	must(t)(reviewer.Reviews.Verdict(context.Background(), verb.VerdictInput{Task: "same", Verdict: "approve"}))
	approve(t, p, "task-2", "two.md")

	func() {
		defer func() { _ = recover() }()
		m := trainOf(p, 8)
		landed := 0
		m.At = func(point string) {
			if point == "M6" {
				if landed++; landed == 2 { // the first one is merged
					panic("killed")
				}
			}
		}
		_, _ = m.All(context.Background())
	}()
	if results := all(t, trainOf(p, 8)); len(results) != 2 {
		t.Errorf("%d results of the second train, want 2: the first one merged one of three", len(results))
	}
	for _, id := range []string{"task-1", "task-2", "same"} {
		if task := p.State().Task(id); task.Status != blackboard.Merged || entries(task, "merged") != 1 {
			t.Errorf("%s: %+v", id, task)
		}
	}
	trees := ran(p)
	slices.Sort(trees)
	if distinct := len(slices.Compact(slices.Clone(trees))); len(trees) != distinct || distinct != 2 {
		t.Errorf("%d checks of %d trees, want one of each of 2", len(trees), distinct)
	}
	p.Sound()
}

// A check that fails once on a tree and passes there the second time is flaky: recorded, and only with merge.rerun a pass.
func TestAFlakyCheckIsToldApart(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3} {
		for _, rerun := range []bool{false, true} {
			t.Run(fmt.Sprintf("train %d, rerun %t", size, rerun), func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				p.Config.Integration.Checks = []string{"test ! -e task-1.md || test -e task-2.md || test -e ../../.git/once || { touch ../../.git/once; exit 9; }"}
				p.Config.Merge.Rerun = rerun
				p.Approved("task-1")
				p.Approved("task-2")
				results := all(t, trainOf(p, size))
				s := p.State()
				if want := map[bool]blackboard.Status{false: blackboard.IntegrationFailed, true: blackboard.Merged}[rerun]; results["task-1"].Status != want || results["task-2"].Status != blackboard.Merged {
					t.Errorf("got %+v, want task-1 %s", results, want)
				}
				flaky := slices.ContainsFunc(s.Anomalies, func(a *blackboard.Anomaly) bool {
					what, _ := a.Details["what"].(string)
					return a.Type == "flaky_check" && a.Task == "task-1" && strings.Contains(what, "exit code 9") && strings.Count(what, ".log") == 2
				})
				if flaky != rerun || len(s.Anomalies) > 1 {
					t.Errorf("the anomalies are %+v", s.Anomalies)
				}
				if !rerun {
					p.Sound("task-1")
				} else {
					p.Sound()
				}
			})
		}
	}
}

// A conflict with what comes before it in the train names the task; those behind it are merged.
func TestAConflictInATrainNamesTheOtherTask(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"true"}
	for _, id := range []string{"zero", "first", "second", "third"} {
		p.AddTask(id)
	}
	approve(t, p, "zero", "zero.md")
	approve(t, p, "first", "shared.md")
	approve(t, p, "second", "shared.md")
	approve(t, p, "third", "own.md")
	results := all(t, trainOf(p, 8))
	second := results["second"]
	if second.Status != blackboard.IntegrationFailed || second.Reason != "conflict" || second.With != "first" || !slices.Equal(second.Files, []string{"shared.md"}) {
		t.Errorf("second: %+v", second)
	}
	for _, id := range []string{"zero", "first", "third"} {
		if results[id].Status != blackboard.Merged {
			t.Errorf("%s: %+v", id, results[id])
		}
	}
	p.Sound("second")
}

// Somebody holds a task or moves the branch: what was checked on another head is not merged.
func TestATrainIsDisturbed(t *testing.T) {
	t.Parallel()
	ids := []string{"task-1", "task-2", "task-3"}
	for name, c := range map[string]struct {
		point   string
		disturb func(*testing.T, *verbtest.Place)
		merged  []string
	}{
		"a hold": {"M6", func(t *testing.T, p *verbtest.Place) {
			must(t)(p.Service("").Hold(context.Background(), "task-2", "not yet"))
		}, []string{"task-1", "task-3"}},
		"a push":                              {"M6", func(_ *testing.T, p *verbtest.Place) { p.Push("pushed.md", "a word\n") }, nil},
		"a push just before the branch moves": {"M7", func(_ *testing.T, p *verbtest.Place) { p.Push("pushed.md", "a word\n") }, nil},
		"a push after the first merge":        {"M9", func(_ *testing.T, p *verbtest.Place) { p.Push("pushed.md", "a word\n") }, []string{"task-1"}},
		"a push that the board cannot tell": {"M5", func(t *testing.T, p *verbtest.Place) { // it has no tip: it is older than that
			p.Push("pushed.md", "a word\n")
			must(t)(nil, p.Store.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
				s.Integration = nil
				return nil
			}))
		}, ids},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Integration.Checks = []string{"true"}
			for _, id := range ids {
				p.Approved(id)
			}
			m := trainOf(p, 8)
			done := false
			m.At = func(point string) {
				if point == c.point && !done {
					done = true
					c.disturb(t, p)
				}
			}
			_ = all(t, m)
			for _, id := range ids {
				if merged := p.State().Task(id).Status == blackboard.Merged; merged != slices.Contains(c.merged, id) {
					t.Errorf("%s is %s", id, p.State().Task(id).Status)
				}
			}
			if refs := p.Git(p.Dir, "for-each-ref", "refs/liza/candidate"); refs != "" {
				t.Errorf("candidates are left: %s", refs)
			}
			if strings.HasPrefix(name, "a push") && !contains(p, "pushed.md") {
				t.Error("what was pushed is gone")
			}
		})
	}
}

// A task that became another while its train found it at fault is not the one that failed: the next train looks again.
func TestATaskThatChangedMeanwhileIsNotRejected(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{counted(p, fmt.Sprintf("test $(wc -l <%s) -gt 1", filepath.Join(p.Dir, ".git", "ran")))} // the first check fails
	p.Approved("task-1")
	m := trainOf(p, 2)
	m.Rerun = false
	changed := false
	m.At = func(point string) {
		if point == "M5" && !changed {
			changed = true
			must(t)(nil, p.Store.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
				s.Task("task-1").ClaimSeq++
				return nil
			}))
		}
	}
	results := all(t, m)
	if task := p.State().Task("task-1"); !changed || task.Status != blackboard.Merged || len(ran(p)) != 2 || entries(task, "integration_failed") != 0 {
		t.Errorf("it is %s after %d checks: %+v", task.Status, len(ran(p)), results)
	}
}

// What is red without any work stops no train; what one task mended is not broken again by the next.
func TestATrainOnARedBranch(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Review.Baseline = true
	p.Config.Integration.Unverified = "allow"
	p.Config.Integration.Checks = []string{"test -e mended.md && test ! -e broken.md || exit 5"}
	for _, id := range []string{"before", "mends", "breaks", "after"} {
		p.AddTask(id)
	}
	approve(t, p, "before", "before.md")
	approve(t, p, "mends", "mended.md")
	approve(t, p, "breaks", "broken.md")
	approve(t, p, "after", "after.md")
	results := all(t, trainOf(p, 8))
	for _, id := range []string{"before", "mends", "after"} {
		if results[id].Status != blackboard.Merged {
			t.Errorf("%s: %+v", id, results[id])
		}
	}
	if r := results["breaks"]; r.Status != blackboard.IntegrationFailed || !strings.Contains(r.Check, "exit code 5") {
		t.Errorf("breaks: %+v", r)
	}
}

// What is urgent goes ahead, and leaves the train first.
func TestAnUrgentTaskGoesAhead(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"true"}
	// In this order: of tasks that were approved in the same second the one that is first on the board is first.
	for i, id := range []string{"task-1", "task-2", "task-3"} {
		priority := []int{3, 3, 1}[i]
		_, err := p.Service("").AddTask(context.Background(), verb.NewTask{Task: blackboard.Task{ID: id, Description: "Write", SpecRef: "specs/vision.md", DoneWhen: "is there", Scope: "IN: a file", Type: "docs", Priority: &priority}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"task-1", "task-2", "task-3"} {
		approve(t, p, id, id+".md")
	}
	m := trainOf(p, 2)
	m.At = func(point string) {
		if point == "M10" && p.State().Task("later") == nil {
			p.Approved("later")
		}
	}
	all(t, m)
	if st := p.State().Task("later").Status; st != blackboard.Merged {
		t.Errorf("later is %s: what is approved meanwhile joins the train", st)
	}
	got := p.Git(p.Dir, "log", "--first-parent", "--reverse", "--format=%s", "-4", "integration")
	if want := "Merge task-3: Write\nMerge task-1: Write\nMerge later: Write later\nMerge task-2: Write"; got != want {
		t.Errorf("merged as\n%s\nwant\n%s", got, want)
	}
}

const victimEnv = "MERGE_TEST_VICTIM"

// victim merges as a train and kills itself at the nth time that it comes to a point: "point|n|dir".
func victim(plan string) {
	var n int
	parts := strings.SplitN(plan, "|", 3)
	if _, err := fmt.Sscan(parts[1], &n); err != nil {
		panic(err)
	}
	p := &verbtest.Place{TB: &fatal{}, Dir: parts[2], Config: verbtest.Config()}
	p.Config.Review.Baseline = false // as in the test
	p.Config.Integration.Checks = []string{checkOfVictim}
	p.Open()
	m := trainOf(p, 8)
	m.At = func(point string) {
		if point == parts[0] {
			if n--; n == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // the signal is on its way
			}
		}
	}
	_, err := m.All(context.Background())
	fmt.Fprintln(os.Stderr, "the victim survived:", err)
	os.Exit(3)
}

// fatal ends the victim where a test would fail.
type fatal struct{ testing.TB }

func (*fatal) Helper() {}
func (*fatal) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(4)
}

var checkOfVictim = collides(nil, [2]string{"task-1", "task-2"})

// P-115 for trains: killed with SIGKILL at any step of any of its tasks, the next one ends it: each merge exactly once,
// the culprit rejected once, nothing left over.
func TestAKilledTrainConverges(t *testing.T) {
	t.Parallel()
	times := map[string]int{"M0": 1, "M1": 5, "M2": 5, "M3": 5, "M4": 5, "M5": 5, "M6": 2, "M7": 2, "M8": 2, "M9": 2, "M10": 2}
	for point, most := range times {
		for n := 1; n <= most; n++ {
			if n > 2 && os.Getenv("STORE_TEST_FULL") == "" {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d", point, n), func(t *testing.T) {
				t.Parallel()
				p := verbtest.New(t)
				p.Config.Integration.Checks = []string{checkOfVictim}
				before := head(p)
				for _, id := range []string{"task-1", "task-2", "task-3"} {
					p.Approved(id)
				}
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s", victimEnv, point, n, p.Dir))
				out, err := cmd.CombinedOutput()
				if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || ws.Signal() != syscall.SIGKILL {
					t.Fatalf("the victim was to die of SIGKILL: %v\n%s", err, out)
				}
				p.Open()
				green(t, p, before, checkOfVictim)
				all(t, trainOf(p, 8))
				if err := merger(p).CleanUp(context.Background()); err != nil {
					t.Fatal(err)
				}
				s := p.State()
				for id, event := range map[string]blackboard.HistoryEvent{"task-1": "merged", "task-2": "integration_failed", "task-3": "merged"} {
					if task := s.Task(id); entries(task, event) != 1 || entries(task, "merged")+entries(task, "integration_failed") != 1 {
						t.Errorf("%s is %s with %+v", id, task.Status, task.History)
					}
				}
				if got := p.Git(p.Dir, "log", "--first-parent", "--reverse", "--format=%s", before+"..integration"); got != "Merge task-1: Write task-1\nMerge task-3: Write task-3" {
					t.Errorf("on the branch:\n%s", got)
				}
				green(t, p, before, checkOfVictim)
				p.Sound("task-2")
			})
		}
	}
}
