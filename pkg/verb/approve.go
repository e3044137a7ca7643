package verb

import (
	"context"
	"fmt"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/transition"
)

// MergeDecision is what a person decides about work that waits for the human merge gate.
type MergeDecision struct {
	Task, Reason string
	Override     bool // in spite of warnings, in mode strict
}

// ApproveMerge releases the merge of a task that waits for a person, or, in review.mode
// disabled, approves what was submitted (T19, T41). Any supervisor then merges it.
func (d *Service) ApproveMerge(ctx context.Context, in MergeDecision) (Done, error) {
	if err := d.AdminOnly("approve a merge"); err != nil {
		return Done{Task: in.Task}, err
	}
	event, err := d.mergeDecision(ctx, in, true)
	if err != nil {
		return Done{Task: in.Task}, err
	}
	event.Merge = &transition.MergeFacts{Override: in.Override}
	open := 0
	done, err := d.Event(ctx, "approve-merge", in.Task, func(s *blackboard.State, a transition.Actor) error {
		if t := s.Find(in.Task); t != nil {
			open = len(s.OpenComments(t))
		}
		return transition.ApproveMerge(s, in.Task, a, event, d.Now())
	})
	if err == nil && open > 0 && !done.Already {
		done.Notices = append(done.Notices, fmt.Sprintf("%s on %s: nobody is going to work on that any more", prose.Count(open, "open comment"), in.Task))
	}
	return done, err
}

// RejectMerge sends work that waits for a person back to its coder (T20).
func (d *Service) RejectMerge(ctx context.Context, in MergeDecision) (Done, error) {
	event, err := d.mergeDecision(ctx, in, false)
	if err != nil {
		return Done{Task: in.Task}, err
	}
	return d.Event(ctx, "reject-merge", in.Task, func(s *blackboard.State, a transition.Actor) error {
		return transition.RejectMerge(s, in.Task, a, event, d.Now())
	})
}

// mergeDecision has the facts of both; without a reviewer the worktree is looked at (G55, G56).
func (d *Service) mergeDecision(ctx context.Context, in MergeDecision, approve bool) (transition.Input, error) {
	event := d.Input()
	if err := d.Clean(Text{"--reason", &in.Reason}); err != nil {
		return event, err
	}
	event.Reason = in.Reason
	s, err := d.View(ctx)
	if err != nil {
		return event, err
	}
	if t := s.Task(in.Task); t != nil && t.Status == blackboard.ReadyForReview && t.ChangesFiles() {
		facts, err := d.reviewFacts(ctx, s, t)
		if err != nil {
			return event, err
		}
		event.Review = &facts
		var found []*blackboard.Finding
		if approve {
			found, err = d.takenAway(ctx, s, t)
		}
		if err != nil {
			return event, err
		}
		if len(found) > 0 && (!in.Override || strings.TrimSpace(in.Reason) == "") {
			return event, Refuse("liza diff "+t.ID, "%s; to approve it all the same say --override and --reason", ErrorsFound(found))
		}
		if err := d.quorum(ctx, s, t, &event); err != nil {
			return event, err
		}
	}
	return event, nil
}
