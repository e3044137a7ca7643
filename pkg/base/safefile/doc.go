// Package safefile replaces files whole, appends to them durably, and locks a sidecar beside them. It knows nothing of their
// content.
//
// Replace and Stage write to a temporary file in the same folder, flush it to disk, rename it over the old one and flush the
// folder: a reader sees the old file or the new one, whole, also after a power loss. Append writes its bytes at the end in
// one write, or nothing at all.
//
// Lock takes an exclusive lock on a file that is never renamed and never removed (locking the file that Replace renames would
// lock an inode that is about to go). Waiting is bounded and cancellable; the error of a vain wait names
// the holder:
//
//	unlock, err := safefile.Lock(ctx, path+".lock", safefile.Holder{PID: os.Getpid(), Agent: "coder-1", Op: "submit"})
//	if err != nil {
//		return err // *HeldError
//	}
//	defer unlock()
//
// CurrentHolder returns the present holder of a lock, for people; no decision may depend on it.
package safefile
