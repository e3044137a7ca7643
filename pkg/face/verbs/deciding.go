package verbs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/merge"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/verb"
)

// deciding are the verbs by which people settle points that wait for them.
var deciding = []*Verb{
	declare(Verb{
		Name: "answer", Group: "decide", Who: People, Usage: "answer a question", Route: "/api/questions/{question}/answer",
		Help:     "The answer is in the task's next prompt. The answer to the last open question of a task that waits for answers only unblocks it.",
		Examples: []string{"liza answer", "liza answer q-1 'Linux and macOS'"}, Exits: ofPeople,
		Tool: &Tool{People: true},
	}, func(ctx context.Context, service *verb.Service, in answer) (verb.Answered, error) {
		return service.Answer(ctx, in.Question, cmp.Or(in.Answer, in.Text))
	}, func(_ answer, done verb.Answered) Text {
		text := "answered " + done.Question
		if done.Unblocked {
			text += fmt.Sprintf("; %s is %s again", done.Task, done.Status)
		}
		if done.GoesOn {
			text += "; the checkpoint is over, the team goes on"
		}
		return Text{Body: text + "\n", Notices: done.Notices}
	}),
	declare(Verb{
		Name: "approve-merge", Of: "approve", Who: People, Usage: "release the merge of work that waits for a person", Route: "/api/tasks/{task}/approve-merge",
		Help: "For APPROVED work in review.mode strict or normal; in mode disabled, and where review.quorum asks for more reviewers, it approves what is READY_FOR_REVIEW. Any supervisor then merges it.",
	}, func(ctx context.Context, service *verb.Service, in approval) (board.Done, error) {
		return service.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: in.Task, Reason: in.Reason, Override: in.Override})
	}, func(_ approval, done board.Done) Text {
		return ofTask(done, "%s is %s and may be merged", done.Task, done.Status)
	}),
	declare(Verb{
		Name: "pick", Of: "approve", Who: People, Usage: "choose which of several attempts goes on", Route: "/api/tasks/{task}/pick",
		Help: "The attempt is reviewed and merged like any task; the others become SUPERSEDED by it, and what depends on them depends on it. Their work is saved under refs/liza/attic/.\n" +
			"The attempt has to be READY_FOR_REVIEW, and none of the others CLAIMED. Without you a reviewer picks when all are handed in.",
	}, func(ctx context.Context, service *verb.Service, in verb.PickInput) (board.Done, error) {
		return service.Reviews.Pick(ctx, in)
	}, func(_ verb.PickInput, done board.Done) Text { return ofTask(done, "%s goes on", done.Task) }),
	declare(Verb{
		Name: "reject-merge", Of: "reject", Who: People, Usage: "send work that waits for a person back to its coder", Route: "/api/tasks/{task}/reject-merge",
		Help: "The task becomes REJECTED with your reason as the point to fix; it counts as a review cycle. Your comments (liza tell TASK --at) are points to fix as well, and\n" +
			"with them no other reason is needed.",
	}, func(ctx context.Context, service *verb.Service, in rejection) (board.Done, error) {
		return service.Reviews.RejectMerge(ctx, verb.MergeDecision{Task: in.Task, Reason: in.Reason})
	}, func(_ rejection, done board.Done) Text { return ofTask(done, "%s is %s", done.Task, done.Status) }),
	declare(Verb{
		Name: "release", Hidden: true, Aliases: []string{"release-claim"}, Group: "decide", Who: ByVerb, Usage: "free a claim or a review claim", Route: "/api/tasks/{task}/release",
		Help: "CLAIMED becomes UNCLAIMED (INTEGRATION_FAILED for a fix); a review becomes free for another reviewer. Work in the worktree is kept, and\n" +
			"the next claimer goes on with it. A live lease is refused without --force; with it the holder's agent program is stopped first.",
		Examples: []string{"liza retry task-3 --reason 'the terminal is gone'", "liza retry task-3 --force --reason 'wrong model'"}, Exits: ofPeople,
		Tool: &Tool{Roles: workers, People: true, Outside: true, About: "Give a claim or a review back. Work in the worktree is kept."},
	}, func(ctx context.Context, service *verb.Service, in verb.ReleaseInput) (board.Done, error) {
		if in.Coder && in.Reviewer {
			return board.Done{}, board.WrongUsage("liza help release", "--coder and --reviewer exclude each other")
		}
		return service.Release(ctx, in)
	}, func(_ verb.ReleaseInput, done board.Done) Text {
		return ofTask(done, "%s is free again (%s)", done.Task, done.Status)
	}),
	declare(Verb{
		Name: "resubmit", Of: "retry", Who: People, Usage: "let a task go on that a limit has stopped", Route: "/api/tasks/{task}/resubmit",
		Help: "BLOCKED by a limit becomes UNCLAIMED with the limits given; counters and worktree are kept, so the next\n" +
			"coder goes on where the last one was stopped. Refused while a limit is still reached.",
	}, func(ctx context.Context, service *verb.Service, in resubmission) (board.Done, error) {
		if err := knownLimits(in.Limits); err != nil {
			return board.Done{}, err
		}
		limits := blackboard.Settings{}
		for k, n := range in.Limits {
			limits[k] = n
		}
		return service.Resubmit(ctx, in.Task, limits)
	}, func(_ resubmission, done board.Done) Text {
		return ofTask(done, "%s goes on (%s)", done.Task, done.Status)
	}),
	declare(Verb{
		Name: "accept-integration", Of: "sync", Who: Gated, Usage: "the branch is right where it is", Route: "/api/integration/accept",
		Help: "Remembers the tip as it is. What Liza had left there is saved under refs/liza/attic when the branch does not contain it; merged work that is\n" +
			"missing is named, and `liza merge --again TASK` brings it back.",
	}, func(ctx context.Context, service *verb.Service, in branchDecision) (integration.Standing, error) {
		return service.Merges.AcceptIntegration(ctx, in.Reason)
	}, func(_ branchDecision, b integration.Standing) Text { return branchText(b) }),
	declare(Verb{
		Name: "restore-integration", Of: "sync", Who: Gated, Usage: "put the branch back to where Liza left it", Route: "/api/integration/restore",
		Help: "The branch moves by compare-and-swap; the tip at which it was is saved under refs/liza/attic first. A branch that was deleted is made again.",
	}, func(ctx context.Context, service *verb.Service, in branchDecision) (integration.Standing, error) {
		return service.Merges.RestoreIntegration(ctx, in.Reason)
	}, func(_ branchDecision, b integration.Standing) Text { return branchText(b) }),
	declare(Verb{
		Name: "sync", Group: "steer", Who: Gated, Usage: "merge the base branch into the integration branch, or decide about its tip", Doing: "merging and checking", Partial: true,
		Help: "The base branch is the one that the integration branch was cut from (base_ref); boards that do not record it use the branch that is checked\n" +
			"out. The merge goes through the integration checks, as approved work does; a conflict or a failing check moves nothing. Tasks that are open keep\n" +
			"their base, as after any merge. Your checkout is not touched. A branch of a remote (origin/main) is fetched first.\n" +
			"Merges wait when somebody else moved the integration branch: `liza status` says so. --accept remembers the tip as it is; merged work that is missing\n" +
			"is named, and `liza merge --again TASK` brings it back. --restore puts the branch back to where Liza left it. The other tip is saved under\n" +
			"refs/liza/attic first.",
		Examples: []string{"liza sync", "liza sync --from origin/main --dry-run --json", "liza sync --accept --reason 'my own fix'", "liza sync --restore"}, Exits: append(ofPeople, 7),
	}, syncWhat, syncText),
}

