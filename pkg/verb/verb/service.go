// Package verb has every verb of Liza with its effects: claim and its worktree, submit
// and its proof, verdict, release, merge, plan.
//
// A verb exists once (specs/decisions.md#D23). The command line, an agent's exit command and whatever else
// wants to change the board call a method of Service or of one of its groups (Agents, Reviews, Merges, Knowledge); they parse
// and show, no more. The rooms below a verb are named fields: Board is the session, Integration the branch, Checks the commands,
// Worktrees the worktrees of tasks. A method
// looks up the facts (git, processes, disk), asks package transition for the change of the state
// inside one store.Update, and carries out the effects that belong to it. Facts are
// gathered before the write and effects that delete come after it, so nobody runs git
// while the state is locked. A refused verb changes nothing: what has to be saved before
// the write is saved only after the guards have passed on a copy of the state.
package verb

import (
	"cmp"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/worktree"
)

// A Service has every verb, for one caller. It may be used by several goroutines.
type Service struct {
	Board       *board.Session
	Integration *integration.Branch
	Checks      *checks.Checks

	Agents    Agents
	Worktrees *worktree.Worktrees
	Reviews   Reviews
	Merges    Merges
	Knowledge Knowledge

	trees func(*board.Session, *integration.Branch) *worktree.Worktrees
}

// New returns the verbs for the caller of a session. The worktrees of its project are worktree.Local or worktree.Hosts.
func New(b *board.Session, trees func(*board.Session, *integration.Branch) *worktree.Worktrees) *Service {
	branch := integration.New(b)
	v := &Service{Board: b, Integration: branch, Checks: checks.New(b, branch), Worktrees: trees(b, branch), trees: trees}
	v.Agents, v.Reviews, v.Merges, v.Knowledge = Agents{v}, Reviews{v}, Merges{v}, Knowledge{v}
	return v
}

// With returns the verbs for a copy of the session that change has altered.
func (v *Service) With(change func(*board.Session)) *Service {
	s := *v.Board
	change(&s)
	return New(&s, v.trees)
}

// mayTake is May for tasks of that state.
func (v *Service) mayTake(s *blackboard.State) func(*blackboard.Task) string {
	if v.Board.May == nil {
		return nil
	}
	return func(t *blackboard.Task) string { return v.Board.May(s, t) }
}

// Drafting returns a copy of d that collects what is given to Later. The copy is for one goroutine.
func (v *Service) Drafting() *Service { return New(v.Board.Drafting(), v.trees) }

// field names a text of an input, for Clean.
func field(name string, value *string) board.Text { return board.Text{Name: name, Value: value} }

// caller is the agent as which the caller acts, "" for a person.
func (v *Service) caller() string { return cmp.Or(v.Board.Caller.AgentID, v.Board.Caller.As) }
