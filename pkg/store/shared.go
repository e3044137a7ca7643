package store

import (
	"context"
	"time"
)

// Shared is the board of a team on several hosts.
type Shared interface {
	Project

	// Latest is the text that was read or written last.
	Latest() Latest
	// Since are the lines of the journal and the files of the board that were written after these numbers.
	Since(ctx context.Context, journal, file int64) (News, error)
	// HandEdit takes a person's edit of a copy of a revision, with the meaning that an edit of state.yaml has.
	HandEdit(ctx context.Context, op Op, revision int, text []byte) (Edited, error)
	// PutFiles writes files of the board.
	PutFiles(ctx context.Context, files ...BoardFile) error
	// SealKey names the key with which approvals are sealed; "" when there is none. The key itself is with the hosts alone.
	SealKey(ctx context.Context) (string, error)

	// Now is the time that all hosts have, as far as the store has heard of it.
	Now() time.Time
	// ClockOffset is how far the clock of this host is ahead of it.
	ClockOffset() time.Duration
	Close()
}

// Latest is a board as a process has seen it last.
type Latest struct {
	Board    string // which tells it from one of the same name that was removed
	Revision int
	Text     []byte
}

// News is what happened on a board.
type News struct {
	Lines   string // of the journal
	Journal int64  // number of the last one
	Files   []BoardFile
}

// BoardFile is a file that the hosts of a board share, below .liza.
type BoardFile struct {
	Path, Text string
	Number     int64 // grows each time that a file is written
}
