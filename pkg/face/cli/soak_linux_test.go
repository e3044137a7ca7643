package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb/verbtest"
)

const (
	soakTasks = "SOAK_TASKS" // how many are merged (make soak); without it the short form
	soakLevel = "SOAK_LEVEL" // of the sandbox: open or closed
	soakBoard = "SOAK_BOARD" // file or postgres

	countsFile = "SOAK_COUNTS" // where a program writes what it has at SIGUSR1
	soakSlots  = 40            // files of the project, and most open tasks
)

const soakAgent = `#!/bin/sh
if [ "$LIZA_ROLE" = coder ]; then
  echo "a word of $LIZA_TASK_ID" >"${LIZA_TASK_ID##*-}.md"
  git add -A && git -c user.name=Test -c user.email=test@localhost commit -q -m Work || exit 1
else
  review=',"review":{"status":"ok"}'
fi
echo '{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"done"'"$review"'}'
`

const soakConfig = `agents:
  default: words
  words: {command: [sh, %q], prompt: stdin, output: text}
sandbox: {level: %s}
policy: {min_free_mb: 0}
review: {baseline: false}
limits: {max_iterations: 1000, max_review_cycles: 1000}
`

// A soak is one team that merges many small tasks, and what it has after each batch of them.
type soak struct {
	*live
	ids     []string
	cmd     *exec.Cmd
	ended   chan error
	samples []soaked
}

// soaked is what the team has when it rests. The figures of memory are those after a collection.
type soaked struct {
	tasks int
	have  [len(soakFigures)]float64
}

// A soakFigure has the greatest slope per 1,000 tasks that is not taken for growth, and for the short form how much more than after the second
// batch a team may have at its end: what a pool may take. Go keeps threads that waited for the system once, more of them on a busy machine.
type soakFigure struct {
	name      string
	tolerance float64 // 0: it is meant to grow
	most      float64
}

const (
	soakRSS = iota
	soakPeak
	soakHeap
	soakGoroutines
	soakFiles
	soakThreads
	soakProcesses
	soakTemp
	soakRun
	soakGroups
	soakSeconds
	soakLiza
	soakGit
)

var soakFigures = [...]soakFigure{
	soakRSS:        {name: "resident memory, MB", tolerance: 16},
	soakPeak:       {name: "most of it in a batch, MB", tolerance: 16},
	soakHeap:       {name: "heap, MB", tolerance: 8},
	soakGoroutines: {name: "goroutines", tolerance: 1, most: 8},
	soakFiles:      {name: "open files", tolerance: 1, most: 8},
	soakThreads:    {name: "threads", tolerance: 8, most: 60},
	soakProcesses:  {name: "processes", tolerance: 0.5, most: 1},
	soakTemp:       {name: "files in TMPDIR", tolerance: 0.5, most: 1},
	soakRun:        {name: "files in XDG_RUNTIME_DIR", tolerance: 0.5, most: 1},
	soakGroups:     {name: "control groups", tolerance: 0.5},
	soakSeconds:    {name: "seconds per task", tolerance: 0.1},
	soakLiza:       {name: ".liza, kB"},
	soakGit:        {name: ".git, kB"},
}

