package transition

import (
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// journal makes entries of lines "REV AGENT ACTION TASK detail"; REV is the next one for "+", and that of the line before for "=".
// The first one is that of a new board.
func journal(t *testing.T, lines ...string) []blackboard.Entry {
	t.Helper()
	entries := []blackboard.Entry{{Rev: 1, Agent: "human", Action: blackboard.ActionInitialized}}
	for _, line := range lines {
		words := strings.SplitN(line, " ", 5)
		words = append(words, "", "", "")
		e := blackboard.Entry{Rev: entries[len(entries)-1].Rev, Agent: words[1], Action: blackboard.Action(words[2]), Task: words[3], Detail: words[4]}
		switch words[0] {
		case "+":
			e.Rev++
		case "=":
		case "-":
			e.Rev -= 2
		default:
			t.Fatalf("%q begins with neither +, - nor =", line)
		}
		if e.Task == "–" {
			e.Task = ""
		}
		entries = append(entries, e)
	}
	return entries
}

// honest is a task from its beginning to its end, with a rejection, a lease that expired, and a merge that failed once.
func honest() []string {
	return []string{
		"+ planner-1 task_added a",
		"+ coder-1 claimed a", "+ coder-1 checkpoint a", "+ system lease_expired a", "= coder-2 claimed a", "+ coder-2 ready_for_review a",
		"+ code-reviewer-1 review_claimed a", "+ code-reviewer-1 rejected a", "+ coder-2 claimed a", "+ coder-2 retried a", "+ coder-2 ready_for_review a",
		"+ code-reviewer-2 review_claimed a", "+ code-reviewer-2 approved a", "+ code-reviewer-2 integration_failed a",
		"+ coder-2 claimed a", "+ coder-2 ready_for_review a", "+ code-reviewer-1 review_claimed a", "+ code-reviewer-1 approved a", "+ system merged a",
	}
}

func TestAnHonestJournalIsAccepted(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"a task from its beginning to its end": honest(),
		"a draft":                              {"+ human task_added a", "+ planner-1 tasks_finalized a", "+ human abandoned a"},
		"the last review cycle":                {"+ human task_added a", "+ coder-1 claimed a", "+ coder-1 ready_for_review a", "+ code-reviewer-1 review_claimed a", "+ code-reviewer-1 rejected a", "= code-reviewer-1 blocked a", "+ human unblocked a"},
		"two reviewers":                        {"+ human task_added a", "+ coder-1 claimed a", "+ coder-1 ready_for_review a", "+ code-reviewer-1 review_claimed a", "+ code-reviewer-1 approval_recorded a", "+ code-reviewer-2 review_claimed a", "+ code-reviewer-2 approved a", "+ system merged a"},
		"a review that nobody ended":           {"+ human task_added a", "+ coder-1 claimed a", "+ coder-1 ready_for_review a", "+ code-reviewer-1 review_claimed a", "+ code-reviewer-2 review_claimed a", "+ code-reviewer-2 approved a"},
		"an approval that is void":             {"+ human task_added a", "+ coder-1 claimed a", "+ coder-1 ready_for_review a", "+ code-reviewer-1 review_claimed a", "+ code-reviewer-1 approved a", "+ code-reviewer-1 approval_voided a", "= code-reviewer-1 rejected a"},
		"a task added by hand":                 {"+ human edited_by_hand a state.yaml was edited by hand: a", "+ coder-1 claimed a"},
		"a status edited by hand":              {"+ human task_added a", "+ coder-1 claimed a", "+ human edited_by_hand a state.yaml was edited by hand: a", "= human released a", "+ coder-2 claimed a"},
		"a task removed by hand":               {"+ human task_added a", "+ human edited_by_hand – state.yaml was edited by hand: a, goal", "+ human edited_by_hand – state.yaml was edited by hand: a", "+ coder-1 ready_for_review a"},
		"more edits than are named":            {"+ human edited_by_hand – state.yaml was edited by hand: b, c, d, e, f and 2 more", "+ coder-1 claimed a"},
		"an edit of what cannot be compared":   {"+ human edited_by_hand – state.yaml was edited by hand", "+ coder-1 claimed a"},
		"a restored revision":                  {"+ human task_added a", "+ coder-1 claimed a", "+ coder-1 ready_for_review a", "+ human restored – revision 2 was put back as revision 5", "+ coder-2 claimed a"},
		"a revision from before a task":        {"+ human task_added a", "+ coder-1 claimed a", "+ human restored – revision 1 was put back as revision 4", "+ human task_added a"},
		"a journal that a person vouched for":  {"+ human task_added a", "+ coder-1 merged a", "+ human sealed – I know what happened", "+ coder-1 ready_for_review a"},
		"a journal that was chained again":     {"+ human task_added a", "+ system journal_chained – the record of the last write is missing", "+ coder-1 ready_for_review a"},
		"what is no step":                      {"+ coder-1 registered – generation 7", "+ human note a", "+ human task_edited a", "= system limit_warning a"},
	} {
		for _, d := range Replay(journal(t, lines...), nil, true) {
			t.Errorf("%s: %s", name, d.Message)
		}
	}
	old := []blackboard.Entry{{Agent: "coder-1", Action: "merged", Task: "a"}, {Rev: 4, Agent: "coder-1", Action: "ready_for_review", Task: "a"}, {Rev: 5, Agent: "code-reviewer-1", Action: "review_claimed", Task: "a"}, {Rev: 5, Agent: "code-reviewer-1", Action: "approved", Task: "a"}}
	if found := Replay(old, nil, true); len(found) > 0 {
		t.Errorf("a journal of Liza v1 that goes on: %v", found)
	}
}

