package transition

import (
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

func TestACronLineIsReadByTheClockOfItsZone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, now, want string }{
		{"0 3 * * 1-5", "UTC", "2026-11-27T02:59:59Z", "2026-11-27T03:00:00Z"},
		{"0 3 * * 1-5", "UTC", "2026-11-27T03:00:00Z", "2026-11-30T03:00:00Z"},
		{"0 3 * * 1-5", "", "2026-11-27T03:00:30Z", "2026-11-30T03:00:00Z"},
		{"0 3 * * MON-FRI", "America/New_York", "2026-11-27T03:00:00Z", "2026-11-27T08:00:00Z"},
		{"0 3 29 2 *", "UTC", "2026-11-27T03:00:00Z", "2028-02-29T03:00:00Z"},
		{"0 3 1 * 1", "UTC", "2026-11-27T03:00:00Z", "2026-11-30T03:00:00Z"}, // the first of a month, or a Monday
		// The clock is put forward: what it leaves out comes a moment later, and the day after at its time.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		{"*/20 * * * *", "Europe/Berlin", "2026-03-29T00:50:00Z", "2026-03-29T01:00:00Z"},
		// It is put back: what it shows twice comes once.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T01:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
		{"*/20 * * * *", "Europe/Berlin", "2026-10-24T23:50:00Z", "2026-10-25T01:00:00Z"},
		{"*/20 * * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-25T01:20:00Z"},
	} {
		now, _ := blackboard.Time(c.now).At()
		got, err := nextTime(c.cron, c.zone, now)
		if err != nil || string(blackboard.TimeOf(got)) != c.want {
			t.Errorf("%s in %s after %s: got %s (%v), want %s", c.cron, c.zone, c.now, blackboard.TimeOf(got), err, c.want)
		}
	}
	for _, c := range [][3]string{{"* * * *", "UTC", "4 fields"}, {"* * * * * *", "UTC", "6 fields"}, {"@daily", "UTC", "1 field"}, {"61 * * * *", "UTC", "not a cron line"}, {"0 0 31 2 *", "UTC", "never comes"},
		{"* * * * *", "Mars/Olympus", "time zone"}, {"* * * * *", "../../etc/passwd", "time zone"}, {"* * * * *", "Local", "time zone"}} {
		if _, err := nextTime(c[0], c[1], time.Now()); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q in %q: %v, want %s", c[0], c[1], err, c[2])
		}
	}
}

// nightly is a board with a goal that begins each night at 03:00, the day after at 04:00.
func nightly(t *testing.T) (*board, *blackboard.Schedule) {
	b := team(t)
	x := &blackboard.Schedule{Cron: "0 3 * * *", Zone: "UTC", Do: "goal", Args: blackboard.List{"Tidy up"}}
	b.must(AddSchedule(b.State, x, person, b.now))
	next, _ := x.Next.At()
	b.now = next.Add(time.Hour)
	return b, x
}

func TestAScheduleThatIsDueIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	b, x := nightly(t)
	none := blackboard.ProcessFacts{}
	want(t, "while a goal is open", NextScheduled(b.State, "", none, b.now) == nil, true)
	want(t, "its text", strings.Contains(ScheduleText(b.State, x, "", b.now), "waits: "+b.Goal.ID+" is IN_PROGRESS; it comes once"), true)
	b.Goal.Status = blackboard.Completed
	want(t, "before its time", NextScheduled(b.State, "", none, b.now.Add(-time.Hour-time.Second)) == nil, true)
	want(t, "while paused", NextScheduled(b.State, "paused", none, b.now) == nil, true)
	want(t, "now", NextScheduled(b.State, "", none, b.now) == x, true)

	// One process has the turn; others get it when that one is gone, or has had its time.
	first := blackboard.Turn{Host: "h1", BootID: "b", PID: 7, PIDStart: 8}
	TakeScheduled(x, &first, b.now)
	running := true
	here := blackboard.ProcessFacts{Host: "h1", BootID: "b", Running: func(int, int64) (bool, bool) { return running, true }}
	want(t, "another host", NextScheduled(b.State, "", blackboard.ProcessFacts{Host: "h2", BootID: "b"}, b.now) == nil, true)
	want(t, "the same host", NextScheduled(b.State, "", here, b.now) == nil, true)
	running = false
	want(t, "after a kill", NextScheduled(b.State, "", here, b.now) == x, true)
	want(t, "after its time", NextScheduled(b.State, "", none, b.now.Add(turnTime)) == x, true)
	second := blackboard.Turn{Host: "h2", PID: 9}
	TakeScheduled(x, &second, b.now)
	b.refused("G31", ExitLeaseLost, "the turn of sched-1 is over", func() error { return EndScheduled(b.State, x.ID, first, "late", false, b.now) })

	// A turn ends for all times that were missed.
	b.now = b.now.Add(72 * time.Hour)
	b.must(EndScheduled(b.State, x.ID, second, "goal-2 begins", false, b.now))
	next, _ := x.Next.At()
	want(t, "the next time is ahead", next.After(b.now) && next.Sub(b.now) <= 24*time.Hour, true)
	want(t, "nothing is due", NextScheduled(b.State, "", none, b.now) == nil, true)
	want(t, "its result", x.Result, "goal-2 begins")
}

