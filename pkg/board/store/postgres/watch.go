package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// poll is how often a watcher looks anyway: a notification may get lost with its connection.
const poll = 10 * time.Second

// Watch sends after writes of others, after each new connection, and after a poll that found a change.
func (s *Store) Watch(ctx context.Context) <-chan struct{} {
	signals := make(chan struct{}, 1)
	h := &s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[chan struct{}]bool{}
	}
	h.watchers[signals] = true
	if h.stop == nil {
		var listening context.Context
		listening, h.stop = context.WithCancel(context.WithoutCancel(ctx))
		go s.listen(listening)
	}
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, signals)
		close(signals)
		if len(h.watchers) == 0 {
			h.stop()
			h.stop = nil
		}
	})
	return signals
}

// listen holds a connection of its own while there are watchers.
func (s *Store) listen(ctx context.Context) {
	wait := pause
	for ctx.Err() == nil {
		heard, _ := s.listenOnce(ctx)
		if heard {
			wait = pause
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, mostPause)
	}
}

// listenOnce listens until the connection is lost; heard says that there was one.
func (s *Store) listenOnce(ctx context.Context) (heard bool, err error) {
	cfg := s.pool.Config().ConnConfig
	cfg.Password = password(s.o, cfg.Password)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	var board string
	if err := conn.QueryRow(ctx, `SELECT id::text FROM liza.boards WHERE name = $1`, s.o.Board).Scan(&board); err != nil {
		return false, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel(board)}.Sanitize()); err != nil {
		return false, err
	}
	s.hub.signal() // what happened before the connection was there
	last := ""
	for {
		within, cancel := context.WithTimeout(ctx, poll)
		_, err := conn.WaitForNotification(within)
		cancel()
		switch {
		case err == nil:
			s.hub.signal()
		case ctx.Err() != nil:
			return true, err
		case within.Err() == nil:
			return true, err
		default: // also finds out whether the connection is still there
			now := ""
			looking, cancel := context.WithTimeout(ctx, poll)
			err := conn.QueryRow(looking, `SELECT revision::text FROM liza.boards WHERE name = $1`, s.o.Board).Scan(&now)
			cancel()
			if err != nil {
				return true, err
			}
			if now != last {
				last = now
				s.hub.signal()
			}
		}
	}
}
