package transition

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a host of the team may have no time zones

	"github.com/adhocore/gronx"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// A schedule begins work at its times (specs/protocol.md#13.15). What was missed, or had to wait, is made up for once: the next
// time is counted from the end of a turn.

// maxSchedules is how many schedules a board may have.
const maxSchedules = 100

// turnTime is how long a turn lasts at most; retryOnce and giveUpOnce are for work that comes once and fails.
const (
	turnTime   = 15 * time.Minute
	retryOnce  = 5 * time.Minute
	giveUpOnce = time.Hour
)

// nextTime returns the first time after now at which a cron line is due by the wall clock of zone. A time that the clock leaves
// out comes when it has been put forward, and one that it shows twice comes once.
func nextTime(cron, zone string, now time.Time) (time.Time, error) {
	if n := len(strings.Fields(cron)); n != 5 {
		return time.Time{}, fmt.Errorf("%q has %s; a cron line has five: minute, hour, day of the month, month, day of the week", cron, plural(n, "field"))
	}
	where, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return time.Time{}, fmt.Errorf("%q is not the name of a time zone, such as Europe/Berlin", zone)
	}
	between := func(t time.Time, in *time.Location) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, in)
	}
	for wall := between(now.In(where), time.UTC); ; {
		if wall, err = gronx.NextTickAfter(cron, wall, false); err != nil {
			return time.Time{}, fmt.Errorf("%q is not a cron line, or its time never comes: %w", cron, err)
		}
		if at := between(wall, where); at.After(now) {
			return at, nil
		}
	}
}

// AddSchedule puts a schedule on the board and gives it its id and its next time. People may; Liza itself adds work that comes once.
func AddSchedule(s *blackboard.State, x *blackboard.Schedule, a Actor, now time.Time) error {
	by, err := identify(s, a, now)
	if err == nil {
		err = maySchedule(s, x, by)
	}
	if err != nil {
		return err
	}
	next := now
	if x.Cron != "" {
		if next, err = nextTime(x.Cron, x.Zone, now); err != nil {
			return refuse("G09", ExitUsage, "liza help schedule", "%v", err)
		}
	}
	n := 0
	for _, old := range s.Schedules {
		untried := old.Turn == nil && old.Last == "" // what is under way may have looked before the news
		if (x.Cron != "" || untried) && old.Cron == x.Cron && old.Zone == x.Zone && old.Do == x.Do && old.Spec == x.Spec && slices.Equal(old.Args, x.Args) && slices.Equal(old.Labels, x.Labels) {
			x.ID = old.ID
			return ErrAlreadyDone
		}
		k, _ := strconv.Atoi(strings.TrimPrefix(old.ID, "sched-"))
		n = max(n, k)
	}
	x.ID, x.By, x.Created, x.Next = fmt.Sprintf("sched-%d", n+1), a.name(), blackboard.TimeOf(now), blackboard.TimeOf(next)
	s.Schedules = append(s.Schedules, x)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionScheduled, Detail: oneLine(x.ID + ": " + strings.TrimSpace(x.Cron+" "+x.Zone) + " " + x.What()), Extra: via(a)})
	return nil
}

func maySchedule(s *blackboard.State, x *blackboard.Schedule, by caller) error {
	usage := func(format string, args ...any) error {
		return refuse("G09", ExitUsage, "liza help schedule", format, args...)
	}
	goal, imports, system := x.Do == blackboard.ScheduleGoal, x.Do == blackboard.ScheduleImport, by.party&BySystem != 0
	switch {
	case by.party&ByHuman == 0 && !system:
		return refuse("G03", ExitRefused, "liza note TEXT", "only people may schedule work")
	case !goal && !imports && x.Do != blackboard.ScheduleSync && (x.Do != blackboard.ScheduleLand || !system):
		return usage("'%s' cannot be scheduled; it must be goal, import or sync", x.Do)
	case goal && (len(x.Args) == 0 || blank(x.Args[0]) || len(x.Args) > 1 && !system):
		return usage("a goal is one text: say in a sentence what is to be built")
	case imports && len(x.Args) == 0:
		return usage("import what? name a tracker, files or folders")
	case x.Do == blackboard.ScheduleSync && len(x.Args) > 0:
		return usage("sync takes no argument")
	case x.Spec != "" && !goal, len(x.Labels) > 0 && !imports:
		return usage("--spec is for a goal, --label for an import")
	case x.Cron == "" && !system:
		return usage("say when: a cron line such as '0 3 * * 1-5'")
	case len(s.Schedules) >= maxSchedules:
		return refuse("G06", ExitRefused, "liza schedule --list", "the board has %d schedules, and no more fit", maxSchedules)
	}
	return nil
}

