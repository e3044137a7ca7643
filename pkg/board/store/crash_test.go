package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"liza/pkg/base/norace"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
)

// These tests start the test binary as writers, in processes that can be killed.

const (
	writerMark = "STORE_TEST_WRITER" // folder of the project
	countMark  = "STORE_TEST_COUNT"  // how many notes; 0: without end
	pointMark  = "STORE_TEST_POINT"  // "W6": kill yourself there
	mixMark    = "STORE_TEST_MIX"    // number of a writer that changes everything
	fullMark   = "STORE_TEST_FULL"   // run the long forms
	failMark   = "STORE_TEST_FAIL"   // the number of the call that fails; 0: list the calls
	workMark   = "STORE_TEST_WORK"   // do that work, not changes
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(tracerMark); dir != "" {
		run := trace
		if os.Getenv(failMark) != "" {
			run = failing
		}
		if err := run(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(writerMark); dir != "" {
		if err := writeNotes(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(norace.Run(m))
}

// writeNotes is what a writing process does.
func writeNotes(dir string) error {
	count, _ := strconv.Atoi(os.Getenv(countMark))
	f, err := store.Open(store.Options{
		Path: filepath.Join(dir, ".liza", "state.yaml"), GitDir: filepath.Join(dir, ".git"), Now: time.Now, LockTimeout: time.Minute,
		At: func(point string) {
			if point == os.Getenv(pointMark) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		return err
	}
	if name := os.Getenv(workMark); name != "" {
		return works[name].do(f)
	}
	change := numberedNote
	if n, err := strconv.Atoi(os.Getenv(mixMark)); err == nil {
		change = mixedChange(n)
	}
	for i := 0; count == 0 || i < count; i++ {
		if err := f.Update(context.Background(), op, change); err != nil {
			return err
		}
		fmt.Println("written")
	}
	return nil
}

// numberedNote adds a note that is named after the revision that it will have, and
// changes a task, so that a state reports whether it is whole.
func numberedNote(s *blackboard.State) error {
	id := fmt.Sprintf("note-%d", s.Revision+1)
	s.Task(s.TaskAt(s.Revision%s.TaskCount()).ID).Iteration++
	return note(id, "by a process")(s)
}

// writer is a process that runs writeNotes.
func (p *project) writer(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	program, err := norace.Program()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(append(os.Environ(), writerMark+"="+p.dir), env...)
	return cmd
}

// consistent checks that a state is one that numberedNote made, and is not older than
// the last one seen.
func consistent(t *testing.T, s *blackboard.State, last int) {
	t.Helper()
	iterations := 0
	for task := range s.Tasks() {
		iterations += task.Iteration
	}
	if s.Revision < last || len(s.HumanNotes) != s.Revision-1 || iterations != s.Revision-1 {
		t.Fatalf("after revision %d the state has revision %d, %d notes and %d iterations", last, s.Revision, len(s.HumanNotes), iterations)
	}
	for i, n := range s.HumanNotes {
		if n.ID != fmt.Sprintf("note-%d", i+2) {
			t.Fatalf("note %d is %s", i, n.ID)
		}
	}
}

// agree checks that the journal has exactly the entries of the state's revisions.
func (p *project) agree(t *testing.T, revision int) {
	t.Helper()
	entries, err := history.Journal{Path: p.journal()}.Read(history.Filter{})
	must(t, err)
	if len(entries) != revision {
		t.Fatalf("revision %d has %d journal entries:\n%s", revision, len(entries), p.read(p.journal()))
	}
	if broken, err := p.open().JournalBroken(t.Context()); err != nil || broken != nil {
		t.Fatalf("the journal's chain: %+v, %v", broken, err)
	}
	for i, e := range entries {
		if e.Rev != i+1 || i > 0 && e.Detail != fmt.Sprintf("note-%d", i+1) {
			t.Fatalf("journal entry %d is %+v", i, e)
		}
	}
}

func TestEightProcessesLoseNoNoteAndReadersSeeValidStatesOnly(t *testing.T) {
	t.Parallel()
	const processes, notes = 8, 50
	p := newProject(t)
	p.create(3)
	var wait sync.WaitGroup
	for range processes {
		wait.Go(func() {
			if out, err := p.writer(t, countMark+"="+fmt.Sprint(notes)).Output(); err != nil {
				t.Errorf("a writer failed: %v: %s", err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	f, last, reads := p.open(), 0, 0
	tick := time.NewTicker(5 * time.Millisecond) // the writers want the processor too
	defer tick.Stop()
	for reading := true; reading; reads++ {
		select {
		case <-done:
			reading = false
		case <-tick.C:
		}
		s, err := f.View(t.Context())
		must(t, err)
		consistent(t, s, last)
		last = s.Revision
	}
	if last != 1+processes*notes {
		t.Errorf("the revision is %d, want %d", last, 1+processes*notes)
	}
	p.agree(t, last)
	if snapshots, err := f.Snapshots(t.Context()); err != nil || len(snapshots) == 0 || len(snapshots) > 20 || snapshots[0].Revision != last {
		t.Errorf("the snapshots are %v, %v", snapshots, err)
	}
	if reads < 50 {
		t.Errorf("only %d reads meanwhile", reads)
	}
}

func TestAKilledWriterLosesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	const lanes, kills = 4, 50
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			f := p.create(3)
			rng := rand.New(rand.NewPCG(uint64(lane), 7))
			last := 1
			for range kills {
				p.killOne(t, time.Duration(rng.IntN(6000))*time.Microsecond)
				s, err := f.View(t.Context())
				must(t, err)
				consistent(t, s, last)
				last = s.Revision
			}
			must(t, f.Update(t.Context(), op, numberedNote))
			s, err := f.View(t.Context())
			must(t, err)
			consistent(t, s, last+1)
			p.agree(t, s.Revision)
			if left, _ := filepath.Glob(filepath.Join(p.dir, ".liza", ".state.yaml.tmp-*")); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			if _, err := os.Stat(filepath.Join(p.dir, ".liza", "log.ahead-*")); err == nil {
				t.Error("entries were put aside")
			}
		})
	}
}

// killOne starts a writer and kills it some time after its first write.
func (p *project) killOne(t *testing.T, after time.Duration) {
	t.Helper()
	cmd := p.writer(t)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "written\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
	<-time.After(after)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// kills is how often a test kills: STORE_TEST_FULL makes it the long form (make crash).
func kills(short, full int) int {
	if os.Getenv(fullMark) != "" {
		return full
	}
	return short
}

// P-013.
func TestAWriterKilledAfterAnyStepLeavesAStateThatGoesOn(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 10; step++ {
		point := fmt.Sprint("W", step)
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			f := p.create(2)
			must(t, f.Update(t.Context(), op, numberedNote))
			for round := range kills(3, 50) {
				err := p.writer(t, countMark+"=1", pointMark+"="+point).Run()
				if exit, ok := err.(*exec.ExitError); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the writer was not killed at %s: %v", point, err)
				}
				before, err := f.View(t.Context())
				must(t, err)
				consistent(t, before, 2+2*round)
				must(t, f.Update(t.Context(), op, numberedNote))
				after, err := f.View(t.Context())
				must(t, err)
				consistent(t, after, before.Revision+1)
				p.agree(t, after.Revision)
				if committed := step >= 9; committed != (before.Revision == 2+round*2+1) && round == 0 {
					t.Errorf("killed at %s the revision was %d", point, before.Revision)
				}
				for len(after.HumanNotes) < 3+2*round { // each round begins at the same count
					must(t, f.Update(t.Context(), op, numberedNote))
					after, err = f.View(t.Context())
					must(t, err)
				}
			}
			files, err := os.ReadDir(filepath.Join(p.dir, ".liza"))
			must(t, err)
			var names []string
			for _, file := range files {
				names = append(names, file.Name())
			}
			if got := strings.Join(names, " "); got != "log.yaml state.yaml state.yaml.lock" {
				t.Errorf("the folder holds %q", got)
			}
			for _, alert := range p.alert {
				if !strings.HasPrefix(alert, "JOURNAL_REPAIRED: cut 1 journal entries") {
					t.Errorf("alert: %s", alert)
				}
			}
		})
	}
}
