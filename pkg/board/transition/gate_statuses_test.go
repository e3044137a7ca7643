package transition

import (
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// L-14: what people decide about work is allowed in its own statuses, and in no other one;
// the refusal names the status.
func TestPeoplesDecisionsAreRefusedInTheWrongStatus(t *testing.T) {
	t.Parallel()
	waits := []string{"approved, waiting for a person", "approved, waiting, in the last cycle",
		// a person is one of the reviewers of a quorum that has begun
		"ready, one of two has approved", "ready, one of two has approved in a run that goes on", "ready, one of two has approved, the other reviews"}
	ready := []string{"ready, nobody reviews", "ready, under review", "ready, under review for the last time", "ready, review failed too often", "ready, the review lease is over",
		"ready, the review is stuck", "ready, without need of a reviewer"}
	for _, v := range []struct {
		name    string
		allowed []string
		do      func(b *board) error
	}{
		{"approve-merge", waits, func(b *board) error { return ApproveMerge(b.State, "x", person, b.reviewed("x"), b.now) }},
		{"approve-merge, mode disabled", append(slices.Clone(waits), ready...), func(b *board) error {
			in := b.reviewed("x")
			in.ReviewMode = "disabled"
			return ApproveMerge(b.State, "x", person, in, b.now)
		}},
		{"reject-merge", waits, func(b *board) error {
			return RejectMerge(b.State, "x", person, Input{Reason: "a.go:1 is wrong"}, b.now)
		}},
		{"reject-merge, mode disabled", append(slices.Clone(waits), ready...), func(b *board) error {
			return RejectMerge(b.State, "x", person, Input{Reason: "a.go:1 is wrong", ReviewMode: "disabled"}, b.now)
		}},
		{"resubmit", []string{"blocked by its cost"}, func(b *board) error {
			return Resubmit(b.State, "x", person, Input{Limits: blackboard.Settings{"cost_cents": 5000}}, b.now)
		}},
	} {
		for _, s := range situations {
			t.Run(v.name+", "+s.name, func(t *testing.T) {
				t.Parallel()
				if s.status == "" || strings.HasPrefix(s.name, "claimed, a message") {
					return
				}
				b := situated(t, s)
				before := b.Task("x").Status
				err := v.do(b)
				allowed := slices.Contains(v.allowed, s.name) || strings.HasSuffix(s.name, ", on hold") && slices.Contains(v.allowed, strings.TrimSuffix(s.name, ", on hold"))
				switch {
				case allowed && err != nil && !strings.Contains(err.Error(), "hold"):
					t.Errorf("refused: %v", err)
				case !allowed && err == nil:
					t.Errorf("allowed, and x is %s now", b.Task("x").Status)
				case !allowed && !strings.Contains(err.Error(), string(before)) && !strings.Contains(err.Error(), "not halted by a limit"):
					t.Errorf("the refusal does not name %s: %v", before, err)
				}
				if !allowed {
					b.status("x", before)
				}
			})
		}
	}
}

// L-14: an answer belongs to an open question.
func TestAnAnswerNeedsAnOpenQuestion(t *testing.T) {
	t.Parallel()
	for _, s := range situations {
		if s.status == "" || s.status == blackboard.Blocked {
			continue
		}
		b := situated(t, s)
		open := slices.DeleteFunc(slices.Clone(b.Questions), func(q *blackboard.Question) bool { return q.Status != "open" || q.Task != "x" })
		if len(open) > 0 {
			t.Errorf("%s has %d open questions", s.name, len(open))
		}
	}
	b := situated(t, situations[slices.IndexFunc(situations, func(s situation) bool { return s.name == "blocked with a question" })])
	id := b.Questions[len(b.Questions)-1].ID
	if _, _, err := AnswerQuestion(b.State, id, "yes", person, b.now); err != nil {
		t.Fatal(err)
	}
	b.refused("G06", ExitRefused, "question "+id+" is answered", func() error { _, _, err := AnswerQuestion(b.State, id, "no", person, b.now); return err })
	b.refused("G05", ExitRefused, "no question 'q-99'", func() error { _, _, err := AnswerQuestion(b.State, "q-99", "no", person, b.now); return err })
}
