// Package role reads role files and resolves the role of a run (specs/roles-and-knowledge.md#1, specs/decisions.md#D8).
//
// A role is a named prompt profile of one kind of agent: who the agent is, how it works, which context it gets, which model
// and program it runs on. Built-in roles are embedded; files of the project (.liza/roles/) replace or extend them.
//
//	l := role.Load(".liza/roles")
//	used, err := l.Resolve(role.Coder, task, settings) // *UnusableError
//	text, err := used.Role.Render(data)
//
// Load never fails: a problem of a file makes the roles of that file unusable, is among the Findings, and is the error of
// every request for such a role. A broken role is never replaced by another one.
//
// Matrix has the pieces of context for each kind of agent (2.4); package prompt gathers by it, and the templates of roles are
// checked against it. A template is data of the project: it reads no file, no environment and no clock, its loops and its
// output are bounded, and it is executed twice on sample data before its use (1.5).
package role
