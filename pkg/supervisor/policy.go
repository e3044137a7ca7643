package supervisor

import (
	"time"

	"liza/pkg/agent"
)

// Policy says how long to wait after a run that ended badly (specs/protocol.md#13.3). The zero
// value has the protocol's figures.
type Policy struct{}

const (
	crashWait     = 5 * time.Second
	transientWait = 10 * time.Second
	quotaWait     = 5 * time.Minute
	longestWait   = 300 * time.Second
	longestQuota  = time.Hour
	afterTimeout  = 5 * time.Second
	maxRestarts   = 5 // exit code 42 in a row
)

// mayRestart reports whether the program asks to be started again and has not asked so too often
// in a row: from then on it is a crash (specs/protocol.md#13.3.1).
func mayRestart(r agent.Result, before int) bool { return r.Restart && before < maxRestarts }

// CrashWait is the wait before the next run after n crashes in a row: 5, 10, 20 … 300 s.
func (Policy) CrashWait(n int) time.Duration { return doubled(crashWait, n, longestWait) }

// TransientWait is the wait after n transient failures in a row, as the provider told it,
// else 10, 20 … 300 s.
func (Policy) TransientWait(n int, told time.Duration) time.Duration {
	if told > 0 {
		return told
	}
	return doubled(transientWait, n, longestWait)
}

// QuotaUntil is when a program whose quota is used up may be started again: the
// provider's reset time, else 5 minutes doubled up to an hour.
func (Policy) QuotaUntil(n int, r agent.Result, now time.Time) time.Time {
	switch {
	case r.ResetAt.After(now):
		return r.ResetAt
	case r.RetryAfter > 0:
		return now.Add(r.RetryAfter)
	}
	return now.Add(doubled(quotaWait, n, longestQuota))
}

// GiveUp reports whether the crashes are too many: limit of them within the window.
func (Policy) GiveUp(crashes []time.Time, limit int, window time.Duration, now time.Time) bool {
	n := 0
	for _, c := range crashes {
		if now.Sub(c) <= window {
			n++
		}
	}
	return limit > 0 && n >= limit
}

// doubled is base × 2^(n-1), at most top; n counts from 1.
func doubled(base time.Duration, n int, top time.Duration) time.Duration {
	for ; n > 1 && base < top; n-- {
		base *= 2
	}
	return min(base, top)
}
