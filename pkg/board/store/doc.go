// Package store keeps one blackboard safe from crashes, from neighbours, and from people
// who edit it (specs/protocol.md#1.2, specs/protocol.md#14; specs/decisions.md#D1, specs/decisions.md#D2).
//
// A Store has two doors. View gives a copy of the state as it is. Update lets a function
// change the state and makes the result durable, or does nothing at all:
//
//	err := st.Update(ctx, store.Op{Name: "claim", Agent: "coder-1"}, func(s *blackboard.State) error {
//		return s.Claim("task-3", actor, now)
//	})
//
// The function may run more than once: it alters the state that it is given and has no
// other effect; it reads no clock and rolls no dice. What it records with State.Record is
// written to the journal in the same critical section, before the state.
//
// File keeps the state in .liza/state.yaml. Writers hold a lock on a sidecar; readers
// take no lock and see the old file or the new one. A write re-encodes only the entries
// that it changed and leaves every other byte as people wrote it. Memory keeps the state
// in memory, for tests; storetest is the suite that both pass.
//
// The package never decides what may happen to a task, and nothing outside of it knows
// that the state is a file.
package store
