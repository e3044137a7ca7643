package verb

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
)

// Reviews has the verbs of who judges work: claim a review, check, verdict, comment, decide about a merge.
type Reviews struct{ verbs *Service }

// MergeDecision is what a person decides about work that waits for the human merge gate.
type MergeDecision struct {
	Task, Reason string
	Override     bool // in spite of warnings, in mode strict
}

// ApproveMerge releases the merge of a task that waits for a person, or, in review.mode
// disabled, approves what was submitted (T19, T41). Any supervisor then merges it.
func (v Reviews) ApproveMerge(ctx context.Context, in MergeDecision) (board.Done, error) {
	if err := v.verbs.Board.AdminOnly("approve a merge"); err != nil {
		return board.Done{Task: in.Task}, err
	}
	event, err := v.mergeDecision(ctx, in, true)
	if err != nil {
		return board.Done{Task: in.Task}, err
	}
	event.Merge = &transition.MergeFacts{Override: in.Override}
	open := 0
	done, err := v.verbs.Board.Event(ctx, "approve-merge", in.Task, func(s *blackboard.State, a transition.Actor) error {
		if t := s.Find(in.Task); t != nil {
			open = len(s.OpenComments(t))
		}
		return transition.ApproveMerge(s, in.Task, a, event, v.verbs.Board.Now())
	})
	if err == nil && open > 0 && !done.Already {
		done.Notices = append(done.Notices, fmt.Sprintf("%s on %s: nobody is going to work on that any more", prose.Count(open, "open comment"), in.Task))
	}
	return done, err
}

// RejectMerge sends work that waits for a person back to its coder (T20).
func (v Reviews) RejectMerge(ctx context.Context, in MergeDecision) (board.Done, error) {
	event, err := v.mergeDecision(ctx, in, false)
	if err != nil {
		return board.Done{Task: in.Task}, err
	}
	return v.verbs.Board.Event(ctx, "reject-merge", in.Task, func(s *blackboard.State, a transition.Actor) error {
		return transition.RejectMerge(s, in.Task, a, event, v.verbs.Board.Now())
	})
}

// mergeDecision has the facts of both; without a reviewer the worktree is looked at (G55, G56).
func (v Reviews) mergeDecision(ctx context.Context, in MergeDecision, approve bool) (transition.Input, error) {
	event := v.verbs.Board.Input()
	if err := v.verbs.Board.Clean(field("--reason", &in.Reason)); err != nil {
		return event, err
	}
	event.Reason = in.Reason
	s, err := v.verbs.Board.View(ctx)
	if err != nil {
		return event, err
	}
	if t := s.Task(in.Task); t != nil && t.Status == blackboard.ReadyForReview && t.ChangesFiles() {
		facts, err := v.reviewFacts(ctx, s, t)
		if err != nil {
			return event, err
		}
		event.Review = &facts
		var found []*blackboard.Finding
		if approve {
			found, err = v.verbs.Integration.TakenAway(ctx, s, t)
		}
		if err != nil {
			return event, err
		}
		if len(found) > 0 && (!in.Override || strings.TrimSpace(in.Reason) == "") {
			return event, board.Refuse("liza diff "+t.ID, "%s; to approve it all the same say --override and --reason", checks.ErrorsFound(found))
		}
		if err := v.quorum(ctx, s, t, &event); err != nil {
			return event, err
		}
	}
	return event, nil
}

// said is what findings and steps say: the reason of a rejection that gives none of its own.
func (in *VerdictInput) said() string {
	var parts []string
	for _, f := range in.Findings {
		parts = append(parts, strings.TrimSpace(f.File+" "+f.Message))
	}
	for _, x := range in.Inject {
		parts = append(parts, x.Detail)
	}
	return strings.Join(parts, "; ")
}

