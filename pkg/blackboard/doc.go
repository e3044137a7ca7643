// Package blackboard is the shared state of a project and the rules by which it
// changes.
//
// State is the model of state.yaml (specs/protocol.md#2). Rules is the transition table as
// data (specs/protocol.md#4.3): each event has one function (Claim, Submit, Approve, …) that
// picks the rule, checks who asks and every guard, applies the effects, and records
// the history and journal entries. There is no other way to change a task's status.
// Package audit below has the rules that any state must keep, no matter who wrote it.
//
// Everything here is pure: no file, no process, no clock, no random number. Time,
// facts about git and facts about processes are arguments, so a function may run
// twice on copies of a state and give the same result.
package blackboard
