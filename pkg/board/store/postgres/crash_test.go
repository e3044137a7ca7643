package postgres

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

const (
	writerMark = "POSTGRES_TEST_WRITER" // URL
	boardMark  = "POSTGRES_TEST_BOARD"
	countMark  = "POSTGRES_TEST_COUNT" // how many notes; 0: without end
	pointMark  = "POSTGRES_TEST_POINT" // "P2": kill yourself there
)

var op = store.Op{Name: "test", Agent: "coder-1"}

// writeNotes is what a writing process does.
func writeNotes(address string) error {
	count, _ := strconv.Atoi(os.Getenv(countMark))
	s, err := Open(Options{URL: address, Board: os.Getenv(boardMark), Options: store.Options{LockTimeout: time.Minute, Now: now,
		At: func(point string) {
			if point == os.Getenv(pointMark) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}}})
	if err != nil {
		return err
	}
	for i := 0; count == 0 || i < count; i++ {
		if err := s.Update(context.Background(), op, numberedNote); err != nil {
			return err
		}
		fmt.Println("written")
	}
	return nil
}

// numberedNote adds a note that is named after the revision that it will have, and changes a task, so that a state reports
// whether it is whole.
func numberedNote(s *blackboard.State) error {
	id := fmt.Sprintf("note-%d", s.Revision+1)
	s.Task(s.TaskAt(s.Revision%s.TaskCount()).ID).Iteration++
	s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: id, Timestamp: "2026-01-19T15:00:00Z", Message: "x", By: "ada"})
	s.Record(blackboard.Entry{Action: "note", Detail: id})
	return nil
}
