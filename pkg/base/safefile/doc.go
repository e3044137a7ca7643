// Package safefile replaces files whole, appends to them durably, and locks a
// sidecar beside them. It knows nothing of what is in the files.
//
// Replace and Stage write to a temporary file in the same folder, flush it to disk,
// rename it over the old one and flush the folder: a reader sees the old file or the
// new one, whole, and so does anyone who comes after a power loss. Append puts its bytes
// at the end in one write, or nothing at all.
//
// Lock takes an exclusive lock on a file that is never renamed and never removed
// (locking the file that Replace renames would lock an inode that is about to go).
// Waiting is in order of arrival, bounded and cancellable; who waits in vain is told who
// holds it:
//
//	unlock, err := safefile.Lock(ctx, path+".lock", safefile.Holder{PID: os.Getpid(), Agent: "coder-1", Op: "submit"})
//	if err != nil {
//		return err // *HeldError
//	}
//	defer unlock()
//
// CurrentHolder tells who has a lock now. It serves people; no decision may rest on it.
package safefile
