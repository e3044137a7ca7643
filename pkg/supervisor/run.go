package supervisor

import (
	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/git"
	"liza/pkg/outcome"
	"liza/pkg/sandbox"
	"liza/pkg/verb"
	"liza/pkg/wall"
)

// A run is one start of an agent program, from its prompt to what became of its answer. What belongs to it
// ends with it: launch makes it, closeRun writes it into the history.
type run struct {
	brief   briefing
	number  int    // among the runs of this agent
	mark    string // its correlation id: in the history, the journal and the output
	before  verb.Mark
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
