package postgres

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/board/store/storetest"
)

// writer is a process that runs writeNotes.
func writer(ctx context.Context, s *Store, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), writerMark+"="+s.o.URL, boardMark+"="+s.o.Board), env...)
	return cmd
}

// consistent checks that a state is one that numberedNote made, and is not older than the last one seen.
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

// agrees checks that the journal has exactly the entries of the board's revisions, that its chain holds, and that a
// process that has read nothing yet sees the same as one that has read each change.
func agrees(t *testing.T, s *Store) int {
	t.Helper()
	state, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, state, 1)
	entries, err := s.Journal(t.Context(), history.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != state.Revision-1 {
		t.Fatalf("revision %d has %d journal entries", state.Revision, len(entries))
	}
	for i, e := range entries {
		if e.Rev != i+2 || e.Detail != fmt.Sprintf("note-%d", i+2) {
			t.Fatalf("journal entry %d is %+v", i, e)
		}
	}
	if broken, err := s.JournalBroken(t.Context()); err != nil || broken != nil {
		t.Fatalf("the journal's chain: %+v, %v", broken, err)
	}
	warm, err := s.Text(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cold, err := opened(t, s.o).Text(t.Context())
	if err != nil || string(cold) != string(warm) {
		t.Fatalf("%v; who read each change has\n%s\nand who reads all\n%s", err, warm, cold)
	}
	return state.Revision
}

func TestAClientKilledAfterAnyStepLosesNothingAndKeepsNoLock(t *testing.T) {
	t.Parallel()
	sharedServer(t)
	for _, c := range []struct {
		point string
		made  string // whether the write was: no, yes or perhaps
	}{{"P1", "no"}, {"P2", "no"}, {"P3", "perhaps"}, {"P4", "yes"}} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			s := newBoard(t)
			for range 5 {
				before := agrees(t, s)
				err := writer(t.Context(), s, countMark+"=1", pointMark+"="+c.point).Run()
				if exit, ok := err.(*exec.ExitError); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the writer was not killed: %v", err)
				}
				if err := s.Update(t.Context(), op, numberedNote); err != nil {
					t.Fatal(err)
				}
				made := agrees(t, s) - before - 1
				if made < 0 || made > 1 || c.made == "no" && made == 1 || c.made == "yes" && made == 0 {
					t.Errorf("%d writes of the killed client were made, want: %s", made, c.made)
				}
			}
		})
	}
}

func TestClientsKilledAtAnyTimeLoseNothing(t *testing.T) {
	t.Parallel()
	s := newBoard(t)
	rng := rand.New(rand.NewPCG(1, 7))
	for range 20 {
		cmd := writer(t.Context(), s)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "written\n" {
			t.Fatalf("the writer says %q, %v", line, err)
		}
		<-time.After(time.Duration(rng.IntN(6000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		// The next one that gets the lock comes after what was under way.
		if err := s.Update(t.Context(), op, numberedNote); err != nil {
			t.Fatal(err)
		}
		agrees(t, s)
	}
}

// writeThrough has writers write while faults happen, and checks that each write that was confirmed was made once.
func writeThrough(t *testing.T, s *pgtest.Server, fault func(i int), faults int) {
	t.Helper()
	o := optionsOn(s, t)
	o.LockTimeout = time.Minute
	first := opened(t, o)
	if err := first.Create(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	confirmed := make([]int, 6)
	for w := range confirmed {
		wait.Go(func() {
			mine := opened(t, o)
			for ctx.Err() == nil {
				switch err := mine.Update(context.WithoutCancel(ctx), op, numberedNote); err {
				case nil:
					confirmed[w]++
				default:
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	last := 0
	for i := range faults {
		reached := eventually(t, first, last+10) // it goes on after the last fault
		consistent(t, reached, last)
		last = reached.Revision
		fault(i)
	}
	eventually(t, first, last+10)
	cancel()
	wait.Wait()
	sum := 1
	for _, n := range confirmed {
		sum += n
	}
	if revision := agrees(t, first); revision != sum {
		t.Errorf("%d writes were confirmed, and the revision is %d", sum-1, revision)
	}
}

// eventually waits for a revision.
func eventually(t *testing.T, s *Store, revision int) *blackboard.State {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	until := time.After(time.Minute)
	for {
		state, err := s.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if state.Revision >= revision {
			return state
		}
		select {
		case <-until:
			t.Fatalf("revision %d after a minute, want %d", state.Revision, revision)
		case <-tick.C:
		}
	}
}

func TestARestartOfTheServerLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	writeThrough(t, s, func(i int) {
		s.Stop([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[i%2])
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}, 6)
}

func TestKilledBackendsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	admin, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	kills := 15
	if os.Getenv("STORE_TEST_FULL") != "" {
		kills = 40
	}
	writeThrough(t, s, func(int) {
		if _, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'liza' AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
	}, kills)
}
