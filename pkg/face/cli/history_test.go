package cli

import (
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
)

// The history and the view of the Logist document use the same words.
func TestTheHistoryNamesStatusesAsTheLogistViewDoes(t *testing.T) {
	t.Parallel()
	for _, status := range blackboard.Statuses {
		for _, hold := range []*blackboard.Hold{nil, {By: "human"}} {
			for _, halt := range []*blackboard.Halt{nil, {Kind: "cost"}, {Kind: "time"}, {Kind: "iteration"}, {Kind: "other"}} {
				for _, approval := range []*blackboard.MergeApproval{nil, {Required: true}, {Required: true, Decision: "approved"}} {
					for _, reviewer := range []string{"", "code-reviewer-1"} {
						task := &blackboard.Task{ID: "task-1", Status: status, Hold: hold, Halt: halt, MergeApproval: approval, ReviewingBy: reviewer}
						if is, should := history.JobState(task, reviewer != ""), dashboard.ViewStatus(task, "logist"); is != should {
							t.Errorf("%+v: the history says %s, the view %s", task, is, should)
						}
					}
				}
			}
		}
	}
}
