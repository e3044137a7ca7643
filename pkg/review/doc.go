// Package review has the deterministic side of a review: which changed files are sources
// and which are tests (Classify, CountGate), and how a check command is run (Command).
//
// One table of languages serves the test gate of a submission (protocol 4.7) and the
// checks of roles-and-knowledge 5.5. The package returns what it found; it writes nothing
// to the board.
package review
