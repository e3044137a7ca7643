package dashboard

import (
	"strings"
	"time"

	"liza/pkg/blackboard"
)

var statusWords = map[blackboard.Status]string{
	blackboard.Draft: "draft", blackboard.Unclaimed: "not begun", blackboard.Claimed: "in work", blackboard.ReadyForReview: "in review", blackboard.Rejected: "sent back",
	blackboard.Approved: "approved", blackboard.IntegrationFailed: "merge failed", blackboard.Blocked: "blocked", blackboard.Merged: "merged", blackboard.Abandoned: "given up", blackboard.Superseded: "replaced",
}

// StatusWords is a status in words for somebody who does not know Liza.
func StatusWords(s blackboard.Status) string {
	if w := statusWords[s]; w != "" {
		return w
	}
	return strings.ToLower(strings.ReplaceAll(string(s), "_", " "))
}

// day and clock are a time of the board for people, in UTC; what is not a time is shown as it is.
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