type answer struct {
	Question string `json:"question" arg:"ID" help:"id of the question"`
	Text     string `json:"text" arg:"TEXT" help:"the answer"`
	Answer   string `json:"answer,omitempty" faces:"http" help:"the answer, when text is not there"`
}

type approval struct {
	Task     string `json:"task" arg:"ID" help:"id of the task"`
	Override bool   `json:"override,omitempty" help:"in spite of warnings, in mode strict; needs a reason"`
	Reason   string `json:"reason,omitempty" help:"why"`
}

type rejection struct {
	Task   string `json:"task" arg:"ID" help:"id of the task"`
	Reason string `json:"reason,omitempty" help:"file, defect and fix; not needed with open comments"`
}

type resubmission struct {
	Task   string         `json:"task" arg:"ID" help:"id of the task"`
	Limits map[string]int `json:"limits,omitempty" option:"limit" help:"new limits of this task, such as cost_cents=2000"`
}

type branchDecision struct {
	Reason string `json:"reason,omitempty" help:"why, for the journal"`
}

type syncInput struct {
	From    string `json:"from,omitempty" word:"REF" help:"to merge instead of the base branch"`
	DryRun  bool   `json:"dry_run,omitempty" help:"say what would be merged, and whether it conflicts; runs no checks and moves nothing"`
	Accept  bool   `json:"accept,omitempty" help:"the integration branch is right where it is"`
	Restore bool   `json:"restore,omitempty" help:"put the integration branch back to where Liza left it"`
	Reason  string `json:"reason,omitempty" help:"why, for the journal; with --accept or --restore"`
}

