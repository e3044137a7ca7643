package outcome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/breaker"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
)

// Run is one run of an agent program that has ended, as the supervisor saw it. Apply
// turns it into a transition; nothing else does (specs/roles-and-knowledge.md#0.1, one path).
type Run struct {
	Kind    string     // planner, coder, code_reviewer
	Task    string     // "" for a planner
	Before  board.Mark // the board when the run began
	Answer  exitcmd.Answer
	Said    []*blackboard.Said // what its verbs have said: it counts when the answer agrees
	ByVerbs bool               // its program ended by itself with code 0: without an exit command that is its agreement
	Answers int                // how many answers of its unit of work there were, this one included
	Climbs  bool               // the next rung of its ladder takes over where it is stuck
}

// Effect says what came of a run.
type Effect string

// What can come of a run: its exit command was applied; what its verbs said was; the agent
// has to be asked again; somebody else took the work away; a new run goes on with it.
const (
	Applied  Effect = "applied"
	ByVerbs  Effect = "verbs"
	Reask    Effect = "reask"
	Dropped  Effect = "dropped"
	Continue Effect = "continue"
)

// Report is the result of Apply.
type Report struct {
	Effect  Effect
	Action  string // of the exit command; "" without one
	Summary string
	Status  blackboard.Status // of the task afterwards
	Problem string            // for a re-ask: what is wrong with the answer
	Plan    string            // id of the plan that was applied
	Changed bool              // a planner's run changed the board
	Note    string            // one line for the terminal
	Again   bool              // the plan is one that was tried before
	Nothing bool              // the coder handed in what has failed already

	Warnings []string // of the plan that was applied
}

// since finds what happened to the task during the run: the last status-setting entry by
// this agent, and whether somebody else changed it.
func since(t *blackboard.Task, m board.Mark) (mine blackboard.HistoryEvent, handoff, others bool) {
	for _, h := range t.History[min(m.History, len(t.History)):] {
		switch {
		case h.Agent != m.Agent && h.Event != blackboard.HistoryCheckpoint:
			others = true
		case h.Event == blackboard.HistoryHandoff:
			handoff = true
		case h.Event != blackboard.HistoryCheckpoint:
			mine = h.Event
		}
	}
	return mine, handoff, others
}

// reask asks the agent again, because of what is wrong with its answer.
func (out Report) reask(problem string) Report {
	out.Effect, out.Problem = Reask, problem
	return out
}

// OrReask asks the agent again when a verb refused what its exit command asked for and the agent can do something about it.
func (out Report) OrReask(err error) (Report, error) {
	if r := forAgent(err); r != nil {
		out.Nothing = r.Guard == "G38" // whether a verb or the exit command handed it in
		return out.reask(r.Advice()), nil
	}
	return out, err
}

// forAgent is the refusal that the agent can do something about, nil for another error.
func forAgent(err error) *transition.Refusal {
	var r *transition.Refusal
	if errors.As(err, &r) && r.Exit != transition.ExitLeaseLost && r.Exit != transition.ExitFailure {
		return r
	}
	return nil
}

func isLost(err error) bool {
	var r *transition.Refusal
	return errors.As(err, &r) && r.Exit == transition.ExitLeaseLost
}

// MarkOf remembers the board before a run.
func MarkOf(d *verb.Service, s *blackboard.State, agent, task string) board.Mark {
	m := board.Mark{Agent: agent, Writes: writesOf(s, agent)}
	if t := s.Task(task); t != nil {
		m.ClaimSeq, m.History = t.ClaimSeq, len(t.History)
	}
	return m
}

// writesOf counts what an agent did on the board.
func writesOf(s *blackboard.State, agent string) int {
	n := 0
	for t := range s.Tasks() {
		for _, h := range t.History {
			if h.Agent == agent {
				n++
			}
		}
	}
	for _, p := range s.Plans {
		if p.By == agent {
			n++
		}
	}
	for _, x := range s.Discovered {
		if x.ConvertedToTask != "" || x.Deferred != nil {
			n++
		}
	}
	return n
}

