package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
)

// SubmitInput is a submission (specs/cli.md#3). The tags of this and of the other inputs of verbs are read by package verbs,
// which declares them for the command line, MCP and HTTP.
type SubmitInput struct {
	Task     string   `json:"task" arg:"ID" help:"id of the task"`
	Commit   string   `json:"commit,omitempty" word:"SHA" help:"commit to review" unset:"HEAD of the worktree"`
	Summary  string   `json:"summary,omitempty" help:"what was done, for the reviewer"`
	NoTests  string   `json:"no_tests,omitempty" word:"REASON" help:"why there are no tests; the reviewer judges it"`
	Evidence []string `json:"evidence,omitempty" word:"P" help:"files that show it"`
}

// BlockInput is the reason and the questions of a block.
type BlockInput struct {
	Task      string             `json:"task" arg:"ID" help:"id of the task"`
	Reason    string             `json:"reason" help:"what keeps the task from going on"`
	Questions []string           `json:"questions" option:"question" help:"1 to 3 questions for people"`
	Attempted []string           `json:"attempted,omitempty" help:"what was tried"`
	Synthetic bool               `json:"-"` // the question was made up by the supervisor
	ForPerson bool               `json:"-"` // and no planner is woken for it
	Prompted  *Prompted          `json:"-"` // the program asked it on its terminal
	Output    *blackboard.Output `json:"-"` // what the command gave that failed
}

// Verdict is what a reviewer decides.
type Verdict string

// VerdictInput is what a reviewer says.
type VerdictInput struct {
	Task, Reason       string
	Verdict            Verdict
	Findings           []*blackboard.Finding
	Inject             []*blackboard.Fix
	Prior              []*blackboard.Prior
	Suggestions, Learn []string
	What               string // of a supervisor's release: failed, retry
	Supervisor         bool   // the verdict comes through the reviewer's supervisor
	Checks             bool   // it was made of what the checks found, not by a reviewer
}

// sizes refuses a person's or an agent's verdict that is bigger than one by exit command may
// be (specs/roles-and-knowledge.md#5.3). What a supervisor says is made of such texts, and no verdict
// is refused because of what was learned (6.2).
func (in *VerdictInput) sizes() error {
	const help = "liza help verdict"
	if len(in.Inject) > 0 && in.Verdict != Reject {
		return board.WrongUsage(help, "--inject goes with reject only")
	}
	if in.Supervisor {
		return nil
	}
	if n, most := utf8.RuneCountInString(in.Reason), exitcmd.LimitOf("ReviewExit.reason").Most; n > most {
		return board.WrongUsage(help, "--reason has %d characters; %d is the limit", n, most)
	}
	for _, list := range []struct {
		option, key string
		n           int
	}{{"--inject", "inject", len(in.Inject)}, {"--finding", "findings", len(in.Findings)}, {"--suggest", "suggestions", len(in.Suggestions)}} {
		if most := exitcmd.LimitOf("ReviewExit." + list.key).Items; list.n > most {
			return board.WrongUsage(help, "%s was given %d times; %d is the limit", list.option, list.n, most)
		}
	}
	return nil
}

// Prompted is a question that a program asked on its terminal, where nobody is
// (specs/roles-and-knowledge.md#9.2).
type Prompted struct {
	Type    string // confirmation, permission, choice, input
	Text    string
	Options []string
}

// The verdicts. StuckReview gives the review claim back.
const (
	Approve     Verdict = "approve"
	Reject      Verdict = "reject"
	Replan      Verdict = "replan"
	StuckReview Verdict = "stuck"
)

// verdictWords are the verdicts as an exit command says them.
var verdictWords = map[Verdict]string{Approve: exitcmd.ReviewOK, Reject: exitcmd.ReviewNeedsFix, Replan: exitcmd.ReviewReplan, StuckReview: exitcmd.ReviewStuck}

// Verdicts are the words for them.
var Verdicts = []string{string(Approve), string(Reject), string(Replan), string(StuckReview)}

// Submitted is the result of a submission.
type Submitted struct {
	board.Done
	Commit string `json:"commit,omitempty"`
}

