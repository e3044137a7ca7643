package mirror

import (
	"context"
	"errors"
	"time"

	"liza/pkg/board/blackboard"
)

// stale is the age from which the copy, in a process with a watcher, mentions the lost connection.
const stale = time.Second

// Watch sends when the board, its copy or a file beside it may have changed. While there is a watcher, the copy follows the
// board.
func (s *Store) Watch(ctx context.Context) <-chan struct{} {
	signals := make(chan struct{}, 1)
	board, files := s.Shared.Watch(ctx), s.files.Watch(ctx)
	s.follows(ctx)
	go func() {
		defer close(signals)
		for board != nil || files != nil {
			select {
			case _, ok := <-board:
				if !ok {
					board = nil
					continue
				}
			case _, ok := <-files:
				if !ok {
					files = nil
					continue
				}
			}
			select {
			case signals <- struct{}{}:
			default: // one is waiting already
			}
		}
	}()
	return signals
}

// follows keeps one follower for all who watch in this process.
func (s *Store) follows(ctx context.Context) {
	s.watching.Lock()
	defer s.watching.Unlock()
	if s.watchers++; s.watchers == 1 {
		following, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.stop = stop
		go s.followBoard(following)
	}
	context.AfterFunc(ctx, func() {
		s.watching.Lock()
		defer s.watching.Unlock()
		if s.watchers--; s.watchers == 0 {
			s.stop()
		}
	})
}

func (s *Store) followed() bool {
	s.watching.Lock()
	defer s.watching.Unlock()
	return s.watchers > 0
}

// Close writes the latest board that this process knows into the copy, and ends the connections.
func (s *Store) Close() {
	if r, ok := readRecord(s.o.Record); ok && r.Board == s.Latest().Board {
		ctx, cancel := context.WithTimeout(context.Background(), stale)
		defer cancel()
		_ = s.Refresh(ctx) // the next look does it
		_, _ = s.FollowSettings(ctx)
	}
	s.Shared.Close()
}

// pace is how often the copy is written at most: a busy board changes a hundred times a second.
const pace = stale / 5

// followBoard looks at once when the board changed, and each second whether there is a connection.
func (s *Store) followBoard(ctx context.Context) {
	changes := s.Shared.Watch(ctx)
	tick := time.NewTicker(stale)
	defer tick.Stop()
	seen := time.Now()
	for ctx.Err() == nil {
		soon, cancel := context.WithTimeout(ctx, 2*stale)
		_, err := s.Shared.View(soon)
		cancel()
		switch {
		case err == nil:
			seen = time.Now()
			if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
				s.o.Alert(blackboard.AlertMirror, "the copy of the board in .liza could not be written: "+err.Error())
			}
			if _, err := s.FollowSettings(ctx); err != nil && ctx.Err() == nil && !errors.As(err, new(interface{ Unreachable() bool })) {
				s.o.Alert(blackboard.AlertMirror, "the settings of the board could not be taken: "+err.Error())
			}
			rest := time.NewTimer(pace)
			select {
			case <-ctx.Done():
			case <-rest.C:
			}
		case ctx.Err() == nil && time.Since(seen) > stale:
			_ = s.lose(ctx, seen) // there may be no room on the disk, or somebody else writes: the next look is as good
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case _, ok := <-changes:
			if !ok {
				changes = nil
			}
		}
	}
}