// incomplete is the refusal of a rejection that cannot be mended, nil when it is good enough. A change needs a finding with a file
// of the commit; a text of the form FILE:LINE WHAT is one.
func (v Reviews) incomplete(ctx context.Context, t *blackboard.Task, in VerdictInput) error {
	if t == nil || in.Verdict != Reject || in.Checks || !t.ChangesFiles() || t.ReviewCommit == "" {
		return nil
	}
	list, err := v.verbs.Board.Repo.Files(ctx, t.ReviewCommit)
	if err != nil || v.verbs.sameTree(ctx, t.BaseCommit, t.ReviewCommit) { // a commit without changes stands for one that a replay does not have
		return nil
	}
	files := map[string]bool{}
	for _, f := range list {
		files[f.Path] = true
	}
	findings := slices.Clone(in.Findings)
	texts := []string{in.Reason}
	for _, x := range in.Inject {
		texts = append(texts, x.Detail)
	}
	for _, text := range texts {
		place, what, _ := strings.Cut(strings.TrimSpace(text), " ")
		f := &blackboard.Finding{Message: what}
		if f.File, f.Line = fileLine(strings.TrimSuffix(place, ":")); files[path.Clean(f.File)] {
			findings = append(findings, f)
		}
	}
	problem, enough := "it names no place: say the file, better with the line, or give a finding", false
	for _, f := range findings {
		switch wrong := v.misplaced(ctx, t.ReviewCommit, f, files); {
		case wrong != "":
			return cannotBeMended(t.ID, wrong)
		case !files[path.Clean(f.File)]:
		case strings.TrimSpace(f.Message) == "":
			problem = "it names no defect: say what is wrong there, and what is to be done"
		default:
			enough = true
		}
	}
	if enough {
		return nil
	}
	return cannotBeMended(t.ID, problem)
}

func cannotBeMended(id, problem string) error {
	return board.Refuse(fmt.Sprintf("liza verdict %s reject --reason 'FILE:LINE what is wrong; what to do'", id), "the rejection of %s cannot be mended as it is: %s", id, problem)
}

// misplaced says that the line of a finding is not in the commit, "" when it is, or when the finding has none.
func (v Reviews) misplaced(ctx context.Context, commit string, f *blackboard.Finding, files map[string]bool) string {
	file := path.Clean(f.File)
	if f.File == "" || f.Line <= 0 {
		return ""
	}
	if !files[file] {
		return fmt.Sprintf("%s:%d does not exist: %.9s has no file %s", file, f.Line, commit, file)
	}
	data, err := v.verbs.Board.Repo.ReadFile(ctx, commit, file)
	if most := linesOf(data); err == nil && f.Line > most { // a submodule has no lines
		return fmt.Sprintf("%s:%d does not exist: in %.9s %s has %s", file, f.Line, commit, file, prose.Count(most, "line"))
	}
	return ""
}

// linesOf counts the lines of a file; the last one needs no end.
func linesOf(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		n++
	}
	return n
}

// Comment is what a person says about the change of a task: at a line of a file as it is now, about a file (Line 0), or
// about the whole (no Path).
type Comment struct {
	Task, Path string
	Line       int
	Text       string
}

// Comment puts a comment on the board. The coder gets it with its next prompt, as a finding when the work is rejected. Work that
// was approved already then waits for a person's decision.
func (v Reviews) Comment(ctx context.Context, in Comment) (board.Done, error) {
	done := board.Done{Task: in.Task}
	if err := v.verbs.Board.Clean(field("the comment", &in.Text), field("the path", &in.Path)); err != nil {
		return done, err
	}
	if len(in.Text) > maxNote {
		return done, board.WrongUsage("liza help tell", "the comment has %d bytes; %d is the limit", len(in.Text), maxNote)
	}
	if strings.TrimSpace(in.Text) == "" {
		return done, board.WrongUsage("liza help tell", "the comment is empty")
	}
	s, err := v.verbs.Board.View(ctx)
	if err != nil {
		return done, err
	}
	id, err := v.verbs.Board.Identify()
	if err != nil {
		return done, err
	}
	if err := v.verbs.Board.OnlyPerson(s, id.Actor(s.Clone()), "comment on a change"); err != nil { // before anything is said about the change
		return done, err
	}
	n := &blackboard.Note{Message: in.Text, For: in.Task, Line: in.Line, By: v.verbs.Board.Caller.Person, CallerRole: v.verbs.Board.CallerRole(v.verbs.Board.Caller.Person)}
	if t := s.Find(in.Task); t != nil { // else the rules say it
		if n.File, n.Commit, err = v.placeOf(ctx, s, t, in); err != nil {
			return done, err
		}
	}
	return v.verbs.Board.Event(ctx, "comment", in.Task, func(s *blackboard.State, a transition.Actor) error {
		if err := v.verbs.Board.OnlyPerson(s, a, "comment on a change"); err != nil {
			return err
		}
		own := *n // the change may run more than once
		return transition.AddNote(s, &own, a, v.verbs.Board.Now())
	})
}

