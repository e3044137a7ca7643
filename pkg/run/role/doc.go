// Package role reads role files and says which role a run has (specs/roles-and-knowledge.md#1, specs/decisions.md#D8).
//
// A role is a named prompt profile of one kind of agent: who the agent is, how it works,
// which context it gets, which model and program it runs on. Built-in roles are embedded;
// files of the project (.liza/roles/) replace or extend them.
//
//	l := role.Load(".liza/roles")
//	used, err := l.Resolve(role.Coder, task, settings) // *UnusableError
//	text, err := used.Role.Render(data)
//
// Load never fails: what is wrong with a file makes the roles of that file unusable, is
// among the Findings, and is told to anyone who asks for such a role. Nothing is ever put in
// the place of a broken role.
//
// Matrix says which kind of agent gets which piece of context (2.4); package prompt gathers
// by it, and the templates of roles are checked against it. A template is data of the
// project: it reads no file, no environment and no clock, its loops and its output are
// bounded, and it is executed twice on sample data before anybody uses it (1.5).
package role
