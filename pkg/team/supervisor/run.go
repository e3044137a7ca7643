package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/run/agent"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/prompt"
	"liza/pkg/run/role"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/wall"
	"liza/pkg/verb/board"
	"liza/pkg/verb/outcome"
	"liza/pkg/verb/verb"
)

// A run is one start of an agent program, from its prompt to what became of its answer. What belongs to it
// ends with it: launch makes it, closeRun writes it into the history.
type run struct {
	brief   briefing
	number  int    // among the runs of this agent
	mark    string // its correlation id: in the history, the journal and the output
	before  board.Mark
	record  *recording // nil: it has none
	task    string
	folder  string        // of its sockets; "" for none
	git     *git.Folder   // of its own; nil: it has none
	sandbox sandbox.Level // how it is contained
	wall    *wall.Wall    // nil: it has none
	started chan struct{} // closed when top is known; nil: it has no broker
	top     agent.Process // everything of the run is below it

	result  agent.Result
	answer  exitcmd.Answer           // what the result says, read once
	over    *limitError              // the limit that stopped it
	talk    *blackboard.Conversation // nil: it has none that can be resumed
	changed string                   // what a reviewer changed in the worktree; it was put back
}

// program is the name of the agent program.
func (r *run) program() string { return r.brief.program }

// lostTalk reports whether the program did not know the conversation in which it was to go on.
func (r *run) lostTalk() bool { return r.brief.resumed != nil && r.result.NoSession }

// stopped reports whether a limit ended the run.
func (r *run) stopped() bool { return r.result.Outcome == agent.Killed && r.over != nil }

// answered reports whether there is an outcome to apply: the program came to its end, or
// said its exit command all the same. An answer that is cut off is asked for again.
func (r *run) answered() bool {
	switch r.result.Outcome {
	case agent.Finished, agent.Reask:
		return true
	case agent.Crashed, agent.Stopped:
		return !r.result.Restart && r.answer.Exit != nil
	}
	return false
}

// outcome notes what came of the answer.
func (r *run) outcome(out outcome.Outcome) {
	if r.record != nil {
		r.record.out = &out
	}
}

// unit is one unit of work: a claim with all its runs until it ends.
type unit struct {
	task       string
	board      *verb.Service // of a coder or reviewer: with the end of a run, and what checks found, as a draft
	last       func() bool   // no other work is to be begun after it; nil: none is
	reasks     int
	restarts   int
	transients streak
	timeouts   int
	crashes    streak
	circular   int  // plans that were tried before
	fixed      bool // the commands of the rejection were run
	reask      *reask
	talk       *blackboard.Conversation // in which the next run takes place; nil: a new one, or the one before a rejection
	with       string                   // the program that has it
	fresh      bool                     // no earlier conversation is to be resumed
	uncounted  bool                     // a planner's launch that could not do anything
	shorten    *prompt.Shorten          // of a summarizer
	claim      string                   // the claim of the run before
}

// reask is what the next run is told about the answer that could not be used.
type reask struct {
	broken, problem string
}

// next says how a claim goes on after a run. The zero value ends the unit of work.
type next struct {
	again bool          // another run of the same claim
	wait  time.Duration // before that, or before the next claim
}

// briefing is a prompt with the role that it begins with.
type briefing struct {
	prompt.Prompt
	role     role.Resolved
	program  string
	model    string
	reask    int // which re-ask of its unit of work it is; 0: none
	warnings []string
	resumed  *blackboard.Conversation // in which the run goes on; nil: a new one
	restarts int                      // how often its program has asked to be started again, in a row
}

// folder is where a task is worked on and judged: its worktree. A message has none.
func (s *Supervisor) folder(t *blackboard.Task) string {
	if t.KindOf() == blackboard.MessageTask {
		return s.Service.Board.Project.Root
	}
	return s.Service.Board.Repo.WorktreePath(t.ID)
}

