// Package findings lists what is or may be wrong with a project, and what waits for a person. Each thing is found by one
// function and worded once; alerts, doctor, status, top, page and report choose which findings they show, and in what form.
//
// Observation holds everything that a finding depends on; the package has no effects. A fact that is not known has its zero value,
// and what needs it is not found:
//
//	alerts := findings.Alerts(facts)     // what the watcher raises, in the order of Kinds
//	waits, warns := findings.Board(facts) // what a view of the board shows
//	found := findings.Examined(facts)    // what the doctor says of the board
package findings