// placeOf is the file and the commit that a comment is about.
func (v Reviews) placeOf(ctx context.Context, s *blackboard.State, t *blackboard.Task, in Comment) (file, commit string, err error) {
	next := "liza diff " + t.ID + " --stat"
	base, commit, err := v.verbs.Integration.ChangeOf(ctx, s, t)
	if err != nil {
		return "", "", err
	}
	if in.Path == "" {
		if in.Line != 0 {
			return "", "", board.WrongUsage("liza help tell", "a line without a file says nothing")
		}
		return "", commit, nil
	}
	file = path.Clean(in.Path)
	changes, err := v.verbs.Board.Repo.ChangedFiles(ctx, base, commit)
	if err != nil {
		return "", "", err
	}
	for _, c := range changes {
		if c.Path == file {
			return file, commit, v.hasLine(ctx, c, commit, in.Line, next)
		}
	}
	return "", "", board.Refuse(next, "%s does not change %s", t.ID, file)
}

// hasLine refuses a line that the file does not have.
func (v Reviews) hasLine(ctx context.Context, c git.Change, commit string, line int, next string) error {
	switch {
	case line < 0:
		return board.WrongUsage("liza help tell", "line %d must be 1 or more", line)
	case line == 0:
		return nil
	case c.Status == "D":
		return board.Refuse(next, "%s was deleted, so it has no line %d", c.Path, line)
	}
	data, err := v.verbs.Board.Repo.ReadFile(ctx, commit, c.Path)
	if err != nil {
		return fmt.Errorf("cannot look at line %d: %w", line, err)
	}
	if lines := bytes.Count(data, []byte("\n")) + 1; line > lines || line == lines && bytes.HasSuffix(data, []byte("\n")) {
		return board.Refuse(next, "%s has no line %d", c.Path, line)
	}
	return nil
}

// quorumRules are those of review.quorum.
func quorumRules(cfg *config.Config) []blackboard.QuorumRule {
	var rules []blackboard.QuorumRule
	for _, r := range cfg.Review.Quorum {
		rules = append(rules, blackboard.QuorumRule{Paths: r.Paths, Reviewers: r.Reviewers, Programs: r.Programs})
	}
	return rules
}

// quorumOf is what review.quorum asks for the change that a merge of the task's commit onto a commit or branch would
// make, nil for one reviewer. Without rules git is not asked.
func (v Reviews) quorumOf(ctx context.Context, t *blackboard.Task, onto string) (*blackboard.Quorum, error) {
	rules := quorumRules(v.verbs.Board.Config())
	if len(rules) == 0 || !t.ChangesFiles() || t.ReviewCommit == "" {
		return nil, nil
	}
	from, to, err := v.verbs.Integration.ProposalOnto(ctx, t, onto, t.ReviewCommit)
	if err != nil {
		return nil, err
	}
	changes, err := v.verbs.Board.Repo.ChangedFiles(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("cannot find what %s changes: %w", t.ID, err)
	}
	var files []string
	for _, c := range changes {
		files = append(files, c.Path)
		if c.OldPath != "" {
			files = append(files, c.OldPath)
		}
	}
	return blackboard.QuorumFor(rules, files, review.Within), nil
}