// runKind performs a task of another kind than code for its coder (specs/protocol.md#4.5).
func (s *Supervisor) runKind(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (next, error) {
	if why := u.board.Board.MayStart(st, t, t.KindOf()); why != "" {
		_, err := u.board.Block(ctx, verb.BlockInput{Task: t.ID, Reason: why, Questions: []string{"May the task be done for this caller, or should it be done another way?"}})
		s.warn(t.ID, "blocked: %s", why)
		return next{}, err
	}
	if t.KindOf() != blackboard.MessageTask {
		return next{}, s.runCommand(ctx, u, st, t)
	}
	if s.Service.Board.Config().Messenger.Mode != "verbatim" {
		t = sentBack(t)
	}
	return s.runMessage(ctx, u, st, t)
}

// sentBack is a message task with the reason why its text was rejected, if it was.
func sentBack(t *blackboard.Task) *blackboard.Task {
	if t.RejectionReason == nil {
		return t
	}
	again := *t
	again.Description += "\n\nThe text before was sent back: " + t.RejectionReason.Summary
	for _, f := range t.Fixes {
		if f != nil && f.Detail != "" {
			again.Description += "\n- " + f.Detail
		}
	}
	return &again
}

// runMessage lets the messenger write the text, and hands it in.
func (s *Supervisor) runMessage(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (next, error) {
	var r *run
	var err error
	text := ""
	if t.ReviewCyclesTotal == 0 { // what a reviewer has rejected is not said again
		text = toldMessage(st, t.ID)
	}
	if text == "" {
		text, r, err = s.writeMessage(ctx, u, st, t)
	}
	switch {
	case err != nil || errors.Is(context.Cause(ctx), errLost):
		return next{}, err
	case text == "" && r != nil:
		return s.noMessage(context.WithoutCancel(ctx), ctx, u, r)
	}
	done, err := u.board.Deliver(ctx, t.ID, outputOf(text, 0, ""), prose.FirstLine(text))
	if err == nil {
		s.say(t.ID, "%s: %s", done.Status, prose.FirstLine(text))
	}
	return next{}, err
}

// noMessage says what becomes of a message whose writer gave no text.
func (s *Supervisor) noMessage(ctx, life context.Context, u *unit, r *run) (next, error) {
	switch {
	case r.result.Outcome == agent.Killed && life.Err() != nil:
		return next{}, nil // the caller sees why and releases
	case r.stopped():
		return next{}, s.stopForLimit(ctx, u, r.over)
	}
	if n, handled, err := s.setBack(ctx, u, r); handled {
		return n, err
	}
	if u.reasks++; u.reasks <= 2 {
		return next{again: true, wait: crashWaits.after(u.reasks)}, nil
	}
	_, err := u.board.Block(ctx, verb.BlockInput{Task: u.task, Reason: "the messenger gave no text: " + string(r.result.Outcome) + " " + r.result.Error,
		Questions: []string{whatToSay}, Synthetic: true})
	return next{}, err
}

// whatToSay is asked when the messenger gives no text. The answer is the message: asking the
// messenger again would end in the same question.
const whatToSay = "What should the message say?"

// toldMessage is what a person answered to that question, "" when nobody has.
func toldMessage(st *blackboard.State, task string) string {
	for _, q := range slices.Backward(st.Questions) {
		if q != nil && q.Task == task && q.Text == whatToSay && strings.TrimSpace(q.Answer) != "" {
			return strings.TrimSpace(q.Answer)
		}
	}
	return ""
}

// recording is a run on its way into the history of its task (specs/roles-and-knowledge.md#7). A
// history that cannot be written is told and stops nothing; a nil recording records nothing.
type recording struct {
	log    history.Interactions
	in     history.Interaction
	begun  int // number of the request on disk; 0: it could not be written
	task   string
	result *agent.Result
	out    *outcome.Outcome
	failed string // why the program could not be started
	state  string // of the task afterwards, as the Logist document names it

	mu    sync.Mutex
	hosts []string // that were refused; the proxy tells while the run goes on
}

// unreached notes a host that was refused to the run.
func (r *recording) unreached(host string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosts = append(r.hosts, host)
}

// sequence is the number of the run, by which its prompt is filed; 0 when it has none.
func (r *recording) sequence() int {
	if r == nil {
		return 0
	}
	return r.begun
}

// answer fills in the response.
func (r *recording) answer(exit *exitcmd.Exit) {
	in := &r.in
	r.mu.Lock()
	in.Liza.RefusedHosts = slices.Clone(r.hosts)
	r.mu.Unlock()
	in.Response.Status, in.Liza.Error = history.Failed, r.failed
	if r.result == nil {
		in.Liza.Error = cmp.Or(r.failed, "the program was not started")
	}
	if res := r.result; res != nil {
		in.Response.RawResponse = exitcmd.Text(res.Final)
		in.Liza.Outcome, in.Liza.Seconds, in.Liza.ExitCode = string(res.Outcome), int(res.Seconds+0.5), res.ExitCode
		in.Liza.TokensIn, in.Liza.TokensOut = res.Usage.TokensIn, res.Usage.TokensOut
		if res.Usage.CostKnown {
			cents := blackboard.AmountOf(res.Usage.CostCents)
			in.Liza.CostCents = &cents
		}
		in.Liza.Error = cmp.Or(in.Liza.Error, res.Error)
		if res.Outcome == agent.TimedOut || res.Outcome == agent.Stalled {
			in.Response.Status = history.TimedOut
		}
		if exit != nil {
			in.Response.Actions, in.Response.EvidenceFiles, in.Response.Summary = []string{exit.Action}, exit.EvidenceFiles, exit.Summary
		}
	}
	if r.out == nil {
		return
	}
	in.Liza.Effect = string(r.out.Effect)
	in.Liza.Error = cmp.Or(r.out.Problem, in.Liza.Error)
	if r.result != nil && r.result.Question != nil {
		return // what was applied is the question, not an answer of the program
	}
	if r.out.Effect != outcome.Reask && (r.out.Effect != outcome.Dropped || r.out.Action != "") && in.Response.Status == history.Failed {
		in.Response.Status = history.Success
	}
}

// letGo gives the claim or review claim back.
func (s *Supervisor) letGo(ctx context.Context, u *unit, reason string) error {
	var err error
	if s.Role == blackboard.RoleReviewer {
		_, err = u.board.Reviews.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "released", Reason: reason})
	} else {
		_, err = u.board.Release(ctx, verb.ReleaseInput{Task: u.task, Reason: reason})
	}
	if err == nil {
		s.say(u.task, "released: %s", reason)
	}
	return err
}

// releaseAll gives back the claims of this agent (T36, T18).
func (s *Supervisor) releaseAll(ctx context.Context, reason string) error {
	st, err := s.Service.Board.View(ctx)
	if err != nil {
		return err
	}
	for t := range st.Tasks() {
		coder := t.Status == blackboard.Claimed && t.AssignedTo == s.ID
		reviewer := t.Status == blackboard.ReadyForReview && t.ReviewingBy == s.ID
		if !coder && !reviewer {
			continue
		}
		if _, err := s.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Reason: reason, Reviewer: reviewer}); err != nil && !isLost(err) {
			return fmt.Errorf("cannot release %s: %w", t.ID, err)
		}
		s.say(t.ID, "released: %s", reason)
	}
	return nil
}