// RemoveSchedule takes a schedule off the board. What its turn under way does is not undone.
func RemoveSchedule(s *blackboard.State, id string, a Actor, now time.Time) error {
	x := s.Schedule(id)
	if x == nil {
		return refuse("G01", ExitRefused, "liza schedule --list", "there is no schedule %s", id)
	}
	s.Schedules = slices.DeleteFunc(s.Schedules, func(old *blackboard.Schedule) bool { return old == x })
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionUnscheduled, Detail: oneLine(id + ": " + x.What()), Extra: via(a)})
	return nil
}

// Due reports whether the time of a schedule has come.
func Due(x *blackboard.Schedule, now time.Time) bool {
	next, ok := x.Next.At()
	return ok && !now.Before(next)
}

// ScheduleWaits says why a schedule that is due cannot be carried out yet, "" when it can. control is what lets nothing new start.
func ScheduleWaits(s *blackboard.State, x *blackboard.Schedule, control string) string {
	switch {
	case control != "":
		return control
	case x.Do == blackboard.ScheduleGoal && goalOpen(s):
		return s.Goal.ID + " is IN_PROGRESS"
	}
	return ""
}

// NextScheduled returns the first schedule that is due, that nobody carries out, and that waits for nothing, or nil.
func NextScheduled(s *blackboard.State, control string, f blackboard.ProcessFacts, now time.Time) *blackboard.Schedule {
	for _, x := range s.Schedules {
		if Due(x, now) && x.Turn.Over(now, f) && ScheduleWaits(s, x, control) == "" {
			return x
		}
	}
	return nil
}

// TakeScheduled gives a schedule to the process of turn, which has turnTime for it. It is free again when that process is gone.
func TakeScheduled(x *blackboard.Schedule, turn *blackboard.Turn, now time.Time) {
	turn.Expires = blackboard.TimeOf(now.Add(turnTime))
	own := *turn
	x.Turn = &own
}

// EndScheduled records what came of a turn, and when the next one is. It refuses a turn that another process has taken over.
func EndScheduled(s *blackboard.State, id string, turn blackboard.Turn, result string, failed bool, now time.Time) error {
	x := s.Schedule(id)
	if x == nil || x.Turn == nil || *x.Turn != turn {
		return refuse("G31", ExitLeaseLost, "liza schedule --list", "the turn of %s is over", id)
	}
	first := x.Last == ""
	x.Turn, x.Last, x.Result, x.Failed = nil, blackboard.TimeOf(now), oneLine(result), failed
	created, _ := x.Created.At()
	switch next, err := nextTime(x.Cron, x.Zone, now); {
	case x.Cron == "" && failed && (first || now.Sub(created) < giveUpOnce):
		x.Next = blackboard.TimeOf(now.Add(retryOnce))
	case x.Cron == "":
		s.Schedules = slices.DeleteFunc(s.Schedules, func(old *blackboard.Schedule) bool { return old == x })
	case err != nil: // a person edited it
		x.Next, x.Result, x.Failed = "", oneLine(err.Error()), true
	default:
		x.Next = blackboard.TimeOf(next)
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: blackboard.System, Action: blackboard.ActionScheduleRun, Detail: oneLine(id + ": " + result)})
	return nil
}

// ScheduleText says what a schedule does, when it comes next by the clock of its zone, and what came of it last.
func ScheduleText(s *blackboard.State, x *blackboard.Schedule, control string, now time.Time) string {
	when := "never comes"
	if next, ok := x.Next.At(); ok {
		if where, err := time.LoadLocation(x.Zone); err == nil {
			next = next.In(where)
		}
		when = next.Format("Mon 2 Jan 15:04 MST")
		waits := ScheduleWaits(s, x, control)
		switch {
		case x.Turn != nil:
			when = "under way on " + x.Turn.Host
		case !Due(x, now):
			when = "next " + when
		case waits != "":
			when = "due since " + when + ", waits: " + waits + "; it comes once"
		default:
			when = "due since " + when
		}
	}
	text := fmt.Sprintf("%s: %s, %s", x.ID, when, prose.OneLine(x.What(), 80))
	if x.Cron != "" {
		text += fmt.Sprintf(" (%s, %s)", x.Cron, cmp.Or(x.Zone, "UTC"))
	}
	if x.Result != "" {
		text += "; last: " + map[bool]string{true: "failed: "}[x.Failed] + x.Result
	}
	return text
}
