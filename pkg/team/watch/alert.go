package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/team/findings"
)

// Alert is one finding that was raised. Kind and Subject identify it.
type Alert struct {
	Kind     blackboard.AlertKind `json:"kind"`
	Subject  string               `json:"subject"` // a task, an agent, a file; one word
	Severity string               `json:"severity"`
	Message  string               `json:"message"`        // one line
	Since    time.Time            `json:"since"`          // when it was raised
	Until    time.Time            `json:"until,omitzero"` // of a one-time notice: when it is cleared
}

// alertOf is a finding in the form of alerts.json and alerts.log, whose subject is one word.
func alertOf(f findings.Finding) Alert {
	return Alert{Kind: f.Kind, Subject: word(f.Subject), Severity: f.Severity, Message: prose.OneLine(f.Line(), mostMessage)}
}

// mostMessage is how many characters a message has, short enough for a log.
const mostMessage = 500

// Notice is a one-time notice: something that happened, rather than something that lasts. It is cleared after one day.
func Notice(kind blackboard.AlertKind, subject, message string, now time.Time) Alert {
	a := alertOf(findings.Finding{Kind: kind, Subject: subject, Severity: findings.SeverityOf(kind), Text: message})
	a.Since = now.UTC().Truncate(time.Second)
	a.Until = a.Since.Add(noticeLife)
	return a
}

// String is "BLOCKED task-1: message".
func (a Alert) String() string { return string(a.Kind) + " " + a.Subject + ": " + a.Message }

type identity struct {
	kind    blackboard.AlertKind
	subject string
}

func (a Alert) id() identity { return identity{a.Kind, a.Subject} }

// Change is an alert that was raised or cleared. Old is one that was open already when the
// watcher began: it is shown, and nobody is called a second time.
type Change struct {
	Alert
	At      time.Time
	Cleared bool
	Old     bool
}

// String returns the line of alerts.log without its line break (specs/protocol.md#10.1).
func (c Change) String() string {
	at := c.At.UTC().Format(time.RFC3339)
	switch {
	case c.Cleared:
		return fmt.Sprintf("%s CLEARED %s %s after %s", at, c.Kind, c.Subject, c.After())
	case c.Old:
		return fmt.Sprintf("%s OPEN %s", c.Since.UTC().Format(time.RFC3339), c.Alert)
	}
	return fmt.Sprintf("%s RAISED %s", at, c.Alert)
}

// After returns how long a cleared alert was open.
func (c Change) After() time.Duration { return max(c.At.Sub(c.Since), 0).Round(time.Second) }

// Sink shows changes to people, for example on a terminal.
type Sink interface {
	Tell(Change)
}

// noticeLife is how long a one-time notice stays open.
const noticeLife = 24 * time.Hour

// advance compares what is open with what was found, and gives what is open now and what
// changed. A notice stays until its time is over; one whose condition holds as well is
// cleared with the condition.
func advance(open []Alert, found []findings.Finding, now time.Time) (next []Alert, changes []Change) {
	now = now.UTC().Truncate(time.Second)
	holds, order := map[identity]Alert{}, []identity{}
	for _, f := range found {
		a := alertOf(f)
		holds[a.id()] = a
		order = append(order, a.id())
	}
	for _, a := range open {
		if f, ok := holds[a.id()]; ok {
			delete(holds, a.id())
			a.Message, a.Severity, a.Until = f.Message, f.Severity, f.Until
			next = append(next, a)
		} else if now.Before(a.Until) {
			next = append(next, a)
		} else {
			changes = append(changes, Change{Alert: a, At: now, Cleared: true})
		}
	}
	for _, id := range order {
		if a, isNew := holds[id]; isNew {
			delete(holds, id)
			a.Since = now
			next = append(next, a)
			changes = append(changes, Change{Alert: a, At: now})
		}
	}
	return next, changes
}

// bySeverity sorts a copy: errors first, then the order in which they were raised.
func bySeverity(list []Alert) []Alert {
	sorted := slices.Clone(list)
	rank := map[string]int{findings.Error: 0, findings.Warning: 1, findings.Info: 2}
	slices.SortStableFunc(sorted, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), a.Since.Compare(b.Since))
	})
	return sorted
}

// word makes one word of a subject, so that the log can be read again.
func word(text string) string {
	text = strings.TrimRight(strings.Join(strings.Fields(text), "_"), ":")
	if text == "" {
		return "-"
	}
	return text
}
