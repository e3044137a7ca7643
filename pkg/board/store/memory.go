package store

import (
	"context"
	"errors"
	"slices"
	"sync"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// Memory is a Store in memory, for tests. The zero Memory has an empty state.
type Memory struct {
	Validate func(after, before *blackboard.State) []blackboard.Violation // may be nil

	mu       sync.Mutex
	once     sync.Once
	turn     chan struct{} // holds one token: the lock of writers
	state    *blackboard.State
	journal  []blackboard.Entry
	watchers map[chan struct{}]bool
}

// NewMemory returns a store with the state s at revision 1.
func NewMemory(s *blackboard.State) *Memory {
	first := s.Clone()
	first.Version, first.Revision = "1", 1
	first.TakeEntries(0)
	return &Memory{state: first}
}

func (m *Memory) init() {
	m.once.Do(func() {
		m.turn = make(chan struct{}, 1)
		m.watchers = map[chan struct{}]bool{}
		if m.state == nil {
			m.state = &blackboard.State{Version: "1", Revision: 1}
		}
	})
}

// View returns a copy of the state.
func (m *Memory) View(ctx context.Context) (*blackboard.State, error) {
	m.init()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Clone(), nil
}

// Journal returns the entries written so far.
func (m *Memory) Journal() []blackboard.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.journal)
}

// Update changes the state.
func (m *Memory) Update(ctx context.Context, op Op, change func(*blackboard.State) error) error {
	m.init()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m.mu.Lock()
	before := m.state
	m.mu.Unlock()
	after := before.Clone()
	if err := change(after); errors.Is(err, ErrUnchanged) {
		return nil
	} else if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	entries := slices.Clone(after.Entries())
	after.TakeEntries(0)
	after.Version, after.Revision = before.Version, before.Revision
	if len(entries) == 0 && equal(before, after) {
		return nil
	}
	after.Revision++
	if m.Validate != nil {
		var refused []blackboard.Violation
		for _, v := range m.Validate(after, before) {
			if v.Severity == blackboard.SeverityError && v.OnWrite {
				refused = append(refused, v)
			}
		}
		if len(refused) > 0 {
			return &InvalidError{Path: "memory/state.yaml", Violations: refused}
		}
	}
	if err := op.runAhead(nil, before, after); err != nil {
		return err
	}
	for i := range entries {
		entries[i].Rev = after.Revision
		if entries[i].Agent == "" {
			entries[i].Agent = op.Agent
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = after.Clone() // change may have kept a pointer into after
	m.journal = append(m.journal, entries...)
	for watcher := range m.watchers {
		select {
		case watcher <- struct{}{}:
		default:
		}
	}
	return nil
}

func equal(a, b *blackboard.State) bool {
	for _, sec := range sections() {
		if !yamldoc.Same(sec.of(a).Interface(), sec.of(b).Interface()) {
			return false
		}
	}
	return true
}

// Watch sends after each write.
func (m *Memory) Watch(ctx context.Context) <-chan struct{} {
	m.init()
	signals := make(chan struct{}, 1)
	m.mu.Lock()
	m.watchers[signals] = true
	m.mu.Unlock()
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, signals)
		close(signals)
	})
	return signals
}
