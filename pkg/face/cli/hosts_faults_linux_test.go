package cli_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres"
	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/verb/verb/verbtest"
)

const (
	faultsCount = "FAULTS"      // how many
	faultsSeed  = "FAULTS_SEED" // replays a choice of faults
)

// A fault happens to a host, or to what all of them use, and is over when it returns.
type fault struct {
	name string
	long bool // it takes longer than a test of CI may
	do   func(f *faulty, h *faultyHost)
}

var faults = []fault{
	{"kill -9 of a supervisor", false, func(f *faulty, h *faultyHost) { h.kill() }},
	{"kill -9 of a host", false, func(f *faulty, h *faultyHost) { killMarked(h.mark()) }},
	{"kill -9 of a backend", false, func(f *faulty, _ *faultyHost) { f.killBackend() }},
	{"fast restart of PostgreSQL", false, func(f *faulty, _ *faultyHost) { f.restart(syscall.SIGINT) }},
	{"immediate restart of PostgreSQL", false, func(f *faulty, _ *faultyHost) { f.restart(syscall.SIGQUIT) }},
	{"link cut for 1 s", false, func(f *faulty, h *faultyHost) { f.cutLink(h, time.Second) }},
	{"answers 300 ms late", false, func(f *faulty, h *faultyHost) { h.link.set(slow); f.wait(3 * time.Second); h.link.set(through) }},
	{"remote refuses", false, func(f *faulty, _ *faultyHost) { f.hook("echo not now; exit 1", 2*time.Second) }},
	{"remote hangs", false, func(f *faulty, _ *faultyHost) { f.hook("sleep 5", 4*time.Second) }},
	{"clock off by an hour", false, func(f *faulty, h *faultyHost) { h.clock(f.random.IntN(2)); h.kill() }},
	{"link cut for 20 s", true, func(f *faulty, h *faultyHost) { f.cutLink(h, 20*time.Second) }},
	{"link cut for longer than the lease", true, func(f *faulty, h *faultyHost) { f.cutLink(h, 45*time.Second) }},
}

// faulty is a board in PostgreSQL with three hosts to which faults happen. Their choice follows from the seed.
type faulty struct {
	timing string // more of LIZA_TEST_TIMING, with a comma behind it
	*testing.T
	dir    string
	server *pgtest.Server
	board  *postgres.Store // without a link of its own
	hosts  []*faultyHost
	random *rand.Rand
	tasks  int
	long   bool          // cuts of links, and runs that outlast them
	over   chan struct{} // faults and work
	runs   sync.WaitGroup
}

// faultyHost is a clone with a home, and a process of `liza run` that is started whenever it has ended.
type faultyHost struct {
	f    *faulty
	name string
	link *link

	mu    sync.Mutex
	off   int // hours
	cmd   *exec.Cmd
	ended []string // how processes ended that nobody killed, before all was over
}

// FAULTS faults while three hosts work (make hosts-faults): nothing is lost, nothing doubled, no program of an agent goes on
// without a lease. With 12 or fewer there are nine tasks and no long cuts of links. Without FAULTS there are five of these
// faults, others in each run.
func TestFaultsOnThreeHostsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	n, err := strconv.Atoi(cmp.Or(os.Getenv(faultsCount), "5"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(faultsSeed), strconv.FormatInt(time.Now().UnixNano(), 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s=%d %s=%d", faultsCount, n, faultsSeed, seed)
	f := newFaulty(t, rand.New(rand.NewPCG(seed, 15)), "north", "south", "west")
	f.long = n > 12
	f.add(map[bool]int{false: 9, true: 120}[f.long])
	var order []fault
	for _, k := range faults {
		if f.long || !k.long {
			order = append(order, k)
		}
	}
	for _, h := range f.hosts {
		f.runs.Go(h.keepRunning)
	}
	defer f.stop()
	watched, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { f.watchLeases(watched) })
	defer watching.Wait()
	defer stop()
	counts := map[string]int{}
	for i := range n {
		if i%len(order) == 0 { // each of them, and in another order each time
			f.random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		}
		f.goesOn(3 + f.random.IntN(15))
		k, h := order[i%len(order)], f.hosts[f.random.IntN(len(f.hosts))]
		t.Logf("fault %d: %s, host %s", i+1, k.name, h.name)
		k.do(f, h)
		counts[k.name]++
		if t.Failed() {
			break
		}
	}
	t.Logf("faults: %v", counts)
	f.finish()
	stop()
	watching.Wait()
	f.nothingIsLost()
}

func newFaulty(t *testing.T, random *rand.Rand, hosts ...string) *faulty {
	t.Helper()
	server, err := pgtest.New()
	if errors.Is(err, pgtest.ErrNotHere) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	dir, err := os.MkdirTemp("/tmp", "liza-faults-") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{T: t, dir: dir, server: server, random: random, over: make(chan struct{})}
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
			return
		}
		for _, h := range f.hosts {
			out, _ := os.ReadFile(filepath.Join(dir, h.name+".log"))
			t.Logf("what host %s said, the end of it:\n%s", h.name, out[max(0, len(out)-4000):])
		}
		t.Logf("everything is in %s", dir)
	})
	f.repository()
	for _, name := range hosts {
		f.hosts = append(f.hosts, f.join(name))
	}
	f.board, err = postgres.Open(postgres.Options{URL: server.URL(), Board: "words"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.board.Close)
	return f
}

