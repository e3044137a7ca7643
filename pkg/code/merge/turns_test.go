package merge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// outage is a board that is away while it is said to be.
type outage struct {
	*store.Memory
	away atomic.Bool
}

var errAway = errors.New("the board is away")

func (o *outage) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if o.away.Load() {
		return errAway
	}
	return o.Memory.Update(ctx, op, change)
}

// host is a merger of one of several hosts that share a board.
func host(t *testing.T, board store.Store, name string) *Merger {
	t.Helper()
	return &Merger{Store: board, Facts: blackboard.ProcessFacts{Host: name}, Now: time.Now, By: "coder-1", Turns: true, LockPath: filepath.Join(t.TempDir(), "merge.lock")}
}

func turnOf(t *testing.T, board store.Store) blackboard.MergeTurn {
	t.Helper()
	s, err := board.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Integration == nil || s.Integration.Turn == nil {
		return blackboard.MergeTurn{}
	}
	return *s.Integration.Turn
}

// A turn is renewed while its merge lasts, and ends the merge when it is lost or could not be renewed in time: after three quarters of it,
// not before.
func TestATurnIsKeptWhileTheMergeLasts(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (board *outage, work context.Context, unlock func() error) {
		t.Helper()
		board = &outage{Memory: store.NewMemory(&blackboard.State{})}
		work, unlock, err := host(t, board, "one").Lock(t.Context(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return board, work, unlock
	}
	t.Run("an hour", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			board, work, unlock := begin(t)
			for range 60 {
				time.Sleep(time.Minute)
				until, _ := turnOf(t, board).Until.At()
				if left := time.Until(until); left < turnLength*3/4-time.Second || work.Err() != nil {
					t.Fatalf("the turn has %s left; the merge: %v", left, context.Cause(work))
				}
			}
			if err := unlock(); err != nil || work.Err() == nil || turnOf(t, board).Host != "" || turnOf(t, board).Term != 1 {
				t.Errorf("%v; the turn is %+v after its end", err, turnOf(t, board))
			}
			revision := turnOf(t, board)
			if time.Sleep(time.Hour); turnOf(t, board) != revision {
				t.Error("a turn that has ended is renewed")
			}
		})
	})
	for name, c := range map[string]struct {
		away time.Duration
		kept bool
	}{
		"a board away for less than three quarters": {44 * time.Second, true},
		"a board away for longer":                   {76 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				board, work, unlock := begin(t)
				time.Sleep(time.Second)
				board.away.Store(true)
				time.Sleep(c.away)
				board.away.Store(false)
				time.Sleep(time.Minute)
				if kept := work.Err() == nil; kept != c.kept || !kept && !errors.Is(context.Cause(work), errTurnOver) {
					t.Errorf("the merge goes on: %t, %v", kept, context.Cause(work))
				}
				if err := unlock(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("a turn that another has", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			board, work, unlock := begin(t)
			err := board.Update(t.Context(), store.Op{Name: "test"}, func(s *blackboard.State) error {
				s.Integration.Turn = &blackboard.MergeTurn{Term: 2, Host: "two", Until: blackboard.TimeOf(time.Now().Add(time.Hour))}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if time.Sleep(turnLength/4 + time.Second); !errors.Is(context.Cause(work), errTurnOver) {
				t.Errorf("the merge goes on in another's turn: %v", context.Cause(work))
			}
			if err := unlock(); err != nil || turnOf(t, board).Host != "two" {
				t.Errorf("%v; the other's turn is %+v", err, turnOf(t, board))
			}
		})
	})
}

// A host waits for the turn of another until it ends, or for as long as it may.
func TestAHostWaitsForTheTurnOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		board := &outage{Memory: store.NewMemory(&blackboard.State{})}
		_, unlock, err := host(t, board, "one").Lock(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{0, 3 * time.Second} {
			began := time.Now()
			work, none, err := host(t, board, "two").Lock(t.Context(), wait)
			held := new(TurnError)
			if took := time.Since(began); !errors.As(err, &held) || held.Turn.Host != "one" || none != nil || work == nil || took != max(wait, map[bool]time.Duration{true: lockTimeout}[wait == 0]) {
				t.Errorf("it waited for %s: %v", took, err)
			}
		}
		time.AfterFunc(2*time.Second, func() {
			if err := unlock(); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		_, unlock, err = host(t, board, "two").Lock(t.Context(), time.Minute)
		if took := time.Since(began); err != nil || took < 2*time.Second || took > 2*time.Second+turnPoll || turnOf(t, board).Host != "two" {
			t.Fatalf("it waited for %s: %v", took, err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
		board.away.Store(true)
		if _, none, err := host(t, board, "one").Lock(t.Context(), time.Minute); !errors.Is(err, errAway) || none != nil {
			t.Errorf("a board that is away gives a turn: %v", err)
		}
	})
}

// Whichever of the commands there are: with one of them, there is something to check.
func TestOneCommandIsEnoughForACheck(t *testing.T) {
	t.Parallel()
	some := []string{"true"}
	for n := 1; n < 8; n++ {
		m := &Merger{}
		for i, list := range []*[]string{&m.Checks, &m.Setup, &m.Hooks} {
			if n&(1<<i) != 0 {
				*list = some
			}
		}
		if has, err := (&job{Merger: m}).hasChecks(t.Context(), ""); !has || err != nil {
			t.Errorf("checks %q, setup %q, hooks %q: %t, %v", m.Checks, m.Setup, m.Hooks, has, err)
		}
	}
}

func TestTheSlotsOfATrain(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]int{1: 1, 2: 2, 40: 40} {
		if got := CheckSlots(slots); got != want {
			t.Errorf("%d slots are %d", slots, got)
		}
	}
	if none := CheckSlots(0); none < 1 || CheckSlots(-1) != none {
		t.Errorf("without a setting there are %d and %d", none, CheckSlots(-1))
	}
}

// How long checks last is said after ten seconds, then after a minute, and each time that has doubled, until they end.
func TestHowLongChecksLastIsSaidLessAndLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines atomic.Value
		lines.Store("")
		j := &job{Merger: &Merger{Lasts: func(task string, d time.Duration) {
			lines.Store(lines.Load().(string) + fmt.Sprint(task, " ", d, "\n"))
		}}, name: "task-1"}
		ended := make(chan struct{})
		go j.sayHowLong(ended)
		for _, c := range []struct {
			sleep time.Duration
			want  string
		}{
			{lasting - time.Millisecond, ""}, {2 * time.Millisecond, "task-1 10s\n"}, {49 * time.Second, "task-1 10s\n"}, {2 * time.Second, "task-1 10s\ntask-1 1m0s\n"},
			{time.Minute, "task-1 10s\ntask-1 1m0s\ntask-1 2m0s\n"}, {time.Minute, "task-1 10s\ntask-1 1m0s\ntask-1 2m0s\n"},
		} {
			time.Sleep(c.sleep)
			synctest.Wait()
			if said := lines.Load(); said != c.want {
				t.Errorf("it said %q, want %q", said, c.want)
			}
		}
		close(ended)
		synctest.Wait()
		before := lines.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if said := lines.Load(); said != before {
			t.Errorf("it goes on after the end: %q", said)
		}
	})
}
