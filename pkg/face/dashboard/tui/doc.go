// Package tui is the view of a project on a whole terminal (`liza top`): a Model that follows the
// board, draws it, and does what a person asks for.
//
// Everything that it shows comes from a Source, everything that it does is a method of Verbs; it has
// no rules of its own. Update takes a model and a message and gives the next model, and commands for
// what has to be read or done outside of it; View draws what fits the terminal and nothing else, so
// that a board of thousands of tasks costs what is visible.
//
// The panes are in panes.go, the large ones in files of their own. Keys are lines of one table (keys.go): the handler, the foot line
// and the help read it.
package tui