// Submit hands a claimed task in for review, with proof: the commit exists, is the
// worktree's HEAD, goes beyond the base, and the worktree is clean (G33 to G42).
func (v *Service) Submit(ctx context.Context, in SubmitInput) (Submitted, error) {
	if err := v.Board.Clean(append(board.TextsOf("--evidence", &in.Evidence), field("--summary", &in.Summary), field("--no-tests", &in.NoTests))...); err != nil {
		return Submitted{Done: board.Done{Task: in.Task}}, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return Submitted{}, err
	}
	out := Submitted{Done: board.Done{Task: in.Task}}
	event := v.Board.Input()
	event.Summary, event.NoTests = in.Summary, in.NoTests
	t := s.Task(in.Task)
	if t != nil && t.ChangesFiles() {
		facts, err := v.SubmissionFacts(ctx, s, t, in.Commit)
		if err != nil {
			return out, err
		}
		event.Submission = &facts
	}
	now := v.Board.Now()
	said, err := v.say(ctx, "submit", exitcmd.Completed, in, func(s *blackboard.State, a transition.Actor) error {
		return transition.Submit(s, in.Task, a, event, now)
	})
	if said {
		out.Done, err = v.recorded(ctx, out.Done, err)
		if event.Submission != nil {
			out.Commit = event.Submission.Commit
		}
		return out, err
	} else if err != nil {
		return out, err
	}
	if facts := event.Submission; facts != nil && facts.Commit != "" && facts.Unsound == "" && facts.BaseIsAncestor {
		if err := v.Board.Repo.SyncLoose("refs/heads/" + git.TaskBranch(in.Task)); err != nil {
			return out, err
		}
	}
	// Before the board says that there is something to review: a reviewer may be on another host.
	published, err := v.Worktrees.PublishSubmission(ctx, s, in.Task, event)
	if err != nil {
		return out, err
	}
	v.Board.Failpoint("submit.published")
	var lost []string
	if facts := event.Submission; facts != nil && facts.Commit != "" {
		in.Evidence, lost = v.committed(ctx, facts.Commit, in.Evidence)
	}
	accept := func(s *blackboard.State, a transition.Actor) error {
		if err := transition.Submit(s, in.Task, a, event, v.Board.Now()); err != nil {
			return err
		}
		if !published {
			return errNotPublished
		}
		if len(lost) > 0 {
			s.Record(board.Warning(a, in.Task, blackboard.ActionEvidenceOdd, "git ignores "+strings.Join(lost, ", ")+": it is in no commit, so it is not kept as evidence", v.Board.Now()))
		}
		t := s.Task(in.Task)
		out.Commit = t.ReviewCommit
		if in.Summary != "" {
			t.LastOutcome = &blackboard.LastOutcome{Action: exitcmd.Completed, Summary: in.Summary, EvidenceFiles: in.Evidence, At: blackboard.TimeOf(v.Board.Now())}
		}
		return nil
	}
	out.Done, err = v.Board.Event(ctx, "submit", in.Task, accept)
	if errors.Is(err, errNotPublished) { // a moment ago the rules refused it; unpublished, no other host could get at it
		if err := v.Worktrees.Publish(ctx, in.Task, event.Submission.Commit); err != nil {
			return out, err
		}
		published = true
		out.Done, err = v.Board.Event(ctx, "submit", in.Task, accept)
	}
	if out.Already && event.Submission != nil {
		out.Commit = event.Submission.Commit
	}
	return out, err
}

var errNotPublished = errors.New("the commit is not on the remote")

// committed are the files of evidence that a commit has. Nothing keeps the lost ones, which git ignores: their worktree goes.
func (v *Service) committed(ctx context.Context, commit string, files []string) (kept, lost []string) {
	for _, file := range files {
		if _, err := v.Board.Repo.ReadFile(ctx, commit, file); errors.Is(err, git.ErrNotFound) {
			lost = append(lost, file)
		} else {
			kept = append(kept, file)
		}
	}
	return kept, lost
}

// SubmissionFacts looks at the worktree and at what the commits change. Work that git cannot read, as a loss of power leaves it, looks like
// any work that is refused, so only then is it looked for.
func (v *Service) SubmissionFacts(ctx context.Context, s *blackboard.State, t *blackboard.Task, named string) (transition.SubmissionFacts, error) {
	f, err := v.submissionFacts(ctx, s, t, named)
	if err == nil && f.Exists && f.Branch == git.TaskBranch(t.ID) && len(f.Dirty) == 0 && f.Commit != "" && f.Unsound == "" {
		return f, nil
	}
	if why := v.Board.Repo.Unreadable(ctx, t.ID, append(t.Bases(), s.Tip())); why != "" {
		return f, board.Refuse("liza retry "+t.ID+" --reason T", "git cannot read the worktree of %s: %s; a release keeps its files aside", t.ID, why)
	}
	return f, err
}