// A team that goes on merging needs no more for it, but what is meant to grow: objects of git, journal and archive. The short form merges 50
// tasks and looks at what a rest of the team has after the second batch and at the end; the long one (make soak) has slopes.
func TestATeamThatGoesOnMergingDoesNotGrow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	n, batch, upkeep := 50, 10, 2
	if text := os.Getenv(soakTasks); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		batch, upkeep = min(max(n/25, 10), soakSlots), 5
	}
	s := newSoak(t)
	defer s.stop()
	s.start()
	for i := 0; len(s.ids) < n; i++ {
		began, first := time.Now(), len(s.ids)
		for len(s.ids) < min(first+batch, n) {
			id := fmt.Sprintf("t%05d-%d", len(s.ids), len(s.ids)%soakSlots)
			s.must("liza", "add-task", "--id", id, "--desc", "Write "+id, "--spec", "specs/vision.md", "--done", "it has a word", "--scope", fmt.Sprint(len(s.ids)%soakSlots, ".md"), "--type", "docs")
			s.ids = append(s.ids, id)
		}
		s.merged()
		took := time.Since(began).Seconds() / float64(len(s.ids)-first)
		if i%upkeep == upkeep-1 {
			s.must("liza", "gc", "--older", "0s")
			s.must("liza", "gc")
		}
		got := s.sample(took)
		s.samples = append(s.samples, got)
		t.Log(got)
	}
	if os.Getenv(soakTasks) == "" {
		s.noMore(s.samples[1])
	} else {
		s.slopes()
	}
	s.finish()
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{live: newLive(t, liveFault{name: "soak", postgres: os.Getenv(soakBoard) == "postgres"}, 1), ended: make(chan error, 1)}
	s.timing = "LIZA_TEST_TIMING=heartbeat_interval=10," + noLimits
	agent := filepath.Join(s.root, ".git", "agent.sh")
	verbtest.Write(t, agent, soakAgent)
	verbtest.Write(t, filepath.Join(s.root, ".liza", "config.yaml"), fmt.Sprintf(soakConfig, agent, cmp.Or(os.Getenv(soakLevel), "open")))
	for i := range liveTasks {
		s.must("liza", "abandon", fmt.Sprintf("word-%d", i), "--reason", "not of the soak")
	}
	s.update("time", func(st *blackboard.State) { st.Config["lease_duration"] = 600 })
	return s
}

func (s *soak) counts() string { return filepath.Join(s.dir, "counts") }

func (s *soak) start() {
	s.Helper()
	out, err := os.Create(filepath.Join(s.dir, "run-1.log"))
	if err != nil {
		s.Fatal(err)
	}
	defer out.Close()
	s.cmd = s.command(context.Background(), "liza", "run", "--plain", "--planners", "0", "--coders", "4", "--reviewers", "2")
	s.cmd.Env = append(s.cmd.Env, countsFile+"="+s.counts())
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := s.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.runs.Go(func() { s.ended <- s.cmd.Wait() })
}

// await waits until something holds, while the team runs; what it waits for may take as long as it goes on.
func (s *soak) await(what string, holds func() (ok bool, far string)) {
	s.Helper()
	last, since := "", time.Now()
	for {
		ok, far := holds()
		if ok {
			return
		}
		if far != last {
			last, since = far, time.Now()
		}
		if time.Since(since) > livenessQuiet {
			s.Fatalf("never: %s\n%s%s", what, far, s.report())
		}
		select {
		case err := <-s.ended:
			s.Fatalf("the team has ended while it waits for this: %s: %v%s", what, err, s.report())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *soak) merged() {
	s.Helper()
	s.await("all tasks are merged", func() (bool, string) {
		st, err := s.view()
		if err != nil {
			return false, err.Error()
		}
		s.decide(st)
		for t := range st.Tasks() {
			if !t.Status.Terminal() && t.Status != blackboard.Draft {
				return false, stepsOf(st)
			}
		}
		return true, ""
	})
}

// sample is what the team has when three looks in a row find the same number of processes, goroutines, open files and files, or after a minute.
func (s *soak) sample(seconds float64) soaked {
	s.Helper()
	var got soaked
	still := [...]int{soakProcesses, soakFiles, soakTemp, soakRun, soakGoroutines}
	last, same, began := "", 0, time.Now()
	s.await("the team rests", func() (bool, string) {
		now := s.look()
		seen := ""
		for _, n := range still {
			seen += fmt.Sprint(now.have[n], " ")
		}
		if same++; seen != last {
			same = 1
		}
		if last != "" {
			for _, n := range []int{soakRSS, soakHeap} { // a look may come upon work
				now.have[n] = min(now.have[n], got.have[n])
			}
		}
		got, last = now, seen
		return same == 3 || time.Since(began) > time.Minute, ""
	})
	got.have[soakSeconds], got.have[soakPeak] = seconds, s.peak()
	return got
}

// look has one look.
func (s *soak) look() soaked {
	s.Helper()
	got := soaked{tasks: len(s.ids)}
	got.have[soakGoroutines], got.have[soakHeap] = s.counted()
	for _, pid := range marked(s.mark()) {
		got.have[soakProcesses]++
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		files, _ := os.ReadDir(filepath.Join(proc, "fd"))
		threads, _ := os.ReadDir(filepath.Join(proc, "task"))
		got.have[soakFiles] += float64(len(files))
		got.have[soakThreads] += float64(len(threads))
		if text, err := os.ReadFile(filepath.Join(proc, "statm")); err == nil {
			if f := strings.Fields(string(text)); len(f) > 1 {
				pages, _ := strconv.Atoi(f[1])
				got.have[soakRSS] += float64(pages*os.Getpagesize()) / 1e6
			}
		}
	}
	got.have[soakTemp], _ = within(filepath.Join(s.dir, "tmp"))
	got.have[soakRun], _ = within(filepath.Join(s.dir, "run"))
	_, got.have[soakLiza] = within(filepath.Join(s.root, ".liza"))
	_, got.have[soakGit] = within(filepath.Join(s.root, ".git"))
	got.have[soakGroups] = controlGroups()
	return got
}

// peak is the most memory that the team's process had since it was asked last, in megabytes.
func (s *soak) peak() (most float64) {
	s.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid))
	text, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		s.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("VmHWM:"))
	if _, err = fmt.Sscan(string(text), &most); err == nil {
		err = os.WriteFile(filepath.Join(proc, "clear_refs"), []byte("5"), 0) // VmHWM begins again
	}
	if err != nil {
		s.Fatal(err)
	}
	return most * 1024 / 1e6
}

