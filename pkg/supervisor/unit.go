package supervisor

import (
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/prompt"
	"liza/pkg/role"
)

// unit is one unit of work: a claim with all its runs until it ends.
type unit struct {
	task       string
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
		return s.Service.Project.Root
	}
	return s.Service.Repo.WorktreePath(t.ID)
}