const faultyAgent = `# One line for each task, and a nod for each review. Some take their time.
cat >/dev/null
case $LIZA_TASK_ID in *7) sleep ${LONG_RUN:-2} ;; *3) sleep 1 ;; esac
if [ "$LIZA_ROLE" = code_reviewer ]; then
  echo '{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "It is one line.", "review": {"status": "ok"}}'
  exit
fi
echo "a word of $LIZA_TASK_ID" >"$LIZA_TASK_ID.md"
git add -A && git commit -qm "Write $LIZA_TASK_ID"
echo "{\"action\": \"COMPLETED\", \"evidence_files\": [\"$LIZA_TASK_ID.md\"], \"summary_for_supervisor\": \"It has a word.\"}"
`

// noLimits puts those limits out of reach that are no settings: being killed is not a fault of a task.
const noLimits = "max_review_retries=1000,max_agent_runs=1000"

const faultyConfig = `agents:
  default: words
  words: {command: [sh, "{{.Worktree}}/agent.sh"]}
sandbox: {level: open}
review: {baseline: false}
git: {remote_timeout: 3}
protocol: {lease_duration: 30}
limits: {max_iterations: 1000, max_review_cycles: 1000}
`

// repository makes the remote and the first clone.
func (f *faulty) repository() {
	f.Helper()
	north := filepath.Join(f.dir, "north")
	for name, text := range map[string]string{"specs/vision.md": "# Words\n", "agent.sh": faultyAgent, ".liza/config.yaml": faultyConfig} {
		verbtest.Write(f.T, filepath.Join(north, name), text)
	}
	f.git("", "init", "-q", "--bare", "-b", "main", filepath.Join(f.dir, "origin.git"))
	f.git(north, "init", "-q", "-b", "main")
	f.git(north, "add", "-A")
	f.git(north, "commit", "-qm", "start")
	f.git(north, "remote", "add", "origin", filepath.Join(f.dir, "origin.git"))
	f.git(north, "push", "-q", "origin", "main")
}

func (f *faulty) git(dir string, args ...string) string {
	f.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), faultyIdentity...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %s: %v: %s", args, err, out)
	}
	return string(out)
}

var faultyIdentity = []string{"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}

// join makes a host; the first one makes the board.
func (f *faulty) join(name string) *faultyHost {
	f.Helper()
	way := filepath.Join(f.dir, "way-"+name)
	for _, dir := range []string{way, filepath.Join(f.dir, "home-"+name)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			f.Fatal(err)
		}
	}
	h := &faultyHost{f: f, name: name, link: newLink(f.T, way, f.server.Dir())}
	at := "?host=" + url.QueryEscape(way)
	if len(f.hosts) == 0 {
		h.must("liza", "init", "words", "--store", "postgres://liza@/postgres"+at)
		return h
	}
	f.git(f.dir, "clone", "-q", filepath.Join(f.dir, "origin.git"), name)
	key := filepath.Join(f.dir, "key-"+name)
	f.hosts[0].must("liza", "store", "key", key)
	h.must("liza", "init", "--join", "postgres://liza@/postgres/words"+at, "--key", key)
	return h
}

func (h *faultyHost) mark() string { return filepath.Base(h.f.dir) + "-" + h.name }

// command is a process on the host.
func (h *faultyHost) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(h.f.dir, h.name)
	home := filepath.Join(h.f.dir, "home-"+h.name)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LIZA_") })
	cmd.Env = append(append(cmd.Env, faultyIdentity...), "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+home, "LIZA_HOST="+h.name,
		"LIZA_TEST_TIMING=lease_grace=2,heartbeat_interval=3,"+h.f.timing+noLimits,
		crashMark+"="+h.mark(), "LONG_RUN="+map[bool]string{false: "2", true: "55"}[h.f.long])
	return cmd
}