// within is how many files and folders there are below dir, and their kilobytes.
func within(dir string) (files, kilobytes float64) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return nil // gone meanwhile
		}
		files++
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			kilobytes += float64(info.Size()) / 1000
		}
		return nil
	})
	return files, kilobytes
}

// controlGroups are those of Liza on this machine, also of others; only the long form looks at their slope.
func controlGroups() (n float64) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), "liza-") {
			n++
		}
		return nil
	})
	return n
}

// counted asks the team's process for its goroutines and, after a collection, its heap in megabytes.
func (s *soak) counted() (goroutines, heap float64) {
	s.Helper()
	if err := os.Remove(s.counts()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		s.Fatal(err)
	}
	s.await("the process counts what it has", func() (bool, string) {
		text, err := os.ReadFile(s.counts())
		if err != nil {
			return false, ""
		}
		_, err = fmt.Sscan(string(text), &goroutines, &heap)
		return err == nil, ""
	})
	return goroutines, heap
}

func init() {
	if file := os.Getenv(countsFile); file != "" {
		runtime.MemProfileRate = 0 // as in the real program, which has no profiles: their table grows with each new stack
		countWhenAsked(file)
	}
}

// countWhenAsked has a program of the tests write what it has to the file whenever it gets SIGUSR1.
func countWhenAsked(file string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			_ = safefile.Replace(file, fmt.Appendln(nil, runtime.NumGoroutine(), float64(m.HeapAlloc)/1e6), 0o600)
		}
	}()
}

