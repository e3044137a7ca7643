package cli_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres"
	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/verb/verb/verbtest"
)

const (
	livenessRuns  = "RUNS"          // how many, of all kinds by turns
	livenessSeed  = "LIVENESS_SEED" // of the first run; the next ones count on
	livenessKinds = "KINDS"         // a regular expression: only these
)

// What a team may take when nothing fails any more: without a step of any task, and at most.
const (
	livenessQuiet = 2 * time.Minute
	livenessMost  = 5 * time.Minute
)

// A live is a team of scripted agents to which a fault happens: a project, a process of `liza run` that a person starts again
// when it was killed or has ended with an error, and the board as a person sees it.
type live struct {
	*testing.T
	kind      liveFault
	timing    string   // LIZA_TEST_TIMING of all processes
	dir, root string   // of everything; of the project
	small     string   // folder on a small file system, "" without one
	groups    []string // control groups of the team, made by makeGroups
	random    *rand.Rand
	server    *pgtest.Server // nil: the board is a file
	link      *link
	files     *store.File
	database  *postgres.Store
	decided   int // by a person

	runs    sync.WaitGroup
	mu      sync.Mutex
	changed *sync.Cond
	cmd     *exec.Cmd
	held    bool      // nobody starts the team now
	over    bool      // the test is
	done    bool      // the goal is complete, as the process says
	ended   []liveEnd // how processes ended that nobody killed
	begun   int
}

// liveEnd is how a process of `liza run` ended by itself.
type liveEnd struct {
	during bool // the fault was on
	code   int
	said   string // the last of it
}

// After a fault a team goes on: when the fault is over, within a bound the goal is complete, or a question is open, or
// the process has ended with an error that names the next command. It never waits for nobody. Without RUNS there is one run of
// each of ten kinds, always with the same seed; with it (make liveness) RUNS of all kinds, each with a seed of its own.
func TestATeamGoesOnAfterAFault(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if os.Getenv(livenessRuns) == "" {
		for _, k := range liveFaults {
			if k.short {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					aliveAfter(t, k, 1)
				})
			}
		}
		return
	}
	n, err := strconv.Atoi(os.Getenv(livenessRuns))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(livenessSeed), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(os.Getenv(livenessKinds))
	kinds := slices.DeleteFunc(slices.Clone(liveFaults), func(k liveFault) bool { return !only.MatchString(k.name) })
	for i := range n {
		k, seed := kinds[i%len(kinds)], seed+uint64(i)
		t.Run(fmt.Sprintf("%s %s=%d", k.name, livenessSeed, seed), func(t *testing.T) {
			t.Parallel()
			aliveAfter(t, k, seed)
		})
	}
}

// aliveAfter has one fault, or a second one of its kind, happen to a team at moments that follow from the seed.
func aliveAfter(t *testing.T, k liveFault, seed uint64) {
	l := newLive(t, k, seed)
	l.runs.Go(l.keepRunning)
	defer l.stop()
	if k.endures { // the start of a process may say that it cannot
		l.until("the team is ready", func(s *blackboard.State) bool { return len(s.Agents) == 3 })
	}
	faults := 1
	if os.Getenv(livenessRuns) != "" {
		faults += l.random.IntN(2)
	}
	for range faults {
		l.goesOn(l.random.IntN(12))
		lasts := k.least + time.Duration(l.random.Int64N(int64(k.most-k.least)+1))
		l.Logf("%s for %s", k.name, lasts.Round(time.Millisecond))
		l.set(func() { l.held = true })
		back := k.begin(l)
		<-time.After(lasts)
		back()
		l.set(func() { l.held = false })
		if t.Failed() {
			return
		}
	}
	over := time.Now()
	l.must("liza", "finalize", "last")
	l.awaitEnd()
	l.Logf("the goal is complete %s after the fault; %d processes of the team", time.Since(over).Round(time.Millisecond), l.begun)
	l.nothingIsLost()
}