func (v *Service) submissionFacts(ctx context.Context, s *blackboard.State, t *blackboard.Task, named string) (transition.SubmissionFacts, error) {
	f := transition.SubmissionFacts{Named: named}
	if t.Status == blackboard.Claimed {
		if err := v.Worktrees.Ensure(ctx, s, t); err != nil {
			return f, err
		}
	}
	// A run may have a repository of its own: what it committed there is in ours only after this.
	taken, err := v.Worktrees.TakeOver(ctx, s, t)
	if err != nil {
		return f, err
	}
	w, err := v.Board.Repo.Inspect(ctx, v.Board.Repo.WorktreePath(t.ID))
	if err != nil {
		return f, err
	}
	f.Exists, f.Branch, f.Head, f.Dirty = w.Exists, w.Branch, w.Head, w.Dirty
	if taken.Open {
		f.Branch, f.Head = taken.Branch, taken.Head
	}
	if taken.Refused != "" { // nothing else can be said of commits that are not in the repository
		return transition.SubmissionFacts{Exists: true, Branch: cmp.Or(taken.Branch, git.TaskBranch(t.ID)), Head: taken.Head, Commit: taken.Head, Named: named,
			BaseIsAncestor: true, HasFixOnto: true, HasMerges: true, Unsound: taken.Refused}, nil
	}
	f.Commit = w.Head
	if named == "" {
		f.Named = "HEAD"
	} else if f.Commit, err = v.Board.Repo.Resolve(ctx, inWorktree(named, w.Head)); err != nil {
		f.Commit = ""
	}
	if f.Commit == "" || t.BaseCommit == "" {
		return f, nil
	}
	if f.BaseIsAncestor, err = v.Board.Repo.IsAncestor(ctx, t.BaseCommit, f.Commit); err != nil {
		return f, err
	}
	if t.FixOnto != "" {
		f.HasFixOnto, err = v.Board.Repo.IsAncestor(ctx, t.FixOnto, f.Commit)
	}
	if t.Merges != "" && err == nil {
		f.HasMerges, err = v.Board.Repo.IsAncestor(ctx, t.Merges, f.Commit)
	}
	if err != nil {
		return f, err
	}
	integration, err := v.Integration.KnownTip(ctx, s)
	if err != nil {
		return f, err
	}
	line := git.Line{ID: t.ID, Commit: f.Commit, Known: append(t.Bases(), integration)}
	if f.Unsound, err = v.Board.Repo.Unsound(ctx, line); err != nil {
		return f, err
	}
	if last := transition.LastFailure(t); last != nil && last.Commit != "" {
		f.SameTree = v.sameTree(ctx, last.Commit, f.Commit)
		f.OtherChecks = last.Checks != "" && last.Checks != sumOfChecks(v.Board.Config())
	}
	from, to, err := v.Integration.Proposal(ctx, s, t, f.Commit)
	if err != nil {
		return f, err
	}
	if err := v.Board.Repo.Unfiltered(ctx, from, to); err != nil {
		raw, ok := errors.AsType[*git.UnfilteredError](err)
		if !ok {
			return f, err
		}
		if !raw.Off { // of one that is off the merge asks a person
			f.Unsound = raw.Error()
		}
	}
	changes, err := review.Changes(ctx, v.Board.Repo, from, to)
	if err != nil {
		return f, err
	}
	f.EmptyDiff = len(changes) == 0 && !v.Board.AllowEmpty && t.Merges == "" // all conflicts may be for one side
	f.ForeignPaths = foreignPaths(changes)
	r := v.Board.Config().Review
	gate := review.CountGate(review.Files(changes), t.Type, r.TestPaths)
	f.SourcesChanged, f.TestsChanged, f.TestGateExempt = len(gate.Sources), len(gate.Tests), gate.Exempt || !r.Checks[review.TestCoverage].Enabled
	return f, nil
}

