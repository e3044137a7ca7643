package supervisor

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/outcome"
)

func (s *Supervisor) remoteWell() { s.remote = remotePause{} }

// applied hands a run's answer to the board. Work that cannot be pushed is finished: the claim is kept until it can.
func (s *Supervisor) applied(ctx, life context.Context, task string, r outcome.Run) (outcome.Outcome, error) {
	for {
		out, err := outcome.Apply(ctx, s.Service, r)
		w, trouble := s.remoteTrouble(task, err)
		if unreachable(err) {
			w, trouble = s.cutOff(err), true
		}
		if !trouble {
			if err == nil {
				s.remoteWell()
				s.wasCutOff = false // nothing was given up
			}
			return out, err
		}
		if !sleep(life, w.until.Sub(s.Service.Now())) {
			return out, err
		}
	}
}

// followRemote brings what other hosts merged. Without the remote, work that is under way goes on and nothing is claimed.
func (s *Supervisor) followRemote(ctx context.Context, st *blackboard.State) error {
	if s.Service.Now().Before(s.remote.until) {
		return nil // what needs it says so
	}
	return s.Service.FollowRemote(ctx, st)
}
