package verb

import (
	"context"
	"fmt"
	"slices"

	"liza/pkg/blackboard"
)

// Recover takes back what dead supervisors left (protocol 13.3, step 1): their children
// are stopped, their leases moved into the past, stale entries forgotten, interrupted
// merges ended and left-over folders removed. It returns what it did, for the log.
func (d *Desk) Recover(ctx context.Context) ([]string, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	var did []string
	dead := d.dead(s)
	for _, id := range dead {
		e := s.Agents[id]
		if e.Child == nil || d.Proc.StopOrphan == nil || e.Host != d.Proc.Host || e.BootID != d.Proc.BootID {
			continue
		}
		if err := d.Proc.StopOrphan(ctx, id, *e.Child, s.Duration("kill_grace")); err != nil {
			did = append(did, fmt.Sprintf("cannot stop process %d that %s left: %v", e.Child.PID, id, err))
		}
	}
	if len(dead) > 0 || s.Clone().Forget(d.Now()) {
		err := d.Update(ctx, "recover", func(s *blackboard.State, _ blackboard.Actor) error {
			now := d.Now()
			for _, id := range dead {
				s.Lapse(id, d.Facts(), now)
			}
			s.Forget(now)
			return nil
		})
		if err != nil {
			return did, err
		}
	}
	for _, id := range dead {
		did = append(did, id+" is gone; its work can be taken over")
	}
	return did, d.Merger(blackboard.System).CleanUp(ctx)
}

// dead lists the agents whose process is gone and whose leases still stand.
func (d *Desk) dead(s *blackboard.State) []string {
	var ids []string
	for id := range s.Agents {
		if s.Clone().Lapse(id, d.Facts(), d.Now()) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
