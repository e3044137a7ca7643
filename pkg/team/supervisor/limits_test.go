package supervisor

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/run/agent"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

var noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

// A wait doubles with each failure in a row, up to its longest, and begins again after a success.
func TestWaitsDoubleUpToTheirLongest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wait backoff
		want []time.Duration // after 0, 1, 2 … failures
	}{
		{backoff{2, 15}, []time.Duration{2, 2, 4, 8, 15, 15}},
		{backoff{1, 4}, []time.Duration{1, 1, 2, 4, 4}},
		{backoff{9, 4}, []time.Duration{4, 4, 4}},
	} {
		var k streak
		for n, want := range c.want {
			if got := c.wait.after(n); got != want {
				t.Errorf("%v after %d failures: %d, want %d", c.wait, n, got, want)
			}
			if n > 0 {
				if got := k.next(c.wait); got != want {
					t.Errorf("%v after failure %d in a row: %d, want %d", c.wait, n, got, want)
				}
			}
		}
		if k.end(); k.next(c.wait) != c.want[1] {
			t.Errorf("%v goes on after a success", c.wait)
		}
	}
}

// Each number of tries holds exactly: the last one that is allowed, and the first one that is not.
func TestTriesAreCountedExactly(t *testing.T) {
	t.Parallel()
	for before, want := range map[int]bool{0: true, maxRestarts - 1: true, maxRestarts: false, maxRestarts + 1: false} {
		if mayRestart(agent.Result{Restart: true}, before) != want || mayRestart(agent.Result{}, before) {
			t.Errorf("after %d restarts", before)
		}
	}
	for reasks, want := range map[int]bool{0: true, 1: true, 2: false, 3: false} {
		if u := (&unit{reasks: reasks}); u.mayReask(2) != want {
			t.Errorf("after %d questions of 2", reasks)
		}
	}
	ago := func(all ...time.Duration) (times []time.Time) {
		for _, d := range all {
			times = append(times, noon.Add(-d))
		}
		return times
	}
	const window = time.Minute
	for _, c := range []struct {
		crashes []time.Time
		limit   int
		want    bool
	}{
		{nil, 0, false}, {nil, 1, false}, {ago(0), 0, false}, {ago(0), 1, true}, {ago(0), 2, false}, {ago(0, 1), 2, true}, {ago(0, 1, 2), 2, true},
		{ago(0, window), 2, true}, {ago(0, window+1), 2, false}, {ago(window+1, window+2, 1), 2, false},
	} {
		if got := tooMany(c.crashes, c.limit, window, noon); got != c.want {
			t.Errorf("%v with the limit %d are too many: %t", c.crashes, c.limit, got)
		}
	}
}

// A quota ends when the provider says, else after what it says to wait, else after a wait of ours.
func TestTheEndOfAQuota(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    agent.Result
		want time.Duration
	}{
		{agent.Result{}, time.Hour}, {agent.Result{RetryAfter: 1}, 1}, {agent.Result{RetryAfter: time.Minute}, time.Minute},
		{agent.Result{ResetAt: noon}, time.Hour}, {agent.Result{ResetAt: noon.Add(-1), RetryAfter: time.Minute}, time.Minute},
		{agent.Result{ResetAt: noon.Add(1), RetryAfter: time.Minute}, 1},
	} {
		if got := quotaUntil(time.Hour, c.r, noon); !got.Equal(noon.Add(c.want)) {
			t.Errorf("%+v: until %s", c.r, got)
		}
	}
}

func TestThePriceOfAModelIsThatOfTheLongestName(t *testing.T) {
	t.Parallel()
	prices := map[string]config.Price{"claude": {In: 1}, "Claude:Opus": {In: 2}, "opus": {In: 3}, "haik": {In: 4}, "aiku": {In: 5}}
	for model, want := range map[string]float64{"opus-4": 2, "sonnet": 1, "haiku": 1, "": 1} {
		if got, ok := priceOf(prices, "claude", model); !ok || got.In != want {
			t.Errorf("claude:%s costs %v", model, got.In)
		}
	}
	for name, want := range map[string]float64{"haiku": 5, "OPUS": 3, "gpt": 0} {
		if got, ok := priceOf(prices, "other", name); ok != (want > 0) || got.In != want {
			t.Errorf("other:%s costs %v, %t", name, got.In, ok)
		}
	}
}

