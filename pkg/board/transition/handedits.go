package transition

import (
	"errors"
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

// A status that a person changed in the file means the verb of that name. Where a verb of a
// person does it on the board alone, the edit is taken as that verb. Every other edit of a status
// is refused: the task stays what it was, and the verb is named. So no edit leaves a claim, a
// review or a worktree that agents would stumble over again and again.

// byHand returns the event as which an edit of a status is taken, "" for an edit that is refused.
func byHand(from, to blackboard.Status) Event {
	for i := range Rules {
		if r := &Rules[i]; r.ByHand && r.To == to && hasStatus(r.From, from) {
			return r.Event
		}
	}
	return ""
}

// TakeHandEdits applies a person's edits of statuses in the file as events. It returns the refused edits, whose tasks it sets
// back to prev, the state before the edit. A program whose claim such an edit ends is stopped by the next claimant.
func TakeHandEdits(s *blackboard.State, prev *blackboard.State, now time.Time) []blackboard.Violation {
	var refused []blackboard.Violation
	for i, t := range s.EachTask() {
		if s.Find(t.ID) != t || !t.Status.Known() {
			continue
		}
		old := prev.Find(t.ID)
		if old == nil || old.Status == t.Status || !old.Status.Known() {
			continue
		}
		to := t.Status
		err := takeHandEdit(s, s.Writable(t), old, now)
		if err == nil {
			continue
		}
		*s.Writable(s.TaskAt(i)) = *old.Clone()
		why := ""
		if err != errNoVerb {
			why = " (" + err.Error() + ")"
		}
		refused = append(refused, blackboard.Violation{Rule: "V67", Severity: blackboard.SeverityError, Path: "tasks[" + t.ID + "].status", Subjects: []string{t.ID},
			Message: fmt.Sprintf("task %s: %s was changed to %s by hand%s; the task stays as it was", t.ID, old.Status, to, why), Next: verbInstead(old, to)})
	}
	return refused
}

// errNoVerb says that no verb of a person makes that of a task on the board alone.
var errNoVerb = errors.New("no verb does that")

// takeHandEdit carries out the verb that the edit of t means.
func takeHandEdit(s *blackboard.State, t, old *blackboard.Task, now time.Time) error {
	event := byHand(old.Status, t.Status)
	if event == "" {
		return errNoVerb
	}
	in := Input{Reason: "the status was edited by hand"}
	switch event {
	case evRelease:
		in.Force, in.HasWork = true, t.Worktree != ""
	case evBlock:
		in.Reason, in.Questions, in.Attempted = t.BlockedReason, t.BlockedQuestions, t.Attempted
	}
	// The verb begins with what the task was, also where the person cleared the claim as well.
	t.Status, t.AssignedTo, t.ClaimGeneration, t.LeaseExpires, t.Claiming = old.Status, old.AssignedTo, old.ClaimGeneration, old.LeaseExpires, old.Claiming
	return run(s, event, t.ID, Actor{ID: blackboard.Human}, in, now)
}

// verbInstead returns the command that does what an edit of the status to to wants, or comes nearest to it.
func verbInstead(t *blackboard.Task, to blackboard.Status) string {
	id := t.ID
	reject := "liza --as code-reviewer-1 verdict " + id + " reject --reason T"
	switch {
	case t.Status.Terminal():
		return "liza add TEXT"
	case to == blackboard.Claimed:
		return "liza --as coder-1 claim " + id
	case to == blackboard.ReadyForReview:
		return "liza --as coder-1 submit " + id
	case to == blackboard.Approved:
		return "liza --as code-reviewer-1 verdict " + id + " approve"
	case to == blackboard.Merged, to == blackboard.IntegrationFailed:
		return "liza merge " + id
	case t.Status == blackboard.Approved:
		return "liza reject " + id + " --reason T"
	case to == blackboard.Rejected:
		return reject
	case to == blackboard.Superseded && t.Status != blackboard.Claimed:
		return "liza abandon " + id + " --by ID --reason T"
	case to == blackboard.Abandoned && t.Status != blackboard.Claimed:
		return "liza abandon " + id + " --reason T"
	case to == blackboard.Unclaimed && t.Status == blackboard.Draft:
		return "liza approve " + id
	case to == blackboard.Unclaimed && t.Status == blackboard.Blocked && t.Halt != nil:
		return "liza retry " + id + " --limit KEY=VALUE"
	case to == blackboard.Unclaimed && t.Status == blackboard.Blocked:
		return "liza retry " + id + " --reason T"
	case to == blackboard.Unclaimed && t.Status == blackboard.ReadyForReview:
		return reject
	case to == blackboard.Unclaimed && t.Status != blackboard.Claimed:
		return "liza show " + id
	case to == blackboard.Blocked && byHand(t.Status, to) == evBlock:
		return "liza block " + id + " --reason T --question T"
	case t.Status == blackboard.Claimed:
		return "liza retry " + id + " --force --reason T"
	}
	return "liza pause " + id + " --reason T"
}
