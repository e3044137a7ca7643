package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// takenByHand are the edits of a status that are taken as a verb.
var takenByHand = map[[2]blackboard.Status]Event{
	{blackboard.Draft, blackboard.Unclaimed}:           evFinalize,
	{blackboard.Claimed, blackboard.Unclaimed}:         evRelease,
	{blackboard.Unclaimed, blackboard.Blocked}:         evBlock,
	{blackboard.Claimed, blackboard.Blocked}:           evBlock,
	{blackboard.Rejected, blackboard.Blocked}:          evBlock,
	{blackboard.IntegrationFailed, blackboard.Blocked}: evBlock,
}

// Each edit of a status, in each situation, is taken as a verb or put back with the name of one.
// Either way the board breaks no rule that it did not break before.
func TestEveryHandEditOfAStatusIsAVerbOrPutBack(t *testing.T) {
	t.Parallel()
	seen := map[[2]blackboard.Status]bool{}
	for _, situation := range situations {
		if situation.status == "" {
			continue
		}
		for _, to := range blackboard.Statuses {
			if to == situation.status {
				continue
			}
			b := situated(t, situation)
			b.TakeEntries(0)
			prev, now := b.State.Clone(), b.now
			facts := audit.Evidence{Now: now, Write: true}
			before := errorsIn(audit.Validate(prev, nil, facts))
			edited := prev.Clone()
			task := edited.Task("x")
			task.Status = to
			if to == blackboard.Blocked {
				task.BlockedReason, task.BlockedQuestions = "the schema of orders is missing", blackboard.List{"Which columns has it?"}
			}
			after := edited.Fork()
			refused := TakeHandEdits(after, prev, now)
			name := situation.name + " → " + string(to)
			event, wanted := takenByHand[[2]blackboard.Status{situation.status, to}]
			switch {
			case len(refused) == 0 && !wanted:
				t.Errorf("%s: it was taken", name)
			case len(refused) == 0:
				seen[[2]blackboard.Status{situation.status, to}] = true
				entries := after.Entries()
				if len(entries) == 0 || entries[0].Agent != blackboard.Human || after.Task("x").Last().Agent != blackboard.Human {
					t.Errorf("%s: taken as %s, but journal and history do not say so: %v", name, event, entries)
				}
				if is := after.Task("x"); is.ClaimGeneration != "" || !is.LeaseExpires.None() {
					t.Errorf("%s: the claim is left: %+v", name, is)
				}
			default:
				if diff := difference(prev, after.Clone()); diff != "" {
					t.Errorf("%s: refused, but not put back: %s", name, diff)
				}
				if v := refused[0]; v.Rule != "V67" || len(refused) != 1 || !strings.HasPrefix(v.Next, "liza ") {
					t.Errorf("%s: %v", name, refused)
				}
			}
			for text := range errorsIn(audit.Validate(after, prev, facts)) {
				if !before[text] {
					t.Errorf("%s: %s", name, text)
				}
			}
		}
	}
	for pair, event := range takenByHand {
		if !seen[pair] {
			t.Errorf("%s → %s was never taken as %s", pair[0], pair[1], event)
		}
	}
	for _, r := range Rules {
		for _, from := range r.From {
			if r.ByHand && takenByHand[[2]blackboard.Status{from, r.To}] != r.Event {
				t.Errorf("the table takes %s → %s as %s, and no test says so", from, r.To, r.Event)
			}
		}
	}
}

func errorsIn(found []blackboard.Violation) map[string]bool {
	texts := map[string]bool{}
	for _, v := range found {
		if v.Severity == blackboard.SeverityError {
			texts[v.String()] = true
		}
	}
	return texts
}

// What a verb asks for has to be in the edit, or the verb is named with it.
func TestABlockByHandNeedsReasonAndQuestion(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"": "--reason is empty", "the schema of orders is missing": "1 to 3 questions"} {
		b := situated(t, situation{"unclaimed", blackboard.Unclaimed, func(b *board) { b.add("x") }})
		prev := b.State.Clone()
		task := b.Task("x")
		task.Status, task.BlockedReason = blackboard.Blocked, reason
		refused := TakeHandEdits(b.State, prev, b.now)
		if len(refused) != 1 || !strings.Contains(refused[0].Message, want) || refused[0].Next != "liza block x --reason T --question T" {
			t.Errorf("%q: %v", reason, refused)
		}
	}
}

// The seed's example of a block, written by hand: all three fields are kept.
func TestABlockByHandKeepsWhatWasAttempted(t *testing.T) {
	t.Parallel()
	b := situated(t, situation{"unclaimed", blackboard.Unclaimed, func(b *board) { b.add("x") }})
	prev := b.State.Clone()
	task := b.Task("x")
	task.Status, task.BlockedReason = blackboard.Blocked, "Task requires API pagination but spec doesn't define behavior for partial failures"
	task.BlockedQuestions = blackboard.List{"Should partial results be returned if page 3 of 5 fails?", "What's the timeout budget for pagination across all pages?"}
	attempted := blackboard.List{"Checked specs/api.md — no pagination section", "Searched codebase for existing pagination patterns — none found"}
	task.Attempted = attempted
	if refused := TakeHandEdits(b.State, prev, b.now); len(refused) > 0 {
		t.Fatal(refused)
	}
	wantList(t, "attempted", b.status("x", blackboard.Blocked).Attempted, attempted)
	wantList(t, "the questions", b.Task("x").BlockedQuestions, task.BlockedQuestions)
}
