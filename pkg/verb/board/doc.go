// Package board is the session of one caller at one project.
//
// A Session knows the project, the store, the repository, the settings, who calls, and what the machine tells. View returns a snapshot
// with the settings' defaults; Update changes the board as the caller; Identify says who that is; Mask takes secrets out of a text.
//
// Every write goes through Update, Event or AsSystem: they stop the programs of registrations that a change replaces, put notifications
// into the outbox, let the circuit breaker look, and forget the secrets of a goal that is over. The function given to them may run twice:
// it asks neither git nor a process nor the clock for anything that matters.
package board
