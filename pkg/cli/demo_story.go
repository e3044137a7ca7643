package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/prose"
	"liza/pkg/verb"
)

// A story tells a sprint in the lines that matter, as they happen: what was planned, who refused
// what and why, what was asked, which merge stopped, what came onto the branch. It reads the journal.
type story struct {
	out      io.Writer
	service  *verb.Service
	rev      int
	troubles map[string]string // task → why it was handed back
}

// follow tells until ctx ends, and then what is left. done is closed at the end.
func (s *story) follow(ctx context.Context) (done chan struct{}) {
	done = make(chan struct{})
	changes := s.service.Store.Watch(ctx)
	go func() {
		defer close(done)
		for {
			s.tell(context.WithoutCancel(ctx))
			select {
			case <-changes:
			case <-ctx.Done():
				s.tell(context.WithoutCancel(ctx))
				return
			}
		}
	}()
	return done
}

func (s *story) tell(ctx context.Context) {
	entries, err := (history.Journal{Path: s.service.Project.Journal()}).Read(history.Filter{AfterRev: s.rev})
	if err != nil || len(entries) == 0 {
		return // half written: the next look sees all of it
	}
	st, err := s.service.View(ctx)
	if err != nil || st.Revision < entries[len(entries)-1].Rev {
		return
	}
	for _, e := range entries {
		s.rev = max(s.rev, e.Rev)
		if line := s.line(st, e); line != "" {
			at, _ := e.Timestamp.At()
			fmt.Fprintf(s.out, "%s  %s\n", at.Local().Format("15:04:05"), line)
		}
	}
}

// line is what one entry has to say, "" for most.
func (s *story) line(st *blackboard.State, e blackboard.Entry) string {
	switch e.Action {
	case blackboard.ActionPlanApplied:
		_, tasks, _ := strings.Cut(e.Detail, ": ")
		return fmt.Sprintf("%-16s plans %s: %s", e.Agent, prose.Count(strings.Count(tasks, ",")+1, "task"), tasks)
	case blackboard.ActionBlocked:
		text := e.Detail
		if t := st.Task(e.Task); t != nil && len(t.BlockedQuestions) > 0 {
			text += " It asks: " + t.BlockedQuestions[0]
		}
		return fmt.Sprintf("%-16s is blocked at %s: %s", e.Agent, e.Task, text)
	case blackboard.ActionSuperseded:
		by, why, _ := strings.Cut(strings.TrimPrefix(e.Detail, "by "), ": ")
		return fmt.Sprintf("%-16s replaces %s by %s: %s", e.Agent, e.Task, by, why)
	case blackboard.ActionRejected:
		s.troubles[e.Task] = "mends"
		return fmt.Sprintf("%-16s rejects %s: %s", e.Agent, e.Task, e.Detail)
	case blackboard.ActionIntegrationFailed:
		s.troubles[e.Task] = "solves the conflict of"
		return fmt.Sprintf("%-16s cannot merge %s (%s): the branch stays as it was, a coder gets both sides", "liza", e.Task, e.Detail)
	case blackboard.ActionReadyForReview:
		how := s.troubles[e.Task]
		if how == "" {
			return ""
		}
		delete(s.troubles, e.Task)
		_, summary, _ := strings.Cut(e.Detail, ": ")
		return fmt.Sprintf("%-16s %s %s: %s", e.Agent, how, e.Task, summary)
	case blackboard.ActionMerged:
		t := st.Task(e.Task)
		if t == nil || t.KindOf() == blackboard.MessageTask {
			return ""
		}
		return fmt.Sprintf("%-16s merges %s, approved by %s", "liza", e.Task, t.ApprovedBy)
	case blackboard.ActionGoalCompleted:
		return fmt.Sprintf("%-16s goal COMPLETED: %s", "liza", e.Detail)
	}
	return ""
}