// quorum puts into the facts of an approval what the change needs.
func (v Reviews) quorum(ctx context.Context, s *blackboard.State, t *blackboard.Task, in *transition.Input) (err error) {
	if len(v.verbs.Board.Config().Review.Quorum) == 0 && len(t.Approvals) == 0 || !t.ChangesFiles() {
		return nil
	}
	if in.Quorum, err = v.quorumOf(ctx, t, s.IntegrationBranch()); err == nil && in.Review != nil {
		in.Review.Tree, err = v.verbs.Board.Repo.TreeOf(ctx, t.ReviewCommit)
	}
	return err
}

// judges reports whether the caller has the review claim of a task.
func (v Reviews) judges(s *blackboard.State, id string) bool {
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || t.ReviewingBy == "" || t.ReviewingBy != v.verbs.caller() {
		return false
	}
	who, err := v.verbs.Board.Identify()
	if err != nil {
		return false
	}
	_, err = transition.Identify(s.Clone(), who.Actor(s), v.verbs.Board.Now())
	return err == nil
}

// Checked is what the checks found before a review.
type Checked struct {
	board.Done
	Checks   []*blackboard.Check
	Findings []*blackboard.Finding
	Rejected string // why there is nothing left to judge: the task was rejected without a reviewer
	Attempt  string // of one of several attempts: why it is not judged now
}

// Check does the checks of a submission for the reviewer who has claimed it, on the exact
// commit, and stores what they found (specs/roles-and-knowledge.md#5.5). What came into the worktree
// after the submission is put aside first; work with errors is rejected when
// review.skip_agent_on_error says so.
func (v Reviews) Check(ctx context.Context, id string) (Checked, error) {
	out := Checked{Done: board.Done{Task: id}}
	s, err := v.verbs.Board.View(ctx)
	if err != nil {
		return out, err
	}
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || !t.ChangesFiles() || v.verbs.Board.Config().Review.Disabled() {
		return out, nil
	}
	out.Status = t.Status
	if _, err := v.verbs.Worktrees.PutBack(ctx, id, ""); err != nil {
		return out, err
	}
	if out.Checks, out.Findings, err = v.verbs.Checks.RunChecks(ctx, s, t, false); err != nil {
		return out, err
	}
	err = v.verbs.Board.Later(ctx, "checks", func(s *blackboard.State, a transition.Actor) error {
		return transition.RecordChecks(s, id, a, &blackboard.Review{Commit: t.ReviewCommit, At: blackboard.TimeOf(v.verbs.Board.Now()), Checks: out.Checks, Findings: out.Findings})
	})
	if err != nil {
		return out, err
	}
	errs := checks.ErrorsFound(out.Findings)
	if rivals := transition.Rivals(s, t); len(rivals) > 0 {
		out.Attempt, err = v.screen(ctx, t, rivals, errs)
		if out.Attempt != "" || err != nil {
			return out, err
		}
	}
	if !v.verbs.Board.Config().Review.SkipAgentOnError || errs == "" || len(transition.Rivals(s, t)) > 0 {
		return out, nil
	}
	done, err := v.Verdict(ctx, VerdictInput{Task: id, Verdict: Reject, Reason: errs, Supervisor: true, Checks: true})
	out.Done, out.Rejected = done.Done, errs
	return out, err
}

// cleanVerdict cleans what a reviewer says.
func (v Reviews) cleanVerdict(in *VerdictInput) error {
	texts := append([]board.Text{field("--reason", &in.Reason)}, board.TextsOf("--suggest", &in.Suggestions)...)
	texts = append(texts, board.TextsOf("--learn", &in.Learn)...)
	for _, f := range in.Findings {
		texts = append(texts, field("--finding", &f.Message), field("--finding", &f.Fix), field("--finding", &f.File), field("--finding", &f.Check))
	}
	for _, f := range in.Inject {
		texts = append(texts, field("--inject", &f.Detail), field("--inject", &f.Expect))
	}
	return v.verbs.Board.Clean(texts...)
}

