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
