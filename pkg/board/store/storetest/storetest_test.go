package storetest

import (
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"liza/pkg/board/blackboard"
)

func TestADoubleClaimIsNoPossibleHistory(t *testing.T) {
	t.Parallel()
	claim := func(client string, from, to int64, seen Seen) porcupine.Operation {
		return porcupine.Operation{Input: Call{"claim", "task-1", client}, Call: from, Output: seen, Return: to}
	}
	free := Seen{blackboard.Unclaimed, "", true}
	first, second := claim("coder-1", 1, 5, free), claim("coder-2", 2, 6, free)
	if Linearizable([]porcupine.Operation{first, second}) {
		t.Error("two claims at once that both succeeded are taken for possible")
	}
	if !Linearizable([]porcupine.Operation{first, claim("coder-2", 2, 6, Seen{blackboard.Claimed, "coder-1", false})}) {
		t.Error("a claim that came too late is taken for impossible")
	}
	if Linearizable([]porcupine.Operation{first, claim("coder-2", 7, 9, Seen{blackboard.Unclaimed, "", false})}) {
		t.Error("a look at a state that is over is taken for possible")
	}
}

func TestAJournalHasToBeAPathThroughTheTable(t *testing.T) {
	t.Parallel()
	for journal, wrong := range map[string]string{
		"task_added claimed ready_for_review review_claimed approved merged": "",
		"task_added tasks_finalized claimed released claimed":                "",
		"task_added claimed lease_expired claimed":                           "",
		"ready_for_review approved":                                          "",
		"task_added registered claimed edited_by_hand merged":                "",
		"task_added claimed claimed":                                         "claimed",
		"task_added approved":                                                "approved",
		"task_added claimed ready_for_review approved merged merged":         "merged",
		"task_added task_added":                                              "task_added",
		"task_added claimed lease_expired released":                          "released",
		"task_added claimed ready_for_review rejected merged":                "merged",
		"task_added claimed ready_for_review approved integration_failed claimed ready_for_review approved merged claimed": "claimed",
	} {
		var entries []blackboard.Entry
		for i, action := range strings.Fields(journal) {
			e := blackboard.Entry{Rev: i + 1, Action: blackboard.Action(action), Task: "task-1"}
			if action == "edited_by_hand" {
				e.Task = ""
			}
			entries = append(entries, e)
		}
		err := Trace(entries)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), ": "+wrong+" by") {
			t.Errorf("%s: %v, want a complaint about %q", journal, err, wrong)
		}
	}
}
