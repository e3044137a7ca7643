package supervisor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
)

func TestWaitsGrowAndEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		of   backoff
		want []time.Duration // in seconds
	}{
		{"crash", crashWaits, []time.Duration{5, 10, 20, 40, 80, 160, 300, 300}},
		{"transient", transientWaits, []time.Duration{10, 20, 40, 80, 160, 300}},
		{"quota", quotaWaits, []time.Duration{300, 600, 1200, 2400, 3600, 3600}},
		{"claim", claimWaits, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}},
		{"remote", remoteWaits, []time.Duration{2, 4, 8, 16, 32, 64, 120, 120}},
	} {
		var failed streak
		for i, want := range c.want {
			if got := failed.next(c.of); got != want*time.Second {
				t.Errorf("%s wait %d is %s, want %s", c.name, i+1, got, want*time.Second)
			}
		}
		failed.end()
		if got := failed.next(c.of); got != c.of.first {
			t.Errorf("%s: the wait after one that went well is %s", c.name, got)
		}
	}
}

func TestAQuotaWindowEndsWhenTheProviderSays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		n    int
		r    agent.Result
		want time.Duration
	}{
		{"reset time", 1, agent.Result{ResetAt: now.Add(3 * time.Hour)}, 3 * time.Hour},
		{"a reset time that is past is not a reset time", 1, agent.Result{ResetAt: now.Add(-time.Hour)}, 5 * time.Minute},
		{"retry after", 4, agent.Result{RetryAfter: time.Minute}, time.Minute},
		{"backoff", 2, agent.Result{}, 10 * time.Minute},
		{"at most an hour", 9, agent.Result{}, time.Hour},
	} {
		if got := quotaUntil(quotaWaits.after(c.n), c.r, now).Sub(now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestThreeCrashesInFiveMinutesAreTooMany(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)
	ago := func(d ...time.Duration) (at []time.Time) {
		for _, x := range d {
			at = append(at, now.Add(-x))
		}
		return at
	}
	for _, c := range []struct {
		crashes []time.Time
		want    bool
	}{
		{ago(0, time.Minute), false},
		{ago(0, time.Minute, 2*time.Minute), true},
		{ago(0, time.Minute, 6*time.Minute), false},
	} {
		if got := tooMany(c.crashes, 3, 5*time.Minute, now); got != c.want {
			t.Errorf("crashes at %v: give up %v, want %v", c.crashes, got, c.want)
		}
	}
}

// A claim is tried again after whatever git said about the worktree (specs/protocol.md#7.2), and only then.
func TestAClaimIsTriedAgainWhenTheWorktreeCannotBeMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("cannot create the worktree of x: git worktree add: exit 128"), true},
		{&transition.Refusal{Guard: "G29", Exit: transition.ExitFailure}, true},
		{&transition.Refusal{Exit: transition.ExitNothing}, false},
		{&transition.Refusal{Guard: "G06", Exit: transition.ExitRefused}, false},
		{&transition.Refusal{Guard: "G02", Exit: transition.ExitLeaseLost}, false},
		{fmt.Errorf("claim: %w", &store.LockedError{}), false},
		{&store.InvalidError{}, false},
	} {
		if got := claimFailed(c.err); got != c.want {
			t.Errorf("%T %+v: %v, want %v", c.err, c.err, got, c.want)
		}
	}
}
