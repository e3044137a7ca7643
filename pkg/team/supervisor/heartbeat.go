package supervisor

import (
	"context"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
)

// A heartbeat renews the leases of all members of a team in one write: each of its own would wake everybody, so that a team of
// sixteen that waits would look at the board 256 times a minute. A nil heartbeat is that of one member alone.
type heartbeat struct {
	mu      sync.Mutex
	members map[string]transition.Actor
	renewed map[string]time.Time // when the last renewal of a member began
	looked  map[blackboard.Role]time.Time
	failed  error // of the last renewal, when the board could not be written
	ended   time.Time
}

func newHeartbeat() *heartbeat {
	return &heartbeat{members: map[string]transition.Actor{}, renewed: map[string]time.Time{}, looked: map[blackboard.Role]time.Time{}}
}

// enter makes a registration a part of the heartbeat.
func (h *heartbeat) enter(id, tokenHash string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[id] = transition.Actor{ID: id, TokenHash: tokenHash}
	delete(h.renewed, id)
}

func (h *heartbeat) leave(id string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.members, id)
}

// recovers reports whether a member of that role is to look now for what the dead left: once for all of its role.
func (h *heartbeat) recovers(role blackboard.Role, now time.Time) bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, ok := h.looked[role]; ok && now.Sub(at) < recoverEvery && !now.Before(at) {
		return false
	}
	h.looked[role] = now
	return true
}

// beat renews the lease of the member id, and those of the others with it. It returns when the renewal began, which is before now when that of
// another member did it within the last half of interval.
func (h *heartbeat) beat(ctx context.Context, service *verb.Service, id string, interval time.Duration) (began time.Time, err error) {
	if h == nil {
		began = service.Board.Now()
		_, err := service.Agents.Heartbeat(ctx)
		return began, err
	}
	asked := service.Board.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed != nil && h.ended.After(asked) { // while this one waited: sixteen that try in turn would outlast their leases
		return asked, h.failed
	}
	began = service.Board.Now()
	if at, ok := h.renewed[id]; ok && began.Sub(at) < interval/2 && !began.Before(at) {
		return at, nil
	}
	var others []transition.Actor
	for _, m := range h.members {
		if m.ID != id {
			others = append(others, m)
		}
	}
	_, renewed, err := service.Agents.HeartbeatWith(ctx, others)
	h.failed, h.ended = nil, service.Board.Now()
	if err != nil {
		if exitOf(err) == 0 { // else it is about this member alone
			h.failed = err
		}
		return began, err
	}
	h.renewed[id] = began
	for _, other := range renewed {
		h.renewed[other] = began
	}
	return began, nil
}