func TestAScheduleThatAPersonBrokeEnds(t *testing.T) {
	t.Parallel()
	b, x := nightly(t)
	turn := blackboard.Turn{Host: "h1", PID: 7}
	TakeScheduled(x, &turn, b.now)
	x.Cron = "at night"
	b.must(EndScheduled(b.State, x.ID, turn, "done", false, b.now))
	want(t, "its next time", x.Next, "")
	want(t, "it failed", x.Failed && strings.Contains(x.Result, "a cron line has five"), true)
	want(t, "due", Due(x, b.now.Add(1000*time.Hour)), false)
}

func TestWorkThatComesOnceIsTriedAgainForAnHour(t *testing.T) {
	t.Parallel()
	b := team(t)
	x := &blackboard.Schedule{Do: "import", Args: blackboard.List{"github", "12"}}
	b.refused("G09", ExitUsage, "say when", func() error { return AddSchedule(b.State, x, person, b.now) })
	b.must(AddSchedule(b.State, x, SystemActor(blackboard.ProcessFacts{}), b.now))
	for n := range 100 {
		if n == 99 {
			t.Fatal("it never ends")
		}
		next, _ := x.Next.At()
		b.now = next
		turn := blackboard.Turn{Host: "h1", PID: n + 1}
		TakeScheduled(x, &turn, b.now)
		b.must(EndScheduled(b.State, x.ID, turn, "no connection", true, b.now))
		if b.Schedule(x.ID) == nil {
			want(t, "tries", n, 12)
			break
		}
	}
}

func TestNewsJoinsOnlyWorkThatNobodyHasTried(t *testing.T) {
	t.Parallel()
	b := team(t)
	add := func() string {
		x := &blackboard.Schedule{Do: "land"}
		if err := AddSchedule(b.State, x, SystemActor(blackboard.ProcessFacts{}), b.now); err != nil && !IsAlreadyDone(err) {
			t.Fatal(err)
		}
		return x.ID
	}
	want(t, "the first", add(), "sched-1")
	want(t, "while it waits", add(), "sched-1")
	turn := blackboard.Turn{Host: "h1", PID: 7}
	TakeScheduled(b.Schedule("sched-1"), &turn, b.now)
	want(t, "while it looks", add(), "sched-2")
	want(t, "again", add(), "sched-2")
	// Work that waited for long is tried again after its first failure.
	b.now = b.now.Add(48 * time.Hour)
	b.must(EndScheduled(b.State, "sched-1", turn, "no connection", true, b.now))
	want(t, "tried again", b.Schedule("sched-1") != nil, true)
	TakeScheduled(b.Schedule("sched-1"), &turn, b.now)
	b.must(EndScheduled(b.State, "sched-1", turn, "no connection", true, b.now))
	want(t, "given up", b.Schedule("sched-1") == nil, true)
}

func TestWhoMayScheduleWhat(t *testing.T) {
	t.Parallel()
	b := team(t)
	add := func(a Actor, x blackboard.Schedule) func() error {
		return func() error { return AddSchedule(b.State, &x, a, b.now) }
	}
	line := "0 3 * * *"
	b.refused("G03", ExitRefused, "only people", add(supervisorOf("coder-1"), blackboard.Schedule{Cron: line, Do: "sync"}))
	for message, x := range map[string]blackboard.Schedule{
		"a goal is one text":        {Cron: line, Do: "goal"},
		"say in a sentence":         {Cron: line, Do: "goal", Args: blackboard.List{"Hello", "github", "12"}},
		"'land' cannot be":          {Cron: line, Do: "land"},
		"import what?":              {Cron: line, Do: "import"},
		"sync takes no argument":    {Cron: line, Do: "sync", Args: blackboard.List{"x"}},
		"'dance' cannot be":         {Cron: line, Do: "dance"},
		"--spec is for a goal":      {Cron: line, Do: "sync", Spec: "specs/vision.md"},
		"5 fields; a cron line has": {Cron: "0 3", Do: "sync"},
	} {
		if strings.HasPrefix(message, "5") {
			message = "2 fields; a cron line has five"
		}
		b.refused("G09", ExitUsage, message, add(person, x))
	}
	for n := range maxSchedules {
		b.must(AddSchedule(b.State, &blackboard.Schedule{Cron: line, Do: "goal", Args: blackboard.List{strings.Repeat("x", n+1)}}, person, b.now))
	}
	b.refused("G06", ExitRefused, "no more fit", add(person, blackboard.Schedule{Cron: line, Do: "sync"}))
	b.must(RemoveSchedule(b.State, "sched-7", person, b.now))
	b.refused("G01", ExitRefused, "no schedule sched-7", func() error { return RemoveSchedule(b.State, "sched-7", person, b.now) })
}