const liveTasks = 4

const liveAgent = `# One line for each task, and a nod for each review.
cat >/dev/null
mode=$(cat %[1]q 2>/dev/null)
case $mode in
hang) sleep 6 ;;
crash) kill -9 $$ ;;
garbage) head -c 100000 /dev/urandom; exit 0 ;;
half) printf '{"action": "COMPL'; exit 0 ;;
esac
sleep 0.1
if [ "$LIZA_ROLE" = code_reviewer ]; then
  echo '{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "It is one line.", "review": {"status": "ok"}}'
  exit
fi
echo "a word of $LIZA_TASK_ID" >"$LIZA_TASK_ID.md"
git add -A && git commit -qm "Write $LIZA_TASK_ID"
echo "{\"action\": \"COMPLETED\", \"evidence_files\": [\"$LIZA_TASK_ID.md\"], \"summary_for_supervisor\": \"It has a word.\"}"
`

const liveConfig = `agents:
  default: words
  words: {command: [sh, %q]}
sandbox: %s
policy: {min_free_mb: 0}
review: {baseline: false}
git: {remote_timeout: 3}
protocol: {lease_duration: 30}
orchestration: {poll_interval_seconds: 2}
limits: {max_iterations: 1000, max_review_cycles: 1000}
`

func newLive(t *testing.T, k liveFault, seed uint64) *live {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "liza-live-") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	l := &live{T: t, kind: k, timing: "LIZA_TEST_TIMING=lock_timeout=2,lease_grace=1,heartbeat_interval=1,kill_grace=1," + noLimits, dir: dir, root: filepath.Join(dir, "words"), random: rand.New(rand.NewPCG(seed, 153))}
	l.changed = sync.NewCond(&l.mu)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s=%d, kind %q; everything is in %s", livenessSeed, seed, k.name, dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	for _, name := range []string{"home", "tmp", "run", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if k.small != "" {
		l.mountSmall()
	}
	if k.groups {
		l.makeGroups()
	}
	if err := install(lizaProgram(t), l.program()); err != nil {
		t.Fatal(err)
	}
	l.repository()
	init := []string{"liza", "init", "words"}
	if k.postgres {
		init = append(init, l.startDatabase()...)
	}
	l.must(init...)
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	l.update("limits", func(st *blackboard.State) {
		for _, key := range []string{"max_coder_iterations", "max_review_cycles"} {
			st.Config[key] = 1000
		}
		st.Config["lease_duration"] = 6 // so that faults of some seconds are longer
	})
	l.add("last", "--draft") // keeps the goal from being reached before the fault is over
	for i := range liveTasks {
		l.add(fmt.Sprintf("word-%d", i))
	}
	return l
}

func (l *live) program() string { return filepath.Join(l.dir, "bin", "liza") }

func (l *live) mode() string { return filepath.Join(l.dir, "mode") }

// repository makes the project, and for a board in PostgreSQL its remote.
func (l *live) repository() {
	l.Helper()
	agent, level := filepath.Join(l.dir, "agent.sh"), "{level: open}"
	if l.kind.groups {
		level = fmt.Sprintf("{level: closed, allow: {read: [%q]}}", agent)
	}
	for name, text := range map[string]string{agent: fmt.Sprintf(liveAgent, l.mode()), filepath.Join(l.root, "specs/vision.md"): "# Words\n",
		filepath.Join(l.root, ".liza/config.yaml"): fmt.Sprintf(liveConfig, agent, level)} {
		verbtest.Write(l.T, name, text)
	}
	l.must("git", "init", "-q", "-b", "main")
	l.must("git", "add", "-A")
	l.must("git", "commit", "-qm", "start")
	if l.kind.postgres {
		l.must("git", "init", "-q", "--bare", "-b", "main", filepath.Join(l.dir, "origin.git"))
		l.must("git", "remote", "add", "origin", filepath.Join(l.dir, "origin.git"))
		l.must("git", "push", "-q", "origin", "main")
	}
}