// Apply carries out what a run's verbs and exit command say (specs/roles-and-knowledge.md#4.4, specs/roles-and-knowledge.md#4.5).
func Apply(ctx context.Context, d *verb.Service, r Run) (Report, error) {
	s, err := d.Board.View(ctx)
	if err != nil {
		return Report{}, err
	}
	out := Report{Effect: Applied}
	if said := r.Answer.Exit; said != nil {
		own := *said // the history of the run has the files as they were named
		out.Action, out.Summary, r.Answer.Exit = own.Action, own.Summary, &own
		KeepInside(ctx, d, r.Task, &own)
	}
	if r.Answer.Multiple {
		d.Board.Warn(ctx, r.Task, blackboard.ActionExitMultiple, "several exit commands; the last one counts")
	}
	if n := sentences(out.Summary); n > 3 {
		d.Board.Warn(ctx, r.Task, blackboard.ActionExitSummaryLong, fmt.Sprintf("summary_for_supervisor has %d sentences; 2 to 3 are asked for", n))
	}
	if _, problem := agreed(r); problem != "" && len(r.Said) > 0 && r.Answer.Exit != nil {
		if err := d.Board.NoteAnomaly(ctx, r.Task, blackboard.AnomalyExitMismatch, problem); err != nil {
			return out, err
		}
	}
	switch r.Kind {
	case "planner":
		return applyPlanner(ctx, d, s, r, out)
	case "code_reviewer":
		return applyReviewer(ctx, d, s, r, out)
	}
	return applyCoder(ctx, d, s, r, out)
}

func applyCoder(ctx context.Context, d *verb.Service, s *blackboard.State, r Run, out Report) (Report, error) {
	t, exit := s.Task(r.Task), r.Answer.Exit
	if t == nil {
		return dropped(d, out, "the task is gone"), nil
	}
	mine, handoff, others := since(t, r.Before)
	// The number of the claim too: the agent may have lost the task and claimed it again during the run.
	held := t.Status == blackboard.Claimed && t.AssignedTo == r.Before.Agent && t.ClaimSeq == r.Before.ClaimSeq
	said, problem := agreed(r)
	out.Status = t.Status
	switch {
	case held && handoff && len(r.Said) == 0:
		return handedOff(ctx, d, r, out)
	case held && problem != "":
		return out.reask(problem), nil
	case held && said != nil:
		return coderSaid(ctx, d, r, said, out)
	case held:
		return coderExit(ctx, d, t, exit, r.Climbs, out)
	case mine == "" && others:
		return dropped(d, out, fmt.Sprintf("somebody else made it %s", t.Status)), nil
	case mine == "":
		return dropped(d, out, "the claim is no longer this agent's"), nil
	}
	out.Effect, out.Note = ByVerbs, mine.Words() // of a person who acts for the agent
	return out, nil
}

func dropped(d *verb.Service, out Report, why string) Report {
	out.Effect, out.Note = Dropped, why
	return out
}

// coderExit applies a coder's exit command to the task that it still holds.
func coderExit(ctx context.Context, d *verb.Service, t *blackboard.Task, exit *exitcmd.Exit, climbs bool, out Report) (Report, error) {
	switch exit.Action {
	case exitcmd.Completed:
		done, err := d.Submit(ctx, verb.SubmitInput{Task: t.ID, Summary: exit.Summary, NoTests: exit.NoTests, Evidence: exit.EvidenceFiles})
		if err != nil {
			return out.OrReask(err)
		}
		out.Status, out.Note = done.Status, "submitted"
		return out, nil
	case exitcmd.Stuck:
		if climbs && (len(exit.BlockedQuestions) == 0 || len(exit.Attempted) > 0) { // not a question for a person
			_, err := d.RunFailed(ctx, t.ID, "stuck", exit.Summary)
			out.Effect, out.Note = Continue, "stuck: "+exit.Summary
			return out, err
		}
		in := verb.BlockInput{Task: t.ID, Reason: exit.Summary, Questions: exit.BlockedQuestions, Attempted: exit.Attempted}
		if len(in.Questions) == 0 {
			in.Questions, in.Synthetic = []string{"What is needed to continue?"}, true
		}
		done, err := d.Block(ctx, in)
		out.Status, out.Note = done.Status, "blocked"
		return out, err
	}
	out.Effect = Continue
	if exit.Handoff != nil {
		return handOff(ctx, d, t.ID, exit.Handoff, out)
	}
	err := d.Board.Update(ctx, "retry", func(s *blackboard.State, a transition.Actor) error {
		return transition.Retry(s, t.ID, a, transition.Input{}, d.Board.Now())
	})
	// The rules allow no further iteration. A lost claim is refused as well, but then the task is somebody else's.
	if board.IsRefusal(err) && !isLost(err) {
		return limitIterations(ctx, d, t.ID, exit.Summary, out)
	}
	out.Note = "retries"
	if err == nil {
		err = noteRetries(ctx, d, t.ID, exit.Summary)
	}
	return out, err
}