func (g soaked) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks:", g.tasks)
	for i, f := range soakFigures {
		fmt.Fprintf(&b, " %.4g %s;", g.have[i], f.name)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// noMore waits until the resting team has no more than it had, but for what pools may take.
func (s *soak) noMore(had soaked) {
	s.Helper()
	for until := time.Now().Add(livenessQuiet); ; <-time.After(50 * time.Millisecond) {
		now := s.look()
		var more []string
		for i, f := range soakFigures {
			if f.most > 0 && now.have[i] > had.have[i]+f.most {
				more = append(more, fmt.Sprintf("%g %s, and %g after the second batch", now.have[i], f.name, had.have[i]))
			}
		}
		if more == nil {
			return
		}
		if time.Now().After(until) {
			s.Fatalf("the team grows: %s%s", strings.Join(more, "; "), s.report())
		}
	}
}

// slopes prints the growth per 1,000 tasks, and fails for what is not meant to grow.
func (s *soak) slopes() {
	s.Helper()
	kept := s.samples[(len(s.samples)+9)/10:]
	var b strings.Builder
	fmt.Fprintf(&b, "\n| figure | first | last | slope per 1,000 tasks | 95 %% interval | tolerance |\n|---|---|---|---|---|---|\n")
	for i, f := range soakFigures {
		var x, y []float64
		for _, g := range kept {
			x, y = append(x, float64(g.tasks)/1000), append(y, g.have[i])
		}
		slope, half := leastSquares(x, y)
		tolerance := fmt.Sprint(f.tolerance)
		if f.tolerance == 0 {
			tolerance = fmt.Sprintf("%.0f bytes per task are meant to be added", slope)
		}
		fmt.Fprintf(&b, "| %s | %.4g | %.4g | %.3g | %.3g to %.3g | %s |\n", f.name, y[0], y[len(y)-1], slope, slope-half, slope+half, tolerance)
		if f.tolerance > 0 && slope-half > f.tolerance {
			s.Errorf("%s grow by %.3g to %.3g per 1,000 tasks", f.name, slope-half, slope+half)
		}
	}
	s.Log(b.String())
}

// leastSquares is the slope of the line through the points, and half of its 95 % interval (Student's t, by the expansion of
// Cornish and Fisher).
func leastSquares(x, y []float64) (slope, half float64) {
	n := float64(len(x))
	var mx, my, sxx, sxy, rest float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		sxx, sxy = sxx+(x[i]-mx)*(x[i]-mx), sxy+(x[i]-mx)*(y[i]-my)
	}
	slope = sxy / sxx
	for i := range x {
		d := y[i] - my - slope*(x[i]-mx)
		rest += d * d
	}
	const z = 1.959964
	df := n - 2
	t := z + (z*z*z+z)/(4*df) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*df*df)
	half = t * math.Sqrt(rest/df/sxx)
	return math.Round(slope*1e9)/1e9 + 0, math.Round(half*1e9)/1e9 + 0 // a line without a slope has one of -1e-29
}

func TestTheSlopeOfALineAndItsInterval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		y           []float64
		slope, half float64
	}{
		{[]float64{5, 5, 5, 5, 5, 5}, 0, 0},
		{[]float64{1, 3, 5, 7, 9, 11}, 2, 0},
		{[]float64{1, 4, 4, 8, 9, 11}, 1.9714, 0.557}, // t of 4 degrees of freedom: 2.776
	} {
		slope, half := leastSquares([]float64{0, 1, 2, 3, 4, 5}, tt.y)
		if math.Abs(slope-tt.slope) > 0.001 || math.Abs(half-tt.half) > 0.02 {
			t.Errorf("%v: slope %.4f ± %.4f, want %.4f ± %.4f", tt.y, slope, half, tt.slope, tt.half)
		}
	}
}

// finish lets the goal be reached: each task was merged once, and nothing of the team is left.
func (s *soak) finish() {
	s.Helper()
	s.must("liza", "finalize", "last")
	select {
	case err := <-s.ended:
		if err != nil {
			s.Fatalf("the team has ended: %v%s", err, s.report())
		}
	case <-time.After(livenessMost):
		s.Fatalf("the goal is not complete after %s%s", livenessMost, s.report())
	}
	onBranch := strings.Fields(s.must("git", "log", "--first-parent", "--format=%(trailers:key=Liza-Task,valueonly)", "integration"))
	slices.Sort(onBranch)
	if want := append([]string{"last"}, s.ids...); !slices.Equal(onBranch, want) {
		s.Errorf("merged on the branch are %v, want each task once", onBranch)
	}
	s.must("git", "fsck", "--strict", "--no-dangling")
	s.must("liza", "validate")
	for until := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		left := marked(s.mark())
		temp, _ := within(filepath.Join(s.dir, "tmp"))
		runs, _ := within(filepath.Join(s.dir, "run", fmt.Sprint("liza-", os.Getuid())))
		if len(left) == 0 && temp+runs == 0 {
			return
		}
		if time.Now().After(until) {
			s.Errorf("processes %v, %v files in TMPDIR and %v folders of runs are left", left, temp, runs)
			return
		}
	}
}