func (h *faultyHost) must(args ...string) string {
	h.f.Helper()
	out, err := h.command(h.f.Context(), args...).CombinedOutput()
	if err != nil {
		h.f.Fatalf("%s on host %s: %v\n%s", args, h.name, err, out)
	}
	return string(out)
}

// add puts tasks on the board. A draft keeps the goal from being reached before the faults are over.
func (f *faulty) add(n int) {
	f.Helper()
	task := func(id string) []string {
		return []string{"--id", id, "--desc", "Write " + id, "--spec", "specs/vision.md", "--done", id + ".md has a word", "--scope", id + ".md", "--type", "docs"}
	}
	h := f.hosts[0]
	if f.tasks == 0 {
		h.must(append([]string{"liza", "add-task", "--draft"}, task("last")...)...)
		f.setLimits()
	}
	h.must(append([]string{"repeat", strconv.Itoa(n), "liza", "add-task"}, task(fmt.Sprintf("word-%d-%%n", f.tasks))...)...)
	f.tasks += n
}

// setLimits puts limits out of reach: being killed is not a fault of a task.
func (f *faulty) setLimits() {
	err := f.board.Update(f.Context(), store.Op{Name: "limits"}, func(st *blackboard.State) error {
		for _, key := range []string{"max_coder_iterations", "max_review_cycles"} {
			st.Config[key] = 1000
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// keepRunning has `liza run` run until all is over.
func (h *faultyHost) keepRunning() {
	for {
		h.mu.Lock()
		cmd := h.command(context.Background(), "liza", "run", "--plain", "--planners", "0", "--coders", "4", "--reviewers", "2")
		cmd.Env = append(cmd.Env, clockMark+"="+strconv.Itoa(h.off))
		file := filepath.Join(h.f.dir, h.name+".log")
		out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			h.f.Error(err)
			h.mu.Unlock()
			return
		}
		cmd.Stdout, cmd.Stderr = out, out
		err = cmd.Start()
		h.cmd = cmd
		h.mu.Unlock()
		if err == nil {
			err = cmd.Wait()
		}
		_ = out.Close()
		h.mu.Lock()
		if exit := new(exec.ExitError); err != nil && !(errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()) {
			h.ended = append(h.ended, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
		}
		h.mu.Unlock()
		select {
		case <-h.f.over:
			return
		case <-time.After(time.Second):
		}
	}
}

// stop ends what is left when the test has failed.
func (f *faulty) stop() {
	select {
	case <-f.over:
		return
	default:
	}
	close(f.over)
	for _, h := range f.hosts {
		killMarked(h.mark())
	}
	f.runs.Wait()
	for _, h := range f.hosts {
		killMarked(h.mark())
	}
}

func (h *faultyHost) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil && h.cmd.Process != nil {
		_ = h.cmd.Process.Kill()
	}
}

// clock sets the clock of the host's next process.
// clock puts the clock of a host off by an hour, or from there back or off to the other side: it never stays as it is.
func (h *faultyHost) clock(choice int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	others := slices.DeleteFunc([]int{-1, 0, 1}, func(off int) bool { return off == h.off })
	h.off = others[choice]
}

func (f *faulty) wait(d time.Duration) { <-time.After(d) }

func (f *faulty) cutLink(h *faultyHost, d time.Duration) {
	h.link.set([]linkMode{cut, silent}[f.random.IntN(2)])
	f.wait(d)
	h.link.set(through)
}

func (f *faulty) restart(signal syscall.Signal) {
	f.server.Stop(signal)
	if err := f.server.Start(); err != nil {
		f.Fatal(err)
	}
}

func (f *faulty) killBackend() {
	conn, err := pgx.Connect(f.Context(), f.server.URL())
	if err != nil {
		f.Fatal(err)
	}
	var pid int
	err = conn.QueryRow(f.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'liza' ORDER BY random() LIMIT 1").Scan(&pid)
	_ = conn.Close(f.Context())
	if err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// hook is what the remote does with each push for a while. A push that hangs may go on after nobody waits for it.
func (f *faulty) hook(script string, d time.Duration) {
	path := filepath.Join(f.dir, "origin.git", "hooks", "pre-receive")
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(temp, path); err != nil {
		f.Fatal(err)
	}
	f.wait(d)
	if err := os.Remove(path); err != nil {
		f.Fatal(err)
	}
}