// handOff records the handoff of an exit command; a new run goes on with it (T37).
func handOff(ctx context.Context, d *verb.Service, task string, h *exitcmd.HandoffExit, out Report) (Report, error) {
	_, err := d.Handoff(ctx, task, blackboard.Handoff{Summary: h.Summary, NextAction: h.NextAction, Approach: h.Approach,
		Blockers: h.Blockers, FilesModified: h.FilesModified, NextSteps: h.NextSteps})
	if err != nil {
		return out.OrReask(err)
	}
	out.Effect, out.Note = Continue, "handed off"
	return out, nil
}

// limitIterations blocks a task whose iterations are used up (T26).
func limitIterations(ctx context.Context, d *verb.Service, task, last string, out Report) (Report, error) {
	out.Effect, out.Note = Applied, "iterations used up"
	err := d.Board.Update(ctx, "limit", func(s *blackboard.State, a transition.Actor) error {
		return transition.LimitIterations(s, task, a, transition.Input{Reason: last}, d.Board.Now())
	})
	out.Status = blackboard.Blocked
	return out, err
}

func applyReviewer(ctx context.Context, d *verb.Service, s *blackboard.State, r Run, out Report) (Report, error) {
	t, exit := s.Task(r.Task), r.Answer.Exit
	if t == nil {
		return dropped(d, out, "the task is gone"), nil
	}
	mine, handoff, others := since(t, r.Before)
	held := t.Status == blackboard.ReadyForReview && t.ReviewingBy == r.Before.Agent
	said, problem := agreed(r)
	out.Status = t.Status
	switch {
	case held && handoff && len(r.Said) == 0:
		return handedOff(ctx, d, r, out)
	case held && problem != "":
		return out.reask(problem), nil
	case held && said != nil:
		return reviewerSaid(ctx, d, r, said, out)
	case held:
		return reviewerExit(ctx, d, s, t, exit, out)
	case mine == "" && others:
		return dropped(d, out, fmt.Sprintf("somebody else made it %s", t.Status)), nil
	case mine == "":
		return dropped(d, out, "the review claim is no longer this agent's"), nil
	}
	out.Effect, out.Note = ByVerbs, mine.Words() // of a person who acts for the agent
	return out, nil
}

// noteReason is how many characters of a rejection's reason are on the line that tells of it.
const noteReason = 120

func reviewerExit(ctx context.Context, d *verb.Service, s *blackboard.State, t *blackboard.Task, exit *exitcmd.Exit, out Report) (Report, error) {
	if exit.Action == exitcmd.Retry && exit.Handoff != nil {
		return handOff(ctx, d, t.ID, exit.Handoff, out)
	}
	in := verb.VerdictInput{Task: t.ID, Verdict: verb.StuckReview, Reason: exit.Summary, Supervisor: true}
	if r := exit.Review; exit.Action == exitcmd.Completed && r.Status != exitcmd.ReviewStuck && (r.Pick != "" || len(transition.Rivals(s, t)) > 0) {
		return pick(ctx, d, s, t, r, out)
	}
	switch {
	case exit.Action == exitcmd.Completed:
		in = verdictOf(exit.Review, t.ID)
	case exit.Action == exitcmd.Retry:
		in.What = "retry"
	}
	return judge(ctx, d, in, out)
}

// judge gives a verdict of a reviewer's run.
func judge(ctx context.Context, d *verb.Service, in verb.VerdictInput, out Report) (Report, error) {
	done, err := d.Reviews.Verdict(ctx, in)
	if err != nil {
		return out.OrReask(err)
	}
	out.Status = done.Status
	out.Note = map[verb.Verdict]string{verb.Approve: "approved", verb.Reject: "rejected", verb.Replan: "wants a new plan", verb.StuckReview: "review released"}[in.Verdict]
	if in.Verdict == verb.Reject && in.Reason != "" {
		out.Note += ": " + prose.OneLine(in.Reason, noteReason)
	}
	if done.OverruledBy != "" {
		out.Note = "approved, but overruled by the gate"
	}
	return out, nil
}

