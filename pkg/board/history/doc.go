// Package history is what happened to a project. It is written down and shown, and
// nothing that Liza decides is read from it.
//
// Journal is log.yaml (specs/protocol.md#3.1, specs/decisions.md#D2): an append-only YAML list with one entry for
// each transition, written in the critical section of the state's write and before the
// state itself. So an entry may be there whose state never came; the next writer calls
// Repair, which cuts it:
//
//	repaired, err := journal.Repair(state.Revision, now)
//	// … change the state …
//	link, err = journal.Append(state.Revision+1, link, entries)
//	// … replace the state's file, keep link in a safe place …
//
// A Journal has no lock of its own: writers hold the lock of the state.
//
// Interactions is jobHistory.json (roles and knowledge 7, specs/decisions.md#D12): for each run of an agent
// program what it was given, what it answered, and what came of it. The request is on disk
// before the program starts:
//
//	n, err := interactions.Begin(ctx, request, owner)
//	// … the program runs, its answer is applied …
//	err = interactions.Finish(ctx, n, whole)
//
// Writers hold a lock beside the file; whatever a killed one leaves can be read.
package history