// startDatabase gives the options of init for a board behind a link.
func (l *live) startDatabase() []string {
	l.Helper()
	var err error
	l.server, err = pgtest.New()
	if errors.Is(err, pgtest.ErrNotHere) {
		l.Skip(err)
	}
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(l.server.Close)
	way := filepath.Join(l.dir, "way")
	if err := os.Mkdir(way, 0o755); err != nil {
		l.Fatal(err)
	}
	l.link = newLink(l.T, way, l.server.Dir())
	return []string{"--store", "postgres://liza@/postgres?host=" + url.QueryEscape(way)}
}

// open opens the board for the test: past the link, and without the programs of the team.
func (l *live) open() (err error) {
	if l.server == nil {
		l.files, err = store.Open(store.Options{Path: filepath.Join(l.root, ".liza", "state.yaml"), GitDir: filepath.Join(l.root, ".git"), Now: time.Now})
		return err
	}
	if l.database, err = postgres.Open(postgres.Options{URL: l.server.URL(), Board: "words"}); err == nil {
		l.Cleanup(l.database.Close)
	}
	return err
}

func (l *live) view() (*blackboard.State, error) {
	if l.database != nil {
		return l.database.View(l.Context())
	}
	return l.files.View(l.Context())
}

func (l *live) update(name string, change func(*blackboard.State)) {
	l.Helper()
	var board store.Store = l.database
	if l.database == nil {
		board = l.files
	}
	if err := board.Update(l.Context(), store.Op{Name: name}, func(st *blackboard.State) error { change(st); return nil }); err != nil {
		l.Fatal(err)
	}
}

func (l *live) mark() string { return filepath.Base(l.dir) }

// command is a process of a person at the project.
func (l *live) command(ctx context.Context, args ...string) *exec.Cmd {
	args = slices.Clone(args)
	if i := slices.Index(args, "liza"); i >= 0 && (i == 0 || args[i-1] == "--") {
		args[i] = l.program()
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = l.root
	home := filepath.Join(l.dir, "home")
	tmp := filepath.Join(l.dir, "tmp")
	if l.kind.small == smallTemp {
		tmp = l.small
	}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LIZA_") })
	cmd.Env = append(append(cmd.Env, faultyIdentity...), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+filepath.Join(l.dir, "run"), "TMPDIR="+tmp, "LIZA_HOST=north", l.timing,
		crashMark+"="+l.mark(), clockFile+"="+filepath.Join(l.dir, "clock"))
	return cmd
}

// must is what a person does when nothing fails.
func (l *live) must(args ...string) string {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), livenessQuiet)
	defer cancel()
	out, err := l.command(ctx, args...).CombinedOutput()
	if err != nil {
		l.Fatalf("%s: %v\n%s%s", args, err, out, l.report())
	}
	return string(out)
}

func (l *live) add(id string, more ...string) {
	l.Helper()
	l.must(append([]string{"liza", "add-task", "--id", id, "--desc", "Write " + id, "--spec", "specs/vision.md", "--done", id + ".md has a word", "--scope", id + ".md", "--type", "docs"}, more...)...)
}

func (l *live) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.changed.Broadcast()
}

// inGroups are the words before a command that enter the control groups of the team.
func (l *live) inGroups() []string {
	if l.groups == nil {
		return nil
	}
	return append(append([]string{"sh", "-c", `while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"`, "sh"}, l.groups...), "--")
}

