// Package review has the deterministic side of a review: which changed files are sources
// and which are tests (Classify, CountGate), what a submission changed, line by line
// (Changes), what the checks find in it (Submission.Run), by which commands a project builds
// and tests itself (Detect), and how such a command is run (Command, Environment).
//
// One table of languages serves the test gate of a submission (specs/protocol.md#4.7) and the
// checks of specs/roles-and-knowledge.md#5.5. The checks ask a reviewer to look; only an error finding
// stops an approval. No finding has the value of a secret in it, and Redact takes it out of
// a diff. The package returns what it found; it writes nothing to the board.
package review
