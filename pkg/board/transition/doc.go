// Package transition has the rules by which a state changes: who may do what, when, and what
// follows from it.
//
// Rules is the transition table as data (specs/protocol.md#4.3): each event has one function
// (Claim, Submit, Approve, …) that picks the rule, checks who asks and every guard, applies the
// effects, and records the history and journal entries. There is no other way to change a
// task's status. NextTask and NextReview choose what an agent should do next; Triggers says
// what wakes the planner.
//
// Everything here is pure: no file, no process, no clock, no random number. Time,
// facts about git and facts about processes are arguments, so a function may run
// twice on copies of a state and give the same result.
package transition