func TestAForgedJournalIsRefusedWithTheEntry(t *testing.T) {
	t.Parallel()
	at := func(line string) func([]string) []string { // what is changed, in the lines of honest
		return func(lines []string) []string { return append(lines, line) }
	}
	without := func(i int) func([]string) []string {
		return func(lines []string) []string { return slices.Delete(lines, i, i+1) }
	}
	instead := func(i int, line string) func([]string) []string {
		return func(lines []string) []string { lines[i] = line; return lines }
	}
	first := func(n int, more ...string) func([]string) []string {
		return func(lines []string) []string { return append(lines[:n], more...) }
	}
	for name, c := range map[string]struct {
		forge func([]string) []string
		entry string // the revision, action and author that are named
		why   string
	}{
		"an approval by a coder":                        {instead(12, "+ coder-3 approved a"), "revision 13: approved by coder-3 on a", "may write it"},
		"an approval by its author":                     {instead(12, "+ coder-2 approved a"), "revision 13: approved by coder-2 on a", "may write it"},
		"an approval by a planner":                      {instead(12, "+ planner-1 approved a"), "approved by planner-1", "may write it"},
		"an approval by a person in place of a verdict": {instead(12, "+ human approved a"), "approved by human", "may write it"},
		"an approval by nobody":                         {instead(12, "+ mallory approved a"), "approved by mallory", "may write it"},
		"an approval by a reviewer who has no review":   {instead(12, "+ code-reviewer-3 approved a"), "approved by code-reviewer-3", "another agent has the task"},
		"an approval without a review":                  {first(6, "+ code-reviewer-1 approved a"), "approved by code-reviewer-1", "another agent has the task"},
		"an approval before the work is handed in":      {first(3, "+ code-reviewer-1 approved a"), "approved by code-reviewer-1", "the task is CLAIMED, and the entry needs READY_FOR_REVIEW"},
		"a merge without an approval":                   {first(7, "+ system merged a"), "revision 8: merged by system on a", "the task is READY_FOR_REVIEW, and the entry needs APPROVED"},
		"a merge of rejected work":                      {first(8, "+ system merged a"), "merged by system", "the task is REJECTED"},
		"a merge by a coder":                            {instead(18, "+ coder-2 merged a"), "merged by coder-2", "may write it"},
		"a second merge":                                {at("+ system merged a"), "merged by system", "the task is MERGED"},
		"a claim of a claimed task":                     {first(2, "+ coder-2 claimed a"), "revision 4: claimed by coder-2 on a", "the task is CLAIMED"},
		"a claim of a merged task":                      {at("+ coder-1 claimed a"), "claimed by coder-1", "the task is MERGED"},
		"a claim by a reviewer":                         {instead(1, "+ code-reviewer-1 claimed a"), "claimed by code-reviewer-1", "may write it"},
		"a claim of a task that is not there":           {first(1, "+ coder-1 claimed b"), "claimed by coder-1 on b", "not on the board"},
		"work handed in by another coder":               {instead(5, "+ coder-1 ready_for_review a"), "ready_for_review by coder-1", "another agent has the task"},
		"work handed in by a reviewer":                  {instead(5, "+ code-reviewer-1 ready_for_review a"), "ready_for_review by code-reviewer-1", "may write it"},
		"a checkpoint after the lease":                  {first(5, "+ coder-1 checkpoint a"), "checkpoint by coder-1", "another agent has the task"},
		"a review of what is not handed in":             {first(2, "+ code-reviewer-1 review_claimed a"), "review_claimed by code-reviewer-1", "the task is CLAIMED"},
		"a review by a coder":                           {instead(6, "+ coder-1 review_claimed a"), "review_claimed by coder-1", "may write it"},
		"the task left out":                             {without(0), "claimed by coder-1 on a", "not on the board"},
		"the claim left out":                            {without(1), "checkpoint by coder-1 on a", "the task is DRAFT or UNCLAIMED"},
		"a claim after a lease left out":                {without(4), "ready_for_review by coder-2", "claimed has to come first"},
		"the end of a lease left out":                   {without(3), "claimed by coder-2 on a", "the task is CLAIMED"},
		"the submission left out":                       {without(5), "review_claimed by code-reviewer-1", "the task is CLAIMED"},
		"the claim of the review left out":              {without(6), "rejected by code-reviewer-1", "another agent has the task"},
		"the rejection left out":                        {without(7), "claimed by coder-2", "the task is READY_FOR_REVIEW"},
		"the approval left out":                         {without(17), "merged by system", "the task is READY_FOR_REVIEW"},
		"the failed merge left out":                     {without(13), "claimed by coder-2", "the task is APPROVED"},
		"a claim twice":                                 {instead(2, "= coder-1 claimed a"), "claimed by coder-1 on a", "the task is CLAIMED"},
		"a checkpoint twice":                            {first(3, "= coder-1 checkpoint a"), "checkpoint by coder-1 on a", "it is there twice"},
		"a task added twice":                            {first(3, "+ human task_added a"), "task_added by human", "makes a new one"},
		"verdict and submission exchanged":              {func(l []string) []string { l[10], l[12] = l[12], l[10]; return l }, "approved by code-reviewer-2", "the task is CLAIMED"},
		"an older revision behind a newer one":          {first(5, "- coder-2 checkpoint a"), "checkpoint by coder-2", "it is behind revision"},
		"the second half of a step in a later write":    {first(4, "+ coder-2 claimed a"), "claimed by coder-2", "claimed has to come first, in the same revision"},
		"a status behind an edit of another task":       {first(7, "+ human edited_by_hand – state.yaml was edited by hand: b", "+ system merged a"), "merged by system", "the task is READY_FOR_REVIEW"},
		"a status behind an edit of the task":           {first(7, "+ human edited_by_hand a state.yaml was edited by hand: a", "+ system merged a"), "merged by system", "needs APPROVED"},
		"a status behind an edit of comments":           {first(1, "+ human edited_by_hand – state.yaml was edited by hand: comments or layout only", "+ system merged a"), "merged by system", "needs APPROVED"},
		"a status behind a repair":                      {first(1, "+ human edited_by_hand – validate --fix: agent coder-1: current_task removed", "+ system merged a"), "merged by system", "needs APPROVED"},
		"a status that no restored revision had":        {first(7, "+ human restored – revision 3 was put back as revision 9", "+ code-reviewer-1 review_claimed a"), "review_claimed by code-reviewer-1", "the task is CLAIMED"},
		"a seal by an agent":                            {first(1, "+ coder-1 sealed – fine", "+ system merged a"), "merged by system", "needs APPROVED"},
	} {
		found := Replay(journal(t, c.forge(honest())...), nil, true)
		if len(found) == 0 {
			t.Errorf("%s: accepted", name)
			continue
		}
		if m := found[0].Message; !strings.Contains(m, c.entry) || !strings.Contains(m, c.why) {
			t.Errorf("%s: %q, want %q and %q", name, m, c.entry, c.why)
		}
	}
}

