package verb

import (
	"context"
	"maps"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// Recover takes back what dead supervisors left (specs/protocol.md#13.3, step 1): their children
// are stopped, their leases moved into the past, stale entries forgotten, interrupted
// merges ended and left-over folders removed. It returns what it did, for the log.
func (d *Service) Recover(ctx context.Context) ([]string, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	lapsed, left := d.dead(s)
	var did []string
	var stopped []orphan
	for _, o := range left {
		if o.child.PID != 0 && d.formerBoot(s.Agents[o.agent]) {
			stopped = append(stopped, o) // of a former boot: nothing of it can run
		} else if err := d.stop(ctx, o); err != nil {
			did = append(did, err.Error())
		} else {
			stopped = append(stopped, o)
		}
	}
	clears := slices.ContainsFunc(stopped, func(o orphan) bool { return o.child.PID != 0 })
	if len(lapsed) > 0 || clears || transition.Forget(s.Clone(), d.Facts(), d.Now()) {
		err := d.Update(ctx, "recover", func(s *blackboard.State, _ transition.Actor) error {
			now := d.Now()
			for _, id := range lapsed {
				transition.Lapse(s, id, d.Facts(), now)
			}
			for _, o := range stopped {
				o.forget(s)
			}
			transition.Forget(s, d.Facts(), now)
			return nil
		})
		if err != nil {
			return did, err
		}
	}
	for _, id := range lapsed {
		did = append(did, id+" is gone; its work can be taken over")
	}
	if len(stopped) == len(left) { // nobody works in any of them
		settled, err := d.SettleFolders(ctx)
		if did = append(did, settled...); err != nil {
			did = append(did, err.Error())
		}
	}
	did = append(did, d.shelveOthers(ctx)...)
	if err := d.recoverScrub(ctx); err != nil {
		did = append(did, err.Error())
	}
	return did, d.Merger(blackboard.System).CleanUp(ctx)
}

// dead lists the agents whose process is gone and whose leases still are, and what the
// dead have left, also those whose leases are past.
func (d *Service) dead(s *blackboard.State) (lapsed []string, left []orphan) {
	facts, now := d.Facts(), d.Now()
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		e := s.Agents[id]
		if live, _ := s.Liveness(id, now, facts); live != blackboard.Dead {
			continue
		}
		lapses := transition.Lapse(s.Clone(), id, facts, now)
		if lapses {
			lapsed = append(lapsed, id)
		}
		switch o := d.orphanOf(id, e); {
		case o != nil && (lapses || e.Child != nil):
			left = append(left, *o)
		case e.Child != nil && d.formerBoot(e):
			left = append(left, orphan{agent: id, generation: e.Generation, child: *e.Child})
		}
	}
	return lapsed, left
}

// formerBoot reports whether an entry is of a former boot of this machine.
func (d *Service) formerBoot(e *blackboard.Agent) bool {
	return e.Host == d.Proc.Host && e.BootID != "" && d.Proc.BootID != "" && e.BootID != d.Proc.BootID
}
