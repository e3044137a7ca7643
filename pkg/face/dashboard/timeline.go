package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// BuildTimeline returns who worked on which task in the sprint, and when: spans from the ledger of runs and from present
// runs, marks from the histories of tasks (all of the sprint, archived ones included) and from sprint and goal on the board.
func BuildTimeline(s *blackboard.State, tasks []*blackboard.Task, runs []history.UsageLine, now time.Time) Timeline {
	tl := Timeline{To: blackboard.TimeOf(now), Lanes: []Lane{}, Marks: []Mark{}}
	if s == nil {
		return tl
	}
	if s.Sprint != nil && s.Sprint.Timeline != nil {
		tl.From = s.Sprint.Timeline.Started
		if at, ok := s.Sprint.Timeline.Ended.At(); ok && at.Before(now) {
			tl.To = s.Sprint.Timeline.Ended
		}
	}
	lanes := map[string]*Lane{}
	lane := func(agent, kind string) *Lane {
		if lanes[agent] == nil {
			role, _, ok := blackboard.ParseAgentID(agent)
			if !ok {
				role = blackboard.Role(kind)
			}
			lanes[agent] = &Lane{Agent: agent, Role: string(role), Spans: []Span{}}
		}
		return lanes[agent]
	}
	for _, r := range runs {
		at, ok := r.At.At()
		if !ok || !during(s, r.At) || r.Agent == "" {
			continue
		}
		l := lane(r.Agent, r.Kind)
		l.Spans = append(l.Spans, Span{Task: r.Task, Kind: spanKind(r.Kind), From: blackboard.TimeOf(at.Add(-time.Duration(r.Seconds) * time.Second)), Until: r.At, Outcome: r.Outcome})
	}
	for id, a := range s.Agents {
		l := lane(id, string(a.Role))
		if a.Child != nil && !a.Child.Started.None() {
			l.Spans = append(l.Spans, Span{Task: a.Child.Task, Kind: spanKind(string(a.Role)), From: a.Child.Started})
		}
	}
	for _, l := range lanes {
		slices.SortStableFunc(l.Spans, func(a, b Span) int { return compareTimes(a.From, b.From) })
		tl.Lanes = append(tl.Lanes, *l)
	}
	slices.SortFunc(tl.Lanes, func(a, b Lane) int { return compareAgents(a.Agent, b.Agent) })
	tl.Marks = marksOf(s, tasks)
	if _, ok := tl.From.At(); !ok {
		tl.From = tl.first()
	}
	return tl
}

// during reports whether t is in the sprint. Its end may be recorded a moment later.
func during(s *blackboard.State, t blackboard.Time) bool {
	if !since(s, t) {
		return false
	}
	at, ok := t.At()
	if !ok || s.Sprint == nil || s.Sprint.Timeline == nil {
		return true
	}
	ended, over := s.Sprint.Timeline.Ended.At()
	return !over || !at.After(ended.Add(time.Minute))
}

// spanKind is the word for a run of an agent of that role.
func spanKind(role string) string {
	switch role {
	case string(blackboard.RolePlanner):
		return "plan"
	case string(blackboard.RoleReviewer):
		return "review"
	}
	return "work"
}

// first is when the first thing happened that the timeline shows; its end when nothing did.
func (tl Timeline) first() blackboard.Time {
	first := tl.To
	for _, l := range tl.Lanes {
		for _, s := range l.Spans {
			if compareTimes(s.From, first) < 0 {
				first = s.From
			}
		}
	}
	if len(tl.Marks) > 0 && compareTimes(tl.Marks[0].At, first) < 0 {
		first = tl.Marks[0].At
	}
	return first
}

// markWords are the events of a task that a timeline shows, by their names in histories.
var markWords = map[blackboard.HistoryEvent]string{
	blackboard.HistoryReadyForReview: "submitted", blackboard.HistorySubmittedForReview: "submitted", blackboard.HistoryRejected: "rejected", blackboard.HistoryApproved: "approved", blackboard.HistoryMerged: "merged", blackboard.HistoryBlocked: "blocked",
	blackboard.HistoryUnblocked: "unblocked", blackboard.HistoryIntegrationFailed: "merge failed", blackboard.HistoryAbandoned: "abandoned", blackboard.HistorySuperseded: "replaced",
}

func marksOf(s *blackboard.State, tasks []*blackboard.Task) []Mark {
	list := []Mark{}
	add := func(at blackboard.Time, kind, task, text string) {
		if _, ok := at.At(); ok && during(s, at) {
			list = append(list, Mark{At: at, Kind: kind, Task: task, Text: strings.Join(strings.Fields(text), " ")})
		}
	}
	for _, t := range tasks {
		for _, h := range t.History {
			if markWords[h.Event] != "" {
				add(h.Time, markWords[h.Event], t.ID, cmp.Or(h.Reason, h.Cause))
			}
		}
	}
	for _, q := range s.Questions {
		if !q.AnsweredAt.None() {
			add(q.AnsweredAt, "answered", q.Task, q.Text+" → "+q.Answer)
		}
	}
	if s.Sprint != nil {
		for _, c := range s.Sprint.Checkpoints {
			add(c.At, "checkpoint", "", c.Message)
		}
	}
	if s.Goal != nil {
		add(s.Goal.CompletedAt, "goal", "", "the goal is complete")
	}
	slices.SortStableFunc(list, func(a, b Mark) int { return compareTimes(a.At, b.At) })
	return list
}

// compareTimes orders times of the file; a text that is not a time comes first.
func compareTimes(a, b blackboard.Time) int {
	x, _ := a.At()
	y, _ := b.At()
	return x.Compare(y)
}

// since reports whether something happened in the current sprint; a time that cannot be
// read counts.
func since(s *blackboard.State, t blackboard.Time) bool {
	at, ok := t.At()
	if !ok || s.Sprint == nil || s.Sprint.Timeline == nil {
		return true
	}
	started, ok := s.Sprint.Timeline.Started.At()
	return !ok || !at.Before(started)
}
