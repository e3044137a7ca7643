package outcome

import (
	"liza/pkg/exitcmd"
	"liza/pkg/verb"
)

// verdictOf turns the payload of a reviewer into a verdict.
func verdictOf(r *exitcmd.ReviewExit, task string) verb.VerdictInput {
	in := verb.VerdictInput{Task: task, Reason: r.Reason, Findings: r.Findings, Prior: r.Prior, Suggestions: r.Suggestions, Supervisor: true,
		Verdict: map[string]verb.Verdict{exitcmd.ReviewOK: verb.Approve, exitcmd.ReviewNeedsFix: verb.Reject, exitcmd.ReviewReplan: verb.Replan, exitcmd.ReviewStuck: verb.StuckReview}[r.Status]}
	for _, x := range r.Inject {
		in.Inject = append(in.Inject, x.Fix())
	}
	switch l := r.Learn.(type) {
	case string:
		in.Learn = []string{l}
	case []any:
		for _, x := range l {
			if s, ok := x.(string); ok {
				in.Learn = append(in.Learn, s)
			}
		}
	}
	return in
}