// sameTree reports whether two commits have the same files; a commit that is gone has others.
func (v *Service) sameTree(ctx context.Context, one, other string) bool {
	a, err := v.Board.Repo.TreeOf(ctx, one)
	if err != nil {
		return false
	}
	b, err := v.Board.Repo.TreeOf(ctx, other)
	return err == nil && a == b
}

// inWorktree lets HEAD mean the worktree's HEAD, not that of the main checkout.
func inWorktree(rev, head string) string {
	if rest, ok := strings.CutPrefix(rev, "HEAD"); ok && head != "" && (rest == "" || strings.ContainsAny(rest[:1], "~^@")) {
		return head + rest
	}
	return rev
}

// foreignPaths lists what no agent may commit: files of Liza but its tracked
// configuration, and gitlinks to task worktrees (G42).
func foreignPaths(changes []review.Changed) []string {
	var bad []string
	for _, c := range changes {
		if !MayBeTracked(c.Path) {
			bad = append(bad, c.Path)
		}
	}
	return bad
}

// MayBeTracked reports whether git may know a path: nothing below .worktrees/, and of .liza/
// only what people write (specs/protocol.md#1.1).
func MayBeTracked(path string) bool {
	if path == ".liza" || path == ".worktrees" || strings.HasPrefix(path, ".worktrees/") {
		return false
	}
	rest, ours := strings.CutPrefix(path, ".liza/")
	switch {
	case !ours, rest == "config.yaml", rest == "config.json", rest == "instructions.md", rest == ".gitignore":
		return true
	}
	return strings.HasPrefix(rest, "roles/") || strings.HasPrefix(rest, "skills/")
}

// Intent records the pre-execution checkpoint of a claimed task.
func (v *Service) Intent(ctx context.Context, id string, intent blackboard.Intent) (board.Done, error) {
	texts := append(board.TextsOf("--assumption", &intent.Assumptions), board.TextsOf("--risk", &intent.Risks)...)
	texts = append(append(texts, board.TextsOf("--file", &intent.FilesToModify)...), field("--intent", &intent.Intent), field("--validation", &intent.Validation))
	if err := v.Board.Clean(texts...); err != nil {
		return board.Done{Task: id}, err
	}
	return v.Board.Event(ctx, "intent", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.RecordIntent(s, id, a, transition.Input{Intent: &intent,
			Texts: []transition.Text{{Option: "--intent", Value: intent.Intent}, {Option: "--validation", Value: intent.Validation}}}, v.Board.Now())
	})
}

// Block stops a task with one to three questions.
func (v *Service) Block(ctx context.Context, in BlockInput) (board.Done, error) {
	texts := append(board.TextsOf("--question", &in.Questions), board.TextsOf("--attempted", &in.Attempted)...)
	if err := v.Board.Clean(append(texts, field("--reason", &in.Reason))...); err != nil {
		return board.Done{Task: in.Task}, err
	}
	block := v.blocks(in)
	if said, err := v.say(ctx, "block", exitcmd.Stuck, in, block); said {
		return v.recorded(ctx, board.Done{Task: in.Task}, err)
	} else if err != nil {
		return board.Done{Task: in.Task}, err
	}
	if err := v.Worktrees.HandOver(ctx, in.Task); err != nil {
		return board.Done{Task: in.Task}, err
	}
	return v.Board.Event(ctx, "block", in.Task, block)
}

// blocks is the change of Block.
func (v *Service) blocks(in BlockInput) func(*blackboard.State, transition.Actor) error {
	return func(s *blackboard.State, a transition.Actor) error {
		before := len(s.Questions)
		if t := s.Task(in.Task); t != nil && in.Output != nil {
			t.Output = in.Output
		}
		err := transition.Block(s, in.Task, a, transition.Input{Reason: in.Reason, Questions: in.Questions, Attempted: in.Attempted}, v.Board.Now())
		if err == nil && in.Synthetic {
			for _, q := range s.Questions[before:] {
				q.Synthetic = true
			}
		}
		if err == nil && in.ForPerson {
			for _, q := range s.Questions[before:] {
				q.Agent, q.Synthetic = blackboard.System, true
			}
		}
		if err == nil && in.Prompted != nil {
			for _, q := range s.Questions[before:] {
				q.Kind, q.Type, q.Options = blackboard.QuestionPrompted, in.Prompted.Type, in.Prompted.Options
			}
		}
		return err
	}
}

