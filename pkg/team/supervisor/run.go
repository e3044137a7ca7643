package supervisor

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
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
	socket  net.Listener  // of its broker
	adopted bool          // another process has begun it
	kept    []*os.File    // sockets that its reaper has, too
	unkeep  func()        // removes the socket at which its reaper waits for another supervisor; nil: it waits for none
	git     *git.Folder   // of its own; nil: it has none
	sandbox sandbox.Level // how it is contained
	place   sandbox.Place // where it has the files of the machine
	wall    *wall.Wall    // nil: it has none
	started chan struct{} // closed when top is known; nil: it has no broker
	top     agent.Process // everything of the run is below it
	speaks  bool          // its program takes texts while it works
	resumes bool          // it may be interrupted: it can go on in its conversation

	result  agent.Result
	answer  exitcmd.Answer           // what the result says, read once
	over    *limitError              // the limit that stopped it
	told    bool                     // a person interrupted it with a text
	talk    *blackboard.Conversation // nil: it has none that can be resumed
	said    []*blackboard.Said       // what its verbs have said
	byVerbs bool                     // its program ended by itself with code 0: they may be all that it says
}

// program is the name of the agent program.
func (r *run) program() string { return r.brief.program }

// lostTalk reports whether the program did not know the conversation in which it was to go on.
func (r *run) lostTalk() bool { return r.brief.resumed != nil && r.result.NoSession }

// stopped reports whether a limit ended the run.
func (r *run) stopped() bool {
	return r.over != nil && (r.result.Outcome == agent.Killed || r.result.Outcome == agent.Stopped && !r.answered())
}

// answered reports whether there is an outcome to apply: the program ended by itself. An answer that is cut off is asked for again. A run that
// crashed or was killed decides nothing, whatever it has printed or its verbs have said: what kills a program may have written that, too.
func (r *run) answered() bool {
	switch r.result.Outcome {
	case agent.Finished, agent.Reask:
		return true
	case agent.Stopped: // by the program itself
		return r.answer.Exit != nil
	}
	return false
}

// ownEnd reports whether its end is a failure of the run itself: it says nothing that can be used, nor is it to be begun again.
func (r *run) ownEnd() bool {
	return !r.answered() && !mayRestart(r.result, r.brief.restarts) && !r.lostTalk()
}

// climbs reports whether the next rung of the ladder takes over when the run of a coder fails to complete.
func (r *run) climbs() bool {
	return r.brief.role.Role.Kind == role.Coder && r.brief.rung < r.brief.rungs && !(r.answered() && transition.Incomplete(string(r.result.Outcome)))
}

// outcome notes what came of the answer.
func (r *run) outcome(out outcome.Report) {
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
	nothing    bool // the last answer handed in what has failed already
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
	due        []transition.Trigger     // of a planner
	attached   bool                     // a person goes on with talk in a terminal
	adopted    *adopted                 // what its first run is; nil: that is begun
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
	notes    []string                 // that the prompt has
	place                             // on the ladder of models
	restarts int                      // how often its program has asked to be started again, in a row
}

// climbed says on which rung the run is, and why not on that of the run before, or the lowest.
func (b briefing) climbed() string {
	return fmt.Sprintf("rung %d of %d, %s: %s", b.rung, b.rungs, strings.TrimSpace(b.program+" "+b.model), b.why)
}

// recording is a run on its way into the history of its task (specs/roles-and-knowledge.md#7). A
// history that cannot be written is told and stops nothing; a nil recording records nothing.
type recording struct {
	log    history.Interactions
	in     history.Interaction
	begun  int // number of the request on disk; 0: it could not be written
	task   string
	result *agent.Result
	out    *outcome.Report
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
