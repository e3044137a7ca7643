package dashboard

import (
	"time"

	"liza/pkg/board/blackboard"
)

// day and clock format a time of the board for people, in UTC; other texts stay as they are.
func day(t blackboard.Time) string { return formatted(t, "2 January 2006, 15:04 UTC") }

func clock(t blackboard.Time) string { return formatted(t, "2 Jan 15:04") }

func formatted(t blackboard.Time, layout string) string {
	at, ok := t.At()
	if !ok {
		return string(t)
	}
	return at.UTC().Format(layout)
}

// period is from when to when, without saying the day twice.
func period(from, to blackboard.Time) string {
	a, ok := from.At()
	b, ok2 := to.At()
	switch {
	case !ok && !ok2:
		return ""
	case !ok || !ok2 || a.Equal(b):
		return day(from)
	case a.UTC().Truncate(24 * time.Hour).Equal(b.UTC().Truncate(24 * time.Hour)):
		return a.UTC().Format("2 January 2006, 15:04") + " to " + b.UTC().Format("15:04 UTC")
	}
	return a.UTC().Format("2 January 2006, 15:04") + " to " + day(to)
}