// full is a disk that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What people are shown of a program is cut at its limits, within no letter.
func TestWordsForPeopleAreCutAtTheirLimits(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ tail, want []string }{
		{nil, nil}, {[]string{"a", "", " \x07", "b\x1b[1m\tc"}, []string{"  a", "  b[1m  c"}},
		{[]string{x(300)}, []string{"  " + x(300)}}, {[]string{x(301)}, []string{"  " + x(300) + "…"}}, {[]string{x(299) + "éé"}, []string{"  " + x(299) + "…"}},
		{strings.Fields("0 1 2 3 4 5 6 7 8 9"), strings.Split("  0,  1,  2,  3,  4,  5,  6,  7,  8,  9", ",")},
		{strings.Fields("0 1 2 3 4 5 6 7 8 9 10"), strings.Split("  1,  2,  3,  4,  5,  6,  7,  8,  9,  10", ",")},
	} {
		if got := lastWords(c.tail); !slices.Equal(got, c.want) {
			t.Errorf("of %q people read %q", c.tail, got)
		}
	}
	for text, want := range map[string]string{"": "", x(maxOutput): x(maxOutput), x(maxOutput + 1): x(maxOutput), x(maxOutput-1) + "é": x(maxOutput - 1)} {
		if got := outputOf(text, 3, "p"); got != (blackboard.Output{Text: want, Bytes: len(text), ExitCode: 3, Path: "p"}) {
			t.Errorf("of %d bytes there are %d: %+v", len(text), len(got.Text), got.Path)
		}
	}
	chunk := bytes.Repeat([]byte("y"), maxWithheld/2)
	for more, left := range map[int]bool{-1: false, 0: false, 1: true} {
		var out bytes.Buffer
		w := &withheld{to: &out}
		for _, part := range [][]byte{chunk, chunk[:len(chunk)+min(more, 0)], chunk[:max(more, 0)], nil} {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.Len() > 0 {
			t.Error("something is shown before the end")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if cut := (&withheld{to: full{}}); more > 0 {
			if _, err := cut.Write(chunk[:1]); err != nil || cut.Close() == nil {
				t.Errorf("what could not be shown is no error: %v", err)
			}
		}
		kept, cut := bytes.CutSuffix(out.Bytes(), []byte("\n[… the rest of the output is left out]\n"))
		if cut != left || len(kept) != maxWithheld+min(more, 0) {
			t.Errorf("with %d bytes more %d are kept, and the cut is told: %t", more, len(kept), cut)
		}
	}
}

// One member of each role looks for what the dead left, every half minute; a clock that was set back does not stop it.
func TestTheDeadAreLookedForOnceInAWhile(t *testing.T) {
	t.Parallel()
	h := newHeartbeat()
	for i, c := range []struct {
		role blackboard.Role
		at   time.Duration
		want bool
	}{
		{blackboard.RoleCoder, 0, true}, {blackboard.RoleCoder, 0, false}, {blackboard.RoleReviewer, 0, true}, {blackboard.RoleCoder, recoverEvery - 1, false},
		{blackboard.RoleCoder, recoverEvery, true}, {blackboard.RoleCoder, 2*recoverEvery - 1, false}, {blackboard.RoleCoder, recoverEvery - 1, true}, {blackboard.RoleCoder, recoverEvery, false},
	} {
		if got := h.recovers(c.role, noon.Add(c.at)); got != c.want {
			t.Errorf("step %d: a %s looks after %s: %t", i, c.role, c.at, got)
		}
	}
	for range 2 {
		if none := (*heartbeat)(nil); !none.recovers(blackboard.RoleCoder, noon) {
			t.Error("a member on its own does not look")
		}
	}
}

// An older revision of the board says nothing about who was stopped.
func TestAnOlderRevisionStopsNobody(t *testing.T) {
	t.Parallel()
	var l leaseKeeper
	var why []error
	l.lose = func(cause error) { why = append(why, cause) }
	for i, c := range []struct {
		revision int
		stop     *blackboard.Stop
		want     error
	}{
		{5, nil, nil}, {4, &blackboard.Stop{}, nil}, {5, &blackboard.Stop{}, errStopped}, {4, nil, errStopped}, {6, &blackboard.Stop{Attach: true}, errAttached}, {6, nil, nil},
	} {
		if l.ordered(c.revision, c.stop); l.stopped != c.want {
			t.Errorf("step %d: %v, want %v", i, l.stopped, c.want)
		}
	}
	if !slices.Equal(why, []error{errStopped, errAttached}) {
		t.Errorf("the work under way ends by %v", why)
	}
}

// A wait for a provider is told from five seconds on, and ends with the next word of the program.
func TestAWaitIsToldWhenItIsLong(t *testing.T) {
	t.Parallel()
	d := verb.New(&board.Session{}, worktree.Local)
	d.Board.Now = func() time.Time { return noon }
	w := &providerWait{}
	for i, c := range []struct {
		e    agent.Event
		want bool
		told string
	}{
		{agent.Event{Kind: agent.EventText}, false, ""},
		{agent.Event{Kind: agent.EventError, Retry: true, RetryAfter: worthTelling - 1, Word: "busy"}, false, ""},
		{agent.Event{Kind: agent.EventError, RetryAfter: worthTelling, Word: "busy"}, false, ""},
		{agent.Event{Kind: agent.EventError, Retry: true, RetryAfter: worthTelling, Word: "busy", Status: 529}, true, "busy (529)"},
		{agent.Event{Kind: agent.EventUsage}, false, "busy (529)"},
		{agent.Event{Kind: agent.EventTool}, true, ""},
		{agent.Event{Kind: agent.EventFinal}, false, ""},
		{agent.Event{Kind: agent.EventError, Retry: true, RetryAfter: time.Minute, Text: "first\nsecond"}, true, "first"},
		{agent.Event{Kind: agent.EventError, Retry: true, RetryAfter: time.Minute}, true, "it tries again"},
	} {
		got := w.hear(c.e, d)
		told := ""
		if w.told != nil {
			told = w.told.Reason
		}
		if got != c.want || told != c.told || w.told != nil && w.told.Until != blackboard.TimeOf(noon.Add(w.pause)) {
			t.Errorf("step %d: %t, and people are told %q", i, got, told)
		}
	}
}

// The last claim of a task is found in its history, and what the claim found.
func TestTheLastClaimIsFoundInTheHistory(t *testing.T) {
	t.Parallel()
	blocked, halted := &blackboard.HistoryEntry{Event: blackboard.HistoryBlocked}, &blackboard.HistoryEntry{Event: blackboard.HistoryBlocked, Halt: &blackboard.Halt{}}
	is := func(e blackboard.HistoryEvent) *blackboard.HistoryEntry { return &blackboard.HistoryEntry{Event: e} }
	claimed, unblocked, expired := is(blackboard.HistoryClaimed), is(blackboard.HistoryUnblocked), is(blackboard.HistoryLeaseExpired)
	for i, c := range []struct {
		history []*blackboard.HistoryEntry
		at      int
		from    blackboard.Status
		after   bool
	}{
		{nil, -1, blackboard.ReadyForReview, false},
		{[]*blackboard.HistoryEntry{nil, expired}, -1, blackboard.ReadyForReview, false},
		{[]*blackboard.HistoryEntry{claimed}, 0, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{claimed, nil, is(blackboard.HistoryReviewClaimed)}, 2, blackboard.ReadyForReview, false},
		{[]*blackboard.HistoryEntry{expired, claimed}, 1, blackboard.Claimed, false},
		{[]*blackboard.HistoryEntry{claimed, is(blackboard.HistoryReclaimed), blocked}, 1, blackboard.Rejected, false},
		{[]*blackboard.HistoryEntry{unblocked, claimed}, 1, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{nil, unblocked, claimed}, 2, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{halted, nil, claimed}, 2, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{halted, unblocked, claimed}, 2, blackboard.Unclaimed, true},
		{[]*blackboard.HistoryEntry{blocked, unblocked, claimed}, 2, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{halted, blocked, claimed}, 2, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{expired, unblocked, claimed}, 2, blackboard.Unclaimed, false},
		{[]*blackboard.HistoryEntry{halted, unblocked, claimed, claimed}, 3, blackboard.Unclaimed, false},
	} {
		task := &blackboard.Task{Status: blackboard.ReadyForReview, History: c.history}
		if at, from, after := lastClaim(task), claimedFrom(task), afterResubmit(task); at != c.at || from != c.from || after != c.after {
			t.Errorf("history %d: claim %d, from %s, after a halt: %t", i, at, from, after)
		}
	}
}

// No more programs run at a time than there are slots; a limit below one is one.
func TestSlotsAreCountedExactly(t *testing.T) {
	t.Parallel()
	limit := 2
	s := &Slots{Limit: func() int { return limit }}
	first, ok := s.try()
	second, also := s.take(t.Context())
	if !ok || !also {
		t.Fatal("two slots are not two")
	}
	if _, ok := s.try(); ok {
		t.Error("a third program runs in two slots")
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, ok := s.take(over); ok {
		t.Error("a third program gets one of two slots")
	}
	limit = 3
	third, ok := s.try()
	if !ok {
		t.Fatal("a slot more is no slot")
	}
	for _, free := range []func(){first, first, second, third} { // one of them twice
		free()
	}
	if limit = 0; s.used != 0 {
		t.Errorf("%d slots are used by nobody", s.used)
	}
	only, ok := s.try()
	if !ok {
		t.Fatal("no program may run")
	}
	if _, ok := s.try(); ok {
		t.Error("two programs run where one may")
	}
	taken := make(chan bool)
	go func() {
		_, ok := s.take(t.Context())
		taken <- ok
	}()
	only()
	if !<-taken {
		t.Error("a slot that was given back is not taken")
	}
	var none *Slots
	if free, ok := none.try(); !ok || free == nil {
		t.Error("without slots nothing runs")
	}
	if free, ok := none.take(t.Context()); !ok || free == nil {
		t.Error("without slots nothing runs")
	}
	if _, ok := none.take(over); ok {
		t.Error("what has ended begins a program")
	}
}