// Handoff passes a half-done task on to the next run.
func (v *Service) Handoff(ctx context.Context, id string, h blackboard.Handoff) (board.Done, error) {
	texts := append(board.TextsOf("--file", &h.FilesModified), board.TextsOf("--step", &h.NextSteps)...)
	texts = append(texts, field("--summary", &h.Summary), field("--next-action", &h.NextAction), field("--approach", &h.Approach), field("--blockers", &h.Blockers))
	if err := v.Board.Clean(texts...); err != nil {
		return board.Done{Task: id}, err
	}
	if err := v.Worktrees.HandOver(ctx, id); err != nil {
		return board.Done{Task: id}, err
	}
	return v.Board.Event(ctx, "handoff", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.HandOff(s, id, a, transition.Input{Handoff: &h,
			Texts: []transition.Text{{Option: "--summary", Value: h.Summary}, {Option: "--next-action", Value: h.NextAction}}}, v.Board.Now())
	})
}

// Judged is the result of a verdict.
type Judged struct {
	board.Done
	Verdict      Verdict `json:"verdict"`
	OverruledBy  string  `json:"overruled_by,omitempty"`
	OverruledWhy string  `json:"overruled_why,omitempty"`
}

func present[T any](list []*T) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(x *T) bool { return x == nil })
}

// Verdict stores the binding verdict on the exact commit that was submitted.
func (v Reviews) Verdict(ctx context.Context, in VerdictInput) (Judged, error) {
	out := Judged{Verdict: in.Verdict, Done: board.Done{Task: in.Task}}
	// Lists of an agent may have empty entries, other than those of the board.
	in.Findings, in.Inject, in.Prior = present(in.Findings), present(in.Inject), present(in.Prior)
	if err := v.cleanVerdict(&in); err != nil {
		return out, err
	}
	if err := in.sizes(); err != nil {
		return out, err
	}
	s, err := v.verbs.Board.View(ctx)
	if err != nil {
		return out, err
	}
	if in.Verdict == Reject && strings.TrimSpace(in.Reason) == "" {
		in.Reason = in.said()
	}
	event := v.verbs.Board.Input()
	event.Reason, event.What = in.Reason, in.What
	event.Verdict = &transition.VerdictInput{Findings: v.judged(in.Findings), Inject: in.Inject, Prior: in.Prior, Suggestions: in.Suggestions, Checks: sumOfChecks(v.verbs.Board.Config())}
	if t := s.Task(in.Task); t != nil && t.ChangesFiles() && in.Verdict == Approve {
		facts, err := v.reviewFacts(ctx, s, t)
		if err != nil {
			return out, err
		}
		event.Review = &facts
		if err := v.quorum(ctx, s, t, &event); err != nil {
			return out, err
		}
		if t.Status == blackboard.ReadyForReview && (t.Review == nil || t.Review.Commit != t.ReviewCommit) { // no checks ran, so they have not said it
			found, err := v.verbs.Integration.TakenAway(ctx, s, t)
			if err != nil {
				return out, err
			}
			event.Verdict.Findings = append(event.Verdict.Findings, found...)
		}
		if t.Status == blackboard.ReadyForReview {
			found, err := v.verbs.Integration.SettingsChanged(ctx, s, t)
			if err != nil {
				return out, err
			}
			event.Verdict.Findings = append(event.Verdict.Findings, found...)
		}
	}
	incomplete, told := v.incomplete(ctx, s.Task(in.Task), in), []string(nil)
	lessons := v.verbs.Knowledge.lessons(ctx, s, in)
	judge := func(s *blackboard.State, a transition.Actor) (err error) {
		now := v.verbs.Board.Now()
		switch in.Verdict {
		case Approve:
			out.OverruledWhy, err = transition.Approve(s, in.Task, a, event, now)
		case Reject:
			if err = transition.Reject(s, in.Task, a, event, now); err == nil { // after the guards: whose review it is comes first
				err = incomplete
			}
		case Replan:
			err = transition.Replan(s, in.Task, a, event, now)
		case StuckReview:
			if event.What == "" {
				event.What = "stuck"
			}
			event.Texts = []transition.Text{{Option: "--reason", Value: in.Reason}}
			if strings.TrimSpace(in.Reason) == "" {
				return board.WrongUsage("liza help verdict", "--reason is empty: say what keeps the review from ending")
			}
			err = transition.ReleaseReview(s, in.Task, a, event, now)
		default:
			return board.WrongUsage("liza help verdict", "verdict '%s' is unknown; it must be approve, reject, replan or stuck", in.Verdict)
		}
		if err == nil {
			v.verbs.Knowledge.learn(s, a, in, lessons, now)
		}
		return err
	}
	said, err := v.verbs.say(ctx, "verdict", verdictWords[in.Verdict], in, judge)
	if said {
		out.Done, err = v.verbs.recorded(ctx, out.Done, err)
	} else if err == nil {
		if in.Verdict != Approve && incomplete == nil && v.judges(s, in.Task) { // before a coder can go on in the worktree
			if back, err := v.verbs.Worktrees.PutBack(ctx, in.Task, v.verbs.caller()); err != nil {
				told = append(told, err.Error())
			} else if back != "" {
				told = append(told, "the worktree is back at what was submitted; "+back)
			}
		}
		out.Done, err = v.verbs.Board.Event(ctx, "verdict", in.Task, judge)
	}
	out.Notices = append(told, out.Notices...)
	if out.OverruledWhy != "" {
		out.OverruledBy = "gate"
	}
	if err == nil && (in.Verdict == Reject || in.Verdict == Approve) && !out.Already {
		out.Notices = append(out.Notices, verdictNotices(s, in)...)
	}
	return out, err
}

