package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	crashMark = "CRASH_TEST_SPRINT" // in the environment of everything that belongs to one sprint
	crashSeed = "CRASH_SEED"        // replays a choice of moments
)

// P-152: everything is killed with SIGKILL at random moments, supervisors and agent programs alike, 25 times in the
// long form (make crash), and started again each time. The board is valid whenever it starts
// again, and in the end every task was merged exactly once and nothing is lost.
func TestASprintThatIsKilledAgainAndAgainMergesEveryTaskOnce(t *testing.T) {
	t.Parallel()
	kills, random := long(3, 25), crashRandom(t)
	s := newSprint(t, kills*8/5+2)
	for n := range kills {
		// Where in the sprint it happens is told in revisions, so that a loaded machine comes
		// just as far; then some milliseconds, so that it happens anywhere in a step.
		revisions, after := random.IntN(long(25, 40)), time.Duration(random.IntN(60_000))*time.Microsecond
		if !s.killed(t, revisions, after, fmt.Sprintf("kill %d of %d", n+1, kills)) {
			t.Fatalf("the sprint was over before kill %d of %d", n+1, kills)
		}
	}
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := s.run(ctx, &out, 3, 2).Run(); err != nil {
		t.Fatalf("the sprint does not come to its end: %v\n%s", err, out.String())
	}
	s.everythingMerged()
	if t.Failed() {
		t.Logf("the last run:\n%s", out.String())
	}
}

// crashRandom chooses other moments in each run, unless crashSeed says which.
func crashRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(crashSeed); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("%s=%d", crashSeed, seed)
	return rand.New(rand.NewPCG(seed, 152))
}

// killed runs the team until the board is that many revisions further, and kills all of it.
// It reports whether there was something to kill.
func (s *sprint) killed(t *testing.T, revisions int, after time.Duration, what string) bool {
	t.Helper()
	s.validates(t, what)
	first := s.State().Revision
	var out bytes.Buffer
	mark := fmt.Sprintf("%s-%d-%d", t.Name(), os.Getpid(), first)
	cmd := s.run(context.Background(), &out, 3, 2)
	cmd.Env = append(cmd.Env, crashMark+"="+mark)
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		if left := killMarked(mark); left > 0 {
			t.Errorf("%s: %d processes are not to be killed", what, left)
		}
	}()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s.State().Revision < first+revisions {
		select {
		case <-tick.C:
		case err := <-ended:
			t.Logf("%s: ended by itself: %v\n%s", what, err, out.String())
			return false
		case <-deadline:
			t.Fatalf("%s: nothing goes on at revision %d\n%s", what, s.State().Revision, out.String())
		}
	}
	<-time.After(after)
	killMarked(mark)
	<-ended
	return true
}

// validates checks the board as a person would. That a writer was killed between the journal and the state is no more than
// a warning (specs/protocol.md#1.2, W3).
func (s *sprint) validates(t *testing.T, what string) {
	t.Helper()
	var out bytes.Buffer
	if s.command(t.Context(), &out, "validate").Run() != nil {
		t.Fatalf("before %s the board is not valid:\n%s", what, out.String())
	}
}

// killMarked kills every process that carries the mark, and whatever they start meanwhile.
// It returns how many are left.
func killMarked(mark string) int {
	left := 0
	for range 50 {
		pids := marked(mark)
		left = len(pids)
		if left == 0 {
			return 0
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-time.After(2 * time.Millisecond)
	}
	return left
}

// marked are the processes whose environment has the mark. Those that are dead and not yet
// waited for have none.
func marked(mark string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+crashMark+"="+mark+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