// pick carries out what a reviewer says who compared attempts. When the one that was under review goes on, its review follows.
func pick(ctx context.Context, d *verb.Service, s *blackboard.State, t *blackboard.Task, r *exitcmd.ReviewExit, out Report) (Report, error) {
	var commits []string
	winner := ""
	for _, o := range append(transition.Rivals(s, t), t) {
		if transition.Pickable(o) {
			commits = append(commits, blackboard.ShortCommit(o.ReviewCommit))
			if len(r.Pick) >= 7 && strings.HasPrefix(o.ReviewCommit, r.Pick) {
				winner = o.ID
			}
		}
	}
	switch {
	case len(commits) < 2:
		return out.reask("review.pick is for several attempts at one task; here there is one: give its verdict"), nil
	case winner == "":
		slices.Sort(commits)
		return out.reask("review.pick must be the commit of the attempt that goes on: " + strings.Join(commits, ", ")), nil
	}
	if _, err := d.Reviews.Pick(ctx, verb.PickInput{Task: winner, Reason: r.Reason}); err != nil {
		return out.OrReask(err)
	}
	out.Note = winner + " goes on: " + prose.OneLine(r.Reason, noteReason)
	if winner == t.ID {
		out.Effect = Continue
	}
	return out, nil
}

func applyPlanner(ctx context.Context, d *verb.Service, s *blackboard.State, r Run, out Report) (Report, error) {
	exit, changed := r.Answer.Exit, writesOf(s, r.Before.Agent) != r.Before.Writes
	said, problem := agreed(r)
	switch {
	case said != nil:
		return plannerSaid(ctx, d, r, said, out)
	case len(r.Said) > 0:
		return out.reask(problem), nil
	case exit == nil && changed:
		d.Board.Warn(ctx, "", blackboard.ActionExitMissing, "the planner used verbs and gave no exit command")
		out.Effect, out.Changed, out.Note = ByVerbs, true, "planned by verbs"
		return out, nil
	case exit == nil:
		return out.reask(r.Answer.Problem.Error()), nil
	case exit.Action == exitcmd.Retry:
		out.Effect, out.Note = Continue, "retries"
		return out, nil
	case exit.Action == exitcmd.Stuck:
		out.Note = "stuck"
		return out, askPlanner(ctx, d, r, exit)
	case exit.Plan == nil && changed:
		out.Effect, out.Changed, out.Note = ByVerbs, true, "planned by verbs"
		return out, nil
	case exit.Plan == nil && s.TaskCount() == 0:
		return out.reask("the first planning needs the key plan: no task exists yet"), nil
	case exit.Plan == nil:
		d.Board.Warn(ctx, "", blackboard.ActionPlannerNoAction, "the planner changed nothing")
		out.Note = "changed nothing"
		return out, nil
	}
	return applyPlan(ctx, d, r, exit.Plan, out)
}

// applyPlan puts the plan of a planner's run on the board.
func applyPlan(ctx context.Context, d *verb.Service, r Run, p *exitcmd.Plan, out Report) (Report, error) {
	p.Answers = r.Answers
	applied, err := d.ApplyPlan(ctx, p)
	var circular *plan.CircularError
	out.Again = errors.As(err, &circular)
	var refusal *transition.Refusal
	if errors.As(err, &refusal) && refusal.Exit == transition.ExitNothing {
		out.Note = refusal.Message
		return out, nil
	}
	if err != nil {
		return out.OrReask(err)
	}
	out.Plan, out.Changed, out.Warnings = applied.Plan, true, applied.Warnings
	out.Note = "decided about " + strings.Join(plan.Decided(p), ", ")
	if applied.Plan != "" {
		out.Note = fmt.Sprintf("%s: %d tasks", applied.Plan, len(applied.Tasks))
	}
	return out, nil
}