func syncText(_ syncInput, result any) Text {
	if b, ok := result.(integration.Standing); ok {
		return branchText(b)
	}
	r, ok := result.(verb.Synced)
	if !ok {
		return Text{}
	}
	guess := ""
	if r.Guessed {
		guess = fmt.Sprintf("base_ref is not set: %s, which is checked out, is taken as the base branch\n", r.From)
	}
	switch r.Status {
	case merge.SyncDone:
		return line("%s%s of %s merged: %s is at %.9s%s", guess, prose.Count(r.Commits, "commit"), r.From, r.Branch, r.Commit, NotVerified(r.Unverified))
	case merge.SyncWould:
		return line("%s%s of %s would be merged into %s without a conflict\nnext: liza sync", guess, prose.Count(r.Commits, "commit"), r.From, r.Branch)
	}
	return line("%snothing to do: %s has everything of %s", guess, r.Branch, r.From)
}

func branchText(b integration.Standing) Text {
	var t strings.Builder
	switch {
	case b.Moved:
		fmt.Fprintf(&t, "%s; merges wait\n", b.Text)
	case b.Tip == "":
		fmt.Fprintf(&t, "%s does not exist\n", b.Branch)
	case b.Known == "":
		fmt.Fprintf(&t, "%s is at %.9s; the board does not remember where Liza left it\n", b.Branch, b.Tip)
	default:
		fmt.Fprintf(&t, "%s is at %.9s, where Liza left it\n", b.Branch, b.Tip)
	}
	if b.Saved != "" {
		fmt.Fprintf(&t, "the other tip is saved as %s\n", b.Saved)
	}
	if b.Base != "" && b.Behind > 0 {
		fmt.Fprintf(&t, "%s; liza sync merges them\n", b.Lag)
	} else if b.Base != "" {
		fmt.Fprintf(&t, "it has everything of its base branch %s\n", b.Base)
	}
	if len(b.Lost) > 0 {
		fmt.Fprintf(&t, "merged, but not on it: %s\n", strings.Join(b.Lost, ", "))
	}
	if len(b.Ahead) > 0 {
		fmt.Fprintf(&t, "merged there, but not on the board: %s; if the board is from a backup, accept, then liza abandon those that need no second try\n", strings.Join(b.Ahead, ", "))
	}
	switch {
	case b.Moved:
		fmt.Fprintf(&t, "next: %s\n", b.Next)
	case len(b.Lost) > 0:
		fmt.Fprintf(&t, "next: liza merge --again %s\n", b.Lost[0])
	}
	return Text{Body: t.String()}
}
