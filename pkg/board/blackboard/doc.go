// Package blackboard is the shared state of a project as a value: what is on the board, and
// how it is read.
//
// State is the model of state.yaml (specs/protocol.md#2). Package transition has the rules by
// which it changes; package audit below has the rules that any state must keep, no matter who
// wrote it.
//
// Everything here is pure: no file, no process, no clock, no random number. Time and facts
// about processes are arguments. A fork shares its tasks with the state that it was made
// from until one of them is asked for by Task.
package blackboard