// askPlanner records a stuck planner's questions; the checkpoint follows.
func askPlanner(ctx context.Context, d *verb.Service, r Run, exit *exitcmd.Exit) error {
	err := d.Board.Update(ctx, "planner", func(s *blackboard.State, a transition.Actor) error {
		for _, q := range exit.BlockedQuestions {
			transition.Ask(s, &blackboard.Question{Agent: r.Before.Agent, Kind: "blocked", Type: "input", Text: q, Status: blackboard.QuestionOpen, Asked: blackboard.TimeOf(d.Board.Now())})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return PlannerStuck(ctx, d, exit.Summary)
}

// stuckWords begin the message of a checkpoint at which the planner cannot go on.
const stuckWords = "planner stuck: "

// PlannerStuck stops the sprint at a checkpoint, for a person: the planner cannot go on
// (specs/roles-and-knowledge.md#4.4). There is nothing to stop for when a person has answered what it was stuck at.
func PlannerStuck(ctx context.Context, d *verb.Service, why string) error {
	if s, err := d.Board.View(ctx); err != nil || transition.ReasonGone(s, d.Board.Now()) {
		return err
	}
	return checkpointAnyway(ctx, d, blackboard.CausePlanner, stuckWords+prose.FirstLine(why))
}

// handedOff goes on with a new run after `liza handoff`. An exit command that says
// something else than "go on" contradicts it.
func handedOff(ctx context.Context, d *verb.Service, r Run, out Report) (Report, error) {
	exit := r.Answer.Exit
	out.Effect, out.Note = Continue, "handed off"
	if exit == nil || exit.Action == exitcmd.Retry {
		return out, nil
	}
	return out, d.Board.NoteAnomaly(ctx, r.Task, blackboard.AnomalyExitMismatch, fmt.Sprintf("the verbs say handoff, the exit command says %s", exit.Action))
}

// noteRetries records a loop when a coder gives up twice in a row with the same summary
// (specs/roles-and-knowledge.md#4.4). The attempt of this run is the newest one.
func noteRetries(ctx context.Context, d *verb.Service, task, summary string) error {
	return d.Board.Update(ctx, "retry loop", func(s *blackboard.State, a transition.Actor) error {
		n := 0
		attempts := s.Task(task).Attempts
		for i := len(attempts) - 1; i >= 0 && attempts[i] != nil && attempts[i].Action == exitcmd.Retry; i-- {
			if breaker.Normalise(attempts[i].Summary) != breaker.Normalise(summary) {
				break
			}
			n++
		}
		// Exactly two: a third one is the same loop, and needs no second record.
		if n == 2 {
			transition.AddAnomaly(s, task, blackboard.System, blackboard.AnomalyRetryLoop, blackboard.Settings{"count": n, "error_pattern": prose.FirstLine(summary)}, d.Board.Now())
		}
		return nil
	})
}

// sentences counts the sentences of a summary.
func sentences(text string) int {
	n := 0
	for _, w := range strings.Fields(text) {
		if strings.HasSuffix(w, ".") || strings.HasSuffix(w, "!") || strings.HasSuffix(w, "?") {
			n++
		}
	}
	return n
}

// KeepInside drops evidence that leads out of the workspace or does not exist, and says what
// does not exist (specs/roles-and-knowledge.md#4.3). Nothing outside is looked at.
func KeepInside(ctx context.Context, d *verb.Service, task string, exit *exitcmd.Exit) {
	root, inside := workspace(d, task), Inside(d, task, exit.EvidenceFiles)
	kept, odd := []string{}, []string(nil)
	for _, f := range inside {
		info, err := os.Stat(filepath.Join(root, f))
		switch {
		case err != nil && !committed(ctx, d, task, f):
			odd = append(odd, f+" does not exist")
			continue
		case err == nil && info.IsDir():
			odd = append(odd, f+" is a folder")
		}
		kept = append(kept, f)
	}
	if n := len(exit.EvidenceFiles) - len(inside); n > 0 {
		if err := d.Board.NoteAnomaly(ctx, task, blackboard.AnomalyEvidenceOutside, fmt.Sprintf("%d of %d files", n, len(exit.EvidenceFiles))); err != nil {
			d.Board.Progressf("cannot record evidence_outside_worktree: %v", err)
		}
	}
	if len(odd) > 0 {
		d.Board.Warn(ctx, task, blackboard.ActionEvidenceOdd, strings.Join(odd, ", "))
	}
	exit.EvidenceFiles = kept
}

// workspace is the folder that evidence is relative to: the task's worktree, or without a
// task the project.
func workspace(d *verb.Service, task string) string {
	if task == "" {
		return d.Board.Project.Root
	}
	return d.Board.Repo.WorktreePath(task)
}

// Inside are those of the files that are in the workspace of a task, with clean paths.
func Inside(d *verb.Service, task string, files []string) []string {
	root, kept := workspace(d, task), []string{}
	for _, f := range files {
		if filepath.IsLocal(f) && !leadsOut(root, f) {
			kept = append(kept, filepath.ToSlash(filepath.Clean(f)))
		}
	}
	return kept
}

// leadsOut reports whether a path goes out of root through a symbolic link.
func leadsOut(root, path string) bool {
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false // there is no workspace, so there is nothing to open
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(top, path)); err == nil {
		rel, err := filepath.Rel(top, real)
		return err != nil || !filepath.IsLocal(rel)
	}
	if info, err := os.Lstat(filepath.Join(top, path)); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return true // to nowhere, or in a circle
	}
	up := filepath.Dir(path)
	return up != "." && leadsOut(top, up)
}

// committed reports whether the task's branch has the file.
func committed(ctx context.Context, d *verb.Service, task, file string) bool {
	if task == "" {
		return false
	}
	tip, err := d.Board.Repo.BranchTip(ctx, "task/"+task)
	if err != nil {
		return false
	}
	_, err = d.Board.Repo.ReadFile(ctx, tip, file)
	return err == nil
}
