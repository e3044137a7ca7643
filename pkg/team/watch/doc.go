// Package watch tells people what is wrong with a project: each thing once when it
// begins, and once when it is over (specs/protocol.md#10).
//
// Package findings says what is wrong now. A Watcher looks again and again, compares what is found with what is open, writes the
// difference to alerts.log and tells its sinks. What is open is in alerts.json, under
// alerts.lock, so that several watchers write each change once, and one that is started
// again repeats nothing:
//
//	w := &watch.Watcher{Files: files, Look: facts, Sinks: []watch.Sink{screen}}
//	err := w.Run(ctx, st.Watch(ctx))
//
// The package looks and tells. It never changes the board: the checkpoint at a sprint's
// deadline is written by a function that the caller gives.
package watch