func verdictNotices(before *blackboard.State, in VerdictInput) []string {
	var n []string
	if t := before.Task(in.Task); t != nil && t.RejectionReason != nil && len(in.Prior) == 0 {
		n = append(n, "this is not the first review: say with --prior N=RESOLVED|PARTIAL|STILL_PRESENT what became of the points of the rejection before")
	}
	return n
}

func (v Reviews) reviewFacts(ctx context.Context, s *blackboard.State, t *blackboard.Task) (transition.ReviewFacts, error) {
	var f transition.ReviewFacts
	if t.Status == blackboard.ReadyForReview {
		if err := v.verbs.Worktrees.Ensure(ctx, s, t); err != nil {
			return f, err
		}
	}
	w, err := v.verbs.Board.Repo.Inspect(ctx, v.verbs.Board.Repo.WorktreePath(t.ID))
	if err != nil {
		return f, err
	}
	f.Head, f.Dirty = w.Head, w.Dirty
	f.BranchTip, _ = v.verbs.Board.Repo.BranchTip(ctx, "task/"+t.ID)
	return f, nil
}

// ParseFinding reads 'severity|check|file:line|message|fix' (specs/cli.md#3).
func ParseFinding(text string) (*blackboard.Finding, error) {
	parts := strings.SplitN(text, "|", 5)
	if len(parts) < 4 || strings.TrimSpace(parts[3]) == "" {
		return nil, board.WrongUsage("liza help verdict", "--finding %q must have the form 'severity|check|file:line|message|fix'", text)
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	f := &blackboard.Finding{Severity: parts[0], Check: parts[1], Message: parts[3]}
	if f.Severity == "" {
		f.Severity = "warning"
	}
	if f.Severity != "error" && f.Severity != "warning" && f.Severity != "info" {
		return nil, board.WrongUsage("liza help verdict", "--finding: severity '%s' must be error, warning or info", f.Severity)
	}
	if len(parts) == 5 {
		f.Fix = parts[4]
	}
	f.File, f.Line = fileLine(parts[2])
	return f, nil
}

// fileLine reads FILE or FILE:LINE.
func fileLine(text string) (file string, line int) {
	if i := strings.LastIndex(text, ":"); i > 0 {
		if _, err := fmt.Sscanf(text[i+1:], "%d", &line); err == nil {
			return text[:i], line
		}
	}
	return text, 0
}

// judged gives findings that name a check of the project the severity of that check
// (specs/roles-and-knowledge.md#5.3).
func (v Reviews) judged(findings []*blackboard.Finding) []*blackboard.Finding {
	r := v.verbs.Board.Config().Review
	findings = slices.Clone(findings)
	for i, f := range findings {
		if r.Checks[f.Check].Enabled {
			own := *f
			own.Severity = r.Severity(f.Check)
			findings[i] = &own
		}
	}
	return findings
}
