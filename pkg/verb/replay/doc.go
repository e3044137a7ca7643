// Package replay has the verbs for runs that did not happen, or that are to happen again: an answer that a person
// gives in the place of a program (poststep), the same without writing anything, recorded answers once more (replay),
// the next run of a task (step), and a task that goes back (restep) or starts again (rerun). Each goes through the
// verbs that a real run uses, so that what they show is what would happen.
package replay