func TestTheEndOfAJournalIsComparedWithTheBoard(t *testing.T) {
	t.Parallel()
	lines := append(honest(), "+ human task_added b", "+ coder-1 claimed b")
	for name, c := range map[string]struct {
		lines []string
		tasks map[string]blackboard.Status
		whole bool
		want  string
	}{
		"the same":                             {lines, map[string]blackboard.Status{"a": "MERGED", "b": "CLAIMED"}, true, ""},
		"a journal that was cut":               {lines[:len(lines)-1], map[string]blackboard.Status{"a": "MERGED", "b": "CLAIMED"}, true, "task b is CLAIMED; its entries end with DRAFT or UNCLAIMED"},
		"a board that was put back":            {lines, map[string]blackboard.Status{"a": "APPROVED", "b": "CLAIMED"}, true, "task a is APPROVED; its entries end with MERGED"},
		"a task of which no entry tells":       {lines, map[string]blackboard.Status{"a": "MERGED", "b": "CLAIMED", "c": "DRAFT"}, true, "task c is DRAFT; its entries end with not on the board"},
		"a task that is gone":                  {lines, map[string]blackboard.Status{"b": "CLAIMED"}, true, "task a is neither on the board nor in the archive"},
		"a task in an archive that is damaged": {lines, map[string]blackboard.Status{"b": "CLAIMED"}, false, ""},
		"half of a step at the end":            {lines[:4], map[string]blackboard.Status{"a": "CLAIMED"}, true, "task a is CLAIMED; its entries end with CLAIMED, before claimed"},
	} {
		var got []string
		for _, d := range Replay(journal(t, c.lines...), c.tasks, c.whole) {
			got = append(got, d.Message)
		}
		if text := strings.Join(got, "\n"); (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