// PickInput says which of several attempts goes on.
type PickInput struct {
	Task   string `json:"task" arg:"ATTEMPT" help:"id of the attempt that goes on"`
	Reason string `json:"reason" help:"why"`
}

// Pick lets one of several attempts at the same work go on: the others are superseded by it, their work is saved in the attic (T44).
func (v Reviews) Pick(ctx context.Context, in PickInput) (board.Done, error) {
	s, err := v.verbs.Board.View(ctx)
	if err != nil {
		return board.Done{Task: in.Task}, err
	}
	t := s.Find(in.Task)
	var losers []string
	if t != nil {
		for _, o := range transition.Rivals(s, t) {
			losers = append(losers, o.ID)
		}
	}
	switch {
	case t == nil:
		return board.Done{Task: in.Task}, board.Refuse("liza status", "no task '%s'", in.Task)
	case losers == nil && t.AttemptOf != "" && t.Status != blackboard.Superseded:
		return board.Done{Task: t.ID, Status: t.Status, Already: true}, nil
	case losers == nil:
		return board.Done{Task: t.ID}, board.Refuse("liza show "+t.ID, "%s (%s) is not one of several open attempts", t.ID, t.Status)
	}
	return v.pick(ctx, t.ID, losers, in.Reason)
}

// pick saves the work of losers, ends them in one write, and removes what was saved. A crash before the write leaves all as it was, one after
// it folders that gc removes.
func (v Reviews) pick(ctx context.Context, winner string, losers []string, reason string) (board.Done, error) {
	b := v.verbs.Board
	if err := b.Clean(field("--reason", &reason)); err != nil {
		return board.Done{Task: winner}, err
	}
	in, saved := b.Input(), map[string]transition.Input{}
	in.Reason = reason
	event := func(s *blackboard.State, id string, a transition.Actor, in transition.Input, now time.Time) error {
		return transition.Pick(s, id, losers, a, saved, in, now)
	}
	if done, err := v.verbs.try(ctx, winner, in, event); err != nil {
		return done, err
	}
	for _, id := range losers {
		own := transition.Input{}
		own.Attic, own.SaveError = v.verbs.Worktrees.Save(ctx, id, "pick")
		saved[id] = own
	}
	b.Failpoint("pick.saved")
	done, err := b.Event(ctx, "pick", winner, func(s *blackboard.State, a transition.Actor) error { return event(s, winner, a, in, b.Now()) })
	if err == nil {
		err = b.Write(ctx, "pick")
	}
	if err != nil {
		return done, err
	}
	b.Failpoint("pick.applied")
	for _, id := range losers {
		done.Notices = append(done.Notices, id+" is over"+prose.After("; its work is in ", saved[id].Attic))
		if err := v.verbs.Worktrees.Drop(ctx, id); err != nil {
			done.Notices = append(done.Notices, err.Error())
		}
	}
	return done, nil
}

// screen decides about one of several attempts whose checks have run, with the errors that they found. It returns why there is nothing to
// judge now; "" when the attempts can be compared, or this one is the only one left.
func (v Reviews) screen(ctx context.Context, t *blackboard.Task, rivals []*blackboard.Task, errs string) (why string, err error) {
	var ids []string
	candidate, unchecked := "", ""
	for _, o := range rivals {
		ids = append(ids, o.ID)
		if transition.Pickable(o) {
			candidate = cmp.Or(candidate, o.ID)
			if !transition.Checked(o) {
				unchecked = o.ID
			}
		}
	}
	switch {
	case candidate == "":
		_, err = v.pick(ctx, t.ID, ids, "no other attempt was handed in")
	case errs != "":
		why = "dropped, its checks fail: " + errs
		_, err = v.pick(ctx, candidate, []string{t.ID}, prose.OneLine("its checks fail: "+errs, 500))
	case unchecked != "":
		why = "checked; the other attempt " + unchecked + " is checked next"
		_, err = v.Verdict(ctx, VerdictInput{Task: t.ID, Verdict: StuckReview, What: "released", Reason: why})
	}
	return why, err
}