// keepRunning starts the team, and again when it has ended before the goal is complete, but not while a fault is on.
func (l *live) keepRunning() {
	for {
		l.mu.Lock()
		for l.held && !l.over {
			l.changed.Wait()
		}
		if l.over {
			l.mu.Unlock()
			return
		}
		l.begun++
		file := filepath.Join(l.dir, fmt.Sprintf("run-%d.log", l.begun))
		out, err := os.Create(file)
		cmd := l.command(context.Background(), append(l.inGroups(), "liza", "run", "--plain", "--planners", "0", "--coders", "2", "--reviewers", "1")...)
		cmd.Stdout, cmd.Stderr = out, out
		if err == nil {
			err = cmd.Start()
		}
		l.cmd = cmd
		l.mu.Unlock()
		if err == nil {
			err = cmd.Wait()
			_ = out.Close()
		}
		exit := new(exec.ExitError)
		switch {
		case err == nil:
			l.set(func() { l.done = true })
			return
		case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		default:
			if s, err := l.view(); err == nil && s.Goal.Status == blackboard.Completed { // what was left did the others of the team
				l.set(func() { l.done = true })
				return
			}
			said, _ := os.ReadFile(file)
			l.set(func() {
				l.ended = append(l.ended, liveEnd{l.held, cmd.ProcessState.ExitCode(), lastLines(string(said), 4)})
			})
		}
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (l *live) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cmd != nil && l.cmd.Process != nil {
		_ = l.cmd.Process.Kill()
	}
}

// stop ends what is left.
func (l *live) stop() {
	l.set(func() { l.over = true })
	killMarked(l.mark())
	l.runs.Wait()
	killMarked(l.mark())
}

// steps is how far the tasks are, as a text that changes with each step of one.
func (l *live) steps() (string, *blackboard.State) {
	s, err := l.view()
	if err != nil {
		return "", nil
	}
	return stepsOf(s), s
}

func stepsOf(s *blackboard.State) string {
	var all []string
	for t := range s.Tasks() {
		all = append(all, fmt.Sprint(t.ID, t.Status, len(t.History)))
	}
	return strings.Join(all, " ")
}

// until waits for a board of which something holds.
func (l *live) until(what string, holds func(*blackboard.State) bool) {
	l.Helper()
	for end := time.Now().Add(livenessQuiet); ; <-time.After(20 * time.Millisecond) {
		if s, err := l.view(); err == nil {
			if holds(s) {
				return
			}
			l.decide(s)
		}
		if time.Now().After(end) {
			l.Fatalf("never: %s%s", what, l.report())
		}
	}
}

// goesOn waits for so many steps.
func (l *live) goesOn(n int) {
	l.Helper()
	for range n {
		last, _ := l.steps()
		l.until("a step of a task", func(s *blackboard.State) bool { return stepsOf(s) != last || allMerged(s) })
	}
}

// allMerged reports whether there is nothing left but the draft.
func allMerged(s *blackboard.State) bool {
	for t := range s.Tasks() {
		if t.Status != blackboard.Merged && t.Status != blackboard.Draft {
			return false
		}
	}
	return true
}

var (
	nextCommand = regexp.MustCompile(`(?m)^next: .`)
	lacking     = regexp.MustCompile(`(?i)no space left on device|disk quota exceeded|read-only file system|the file system of .* (is full|has no inode left)`)
	helpsLack   = regexp.MustCompile(`(?m)^next: (df -[hi] /|mount$)`)
)

// awaitEnd waits for the goal, answers what is asked, and looks at how processes of the team ended meanwhile.
func (l *live) awaitEnd() {
	l.Helper()
	began := time.Now()
	last, since := "", began
	for {
		l.mu.Lock()
		done, ended := l.done, slices.Clone(l.ended)
		l.mu.Unlock()
		after := 0
		for _, e := range ended {
			if !nextCommand.MatchString(e.said) {
				l.Fatalf("the team ended with exit code %d, and names no next command:\n%s%s", e.code, e.said, l.report())
			}
			if lacking.MatchString(e.said) && !helpsLack.MatchString(e.said) {
				l.Fatalf("the team ended with exit code %d, and does not name what shows what its file system lacks:\n%s%s", e.code, e.said, l.report())
			}
			if !e.during {
				after++
			}
		}
		now, s := l.steps()
		if now != last && s != nil {
			last, since = now, time.Now()
		}
		switch {
		case done:
			for _, e := range ended {
				l.Logf("a process of the team ended: exit code %d\n%s", e.code, e.said)
			}
			if l.kind.endures && len(ended) > 0 {
				l.Errorf("the team must go on by itself, and has ended%s", l.report())
			}
			return
		case after > 3:
			l.Fatalf("the team has ended %d times, the last time:\n%s%s", after, ended[len(ended)-1].said, l.report())
		case time.Since(since) > livenessQuiet:
			l.Fatalf("the team waits for nobody: no task has gone a step for %s%s", livenessQuiet, l.report())
		case time.Since(began) > livenessMost:
			l.Fatalf("the goal is not complete after %s%s", livenessMost, l.report())
		}
		if s != nil {
			l.decide(s)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// decide is what a person does about what waits for one.
func (l *live) decide(s *blackboard.State) {
	l.Helper()
	for _, q := range s.Questions {
		if q.Status == "open" {
			l.Logf("a question: %s", q.Text)
			l.decided++
			l.must("liza", "answer", q.ID, "go on")
		}
	}
	for t := range s.Tasks() {
		if t.Hold != nil && t.Hold.By == blackboard.System {
			l.Logf("%s is on hold: %s", t.ID, t.Hold.Reason)
			l.decided++
			l.must("liza", "resume", t.ID)
		}
	}
	if l.decided > 5*liveTasks {
		l.Fatalf("it asks again and again%s", l.report())
	}
}

// report is what a person would look at.
func (l *live) report() string {
	var b strings.Builder
	logs, _ := filepath.Glob(filepath.Join(l.dir, "run-*.log"))
	slices.SortFunc(logs, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	for _, file := range logs[max(0, len(logs)-2):] {
		said, _ := os.ReadFile(file)
		fmt.Fprintf(&b, "\n--- the last of %s:\n%s", filepath.Base(file), lastLines(string(said), 30))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, args := range [][]string{{"liza", "status"}, {"liza", "validate"}} {
		out, err := l.command(ctx, args...).CombinedOutput()
		fmt.Fprintf(&b, "\n--- %s (%v):\n%s", args, err, out)
	}
	return b.String()
}

// nothingIsLost looks at everything when all is over.
func (l *live) nothingIsLost() {
	l.Helper()
	s, err := l.view()
	if err != nil {
		l.Fatal(err)
	}
	want := map[string]int{}
	for t := range s.Tasks() {
		want[t.ID] = 1
		if t.Status != blackboard.Merged {
			l.Errorf("%s is %s", t.ID, t.Status)
		}
		if text := l.must("git", "show", "integration:"+t.ID+".md"); text != "a word of "+t.ID+"\n" {
			l.Errorf("the branch has %q of %s", text, t.ID)
		}
	}
	if len(want) != liveTasks+1 {
		l.Errorf("the board has %d tasks, want %d", len(want), liveTasks+1)
	}
	merged := map[string]int{}
	for _, id := range strings.Fields(l.must("git", "log", "--first-parent", "--format=%(trailers:key=Liza-Task,valueonly)", "integration")) {
		merged[id]++
	}
	if !maps.Equal(merged, want) {
		l.Errorf("merged on the branch are %v, want each task once", merged)
	}
	l.must("git", "fsck", "--strict", "--no-dangling")
	l.must("liza", "validate")
	for until := time.Now().Add(time.Minute); len(marked(l.mark())) > 0; <-time.After(50 * time.Millisecond) {
		if time.Now().After(until) {
			l.Errorf("processes %v are left", marked(l.mark()))
			return
		}
	}
}

func TestASteppedClockMovesTheDayAndNotWhatWasMeasured(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, off := range []time.Duration{24 * time.Hour, -24 * time.Hour, 0} {
		now := stepped(began, off)
		if now.Sub(began) != 0 || !now.Round(0).Equal(began.Round(0).Add(off)) {
			t.Errorf("stepped by %s: %s is %s after %s", off, now, now.Sub(began), began)
		}
	}
}
