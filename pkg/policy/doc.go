// Package policy says which shell commands are never started for a task of kind exec, nor for
// an item of a rejection (roles-and-knowledge 9.4).
//
// A command is cut into segments: what stands between separators, in subshells, in command
// substitutions, and in the texts that are handed to another shell. Each segment is judged by
// itself. The list stops accidents; it is no sandbox: who wants to get around it can.
package policy
