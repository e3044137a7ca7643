package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

func TestEachClaimThatFailsIsFollowedByALongerPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, failed := &Supervisor{}, errors.New("the state is not valid")
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			began := time.Now()
			if err := s.claimRefused(t.Context(), t.Context(), failed); !errors.Is(err, failed) {
				t.Fatalf("claim %d: %v", i, err)
			}
			if paused := time.Since(began); paused != want*time.Second {
				t.Errorf("after claim %d the pause is %v, want %v", i, paused, want*time.Second)
			}
		}
	})
}

// A member that gives up because its disk is full names what shows that, on the board and in the terminal.
func TestAMemberThatGivesUpOnAFullDiskNamesWhatShowsIt(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("cannot make the worktree: %w", &safefile.DiskFullError{FileSystem: "/srv", Err: syscall.ENOSPC})
	for _, err := range []error{gaveUp("4 claims failed in a row", full), full} {
		if text, end := withNext(err), full.Error()+"; next: df -h /srv"; !strings.HasSuffix(text, end) {
			t.Errorf("%q does not end with %q", text, end)
		}
	}
	if next := gaveUp("", full).next(); next != "df -h /srv" {
		t.Errorf("the journal names %q", next)
	}
}

// In a team at work an agent without a task mostly finds one a moment later. A reason to wait that is
// written down at once would wake everybody else each time. (Without a store, a write is a panic.)
func TestAMomentWithoutWorkIsNotWrittenDown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)
	s := &Supervisor{ID: "coder-1", Service: verb.New(&board.Session{Now: func() time.Time { return now }}, worktree.Local), idleSince: now.Add(-100 * time.Millisecond)}
	st := &blackboard.State{Agents: map[string]*blackboard.Agent{"coder-1": {Status: blackboard.AgentIdle}}}
	if again := s.showWaiting(t.Context(), st, waiting{why: "nothing to claim"}); again != 900*time.Millisecond {
		t.Errorf("it looks again in %s, want 900ms", again)
	}
}
