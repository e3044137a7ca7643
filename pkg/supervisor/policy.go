package supervisor

import (
	"time"

	"liza/pkg/agent"
)

// How long to wait after runs that ended badly, and after what was refused (specs/protocol.md#13.3).
var (
	crashWaits     = backoff{5 * time.Second, 300 * time.Second}
	transientWaits = backoff{10 * time.Second, 300 * time.Second}
	quotaWaits     = backoff{5 * time.Minute, time.Hour}
	claimWaits     = backoff{time.Second, time.Minute}
	remoteWaits    = backoff{2 * time.Second, 2 * time.Minute}
)

const (
	afterTimeout = 5 * time.Second
	maxRestarts  = 5 // in a row: of a program that ends with exit code 42, and of a member of a team
)

// A backoff is a wait that is first after one failure, twice as long after each more in a row, and at most longest.
type backoff struct{ first, longest time.Duration }

// after is the wait after n failures in a row; n counts from 1.
func (b backoff) after(n int) time.Duration {
	wait := b.first
	for ; n > 1 && wait < b.longest; n-- {
		wait *= 2
	}
	return min(wait, b.longest)
}

// A streak counts failures in a row.
type streak int

// next counts one more, and returns the wait after it.
func (k *streak) next(b backoff) time.Duration {
	*k++
	return b.after(int(*k))
}

func (k *streak) end() { *k = 0 }

// mayRestart reports whether the program asks to be started again and has not asked so too often
// in a row: from then on it is a crash (specs/protocol.md#13.3.1).
func mayRestart(r agent.Result, before int) bool { return r.Restart && before < maxRestarts }

// quotaUntil is when a program whose quota is used up may be started again: the provider's reset time, else after a wait.
func quotaUntil(wait time.Duration, r agent.Result, now time.Time) time.Time {
	switch {
	case r.ResetAt.After(now):
		return r.ResetAt
	case r.RetryAfter > 0:
		return now.Add(r.RetryAfter)
	}
	return now.Add(wait)
}

// tooMany reports whether the crashes are too many: limit of them within the window.
func tooMany(crashes []time.Time, limit int, window time.Duration, now time.Time) bool {
	n := 0
	for _, c := range crashes {
		if now.Sub(c) <= window {
			n++
		}
	}
	return limit > 0 && n >= limit
}
