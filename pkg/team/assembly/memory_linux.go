package assembly

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// What a command reads from a large board fills many small pages of memory, each of which
// the kernel has to make: a third of the command's time. Large pages are made for anyone who
// asks for them, and Go does not ask. So a large board gets its room beforehand.

const (
	largeBoard   = 4 << 20   // bytes from which it is worth it
	mostRoom     = 512 << 20 // bytes
	roomPerByte  = 5         // of the board: text, tasks, history
	hugePageSize = 2 << 20
)

// roomFor prepares memory for a board. What is not used is never taken from the system.
func roomFor(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Size() < largeBoard {
		return
	}
	room := make([]byte, min(roomPerByte*info.Size(), mostRoom)+hugePageSize)
	_ = unix.Madvise(room, unix.MADV_HUGEPAGE) // else pages stay small, that is all
	runtime.KeepAlive(room)
	runtime.GC() // gives the room to anyone who allocates next
}
