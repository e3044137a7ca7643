// Package policy says which shell commands are never started for a task of kind exec, nor for
// an item of a rejection (specs/roles-and-knowledge.md#9.4).
//
// A command is read by the parser of mvdan.cc/sh, as bash reads it and as a plain sh does, and
// taken apart into segments: each simple command, wherever it is, and those in the texts that
// are handed to another shell. Each segment is judged by itself. The list stops accidents; it is
// not a sandbox: a script, a program or a variable can carry out anything that no text shows.
package policy
