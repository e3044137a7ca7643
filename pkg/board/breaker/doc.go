// Package breaker sees loops and thrash in the anomalies that a team records, and says
// whether work should stop for people to look (specs/decisions.md#D17, specs/protocol.md#11).
//
// Analyze looks at one state and returns a Verdict: every pattern of the table Patterns that
// the anomalies of the sprint match, the worst first, with the anomalies that show it. Report
// writes that down for people. Both are pure: they read a state, change nothing, and give the
// same answer to the same state. What follows from a verdict is decided by the table of
// specs/protocol.md#5.4 in package transition and carried out by package verb.
//
// Details of anomalies come from agents and from editors. Whatever is there, a missing
// value, a number in the place of a text, a list, is not a cause to fail: what says nothing
// matches nothing.
package breaker
