package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/outcome"
)

// RemoteTrouble is the alert about a git remote that refuses or does not answer.
const RemoteTrouble = "REMOTE_TROUBLE"

// remotePause is what is left of the trouble with a remote.
type remotePause struct {
	until  time.Time
	failed streak
	told   string
}

// remoteTrouble tells of what the remote said, once for each answer, and leaves it alone for a while, longer each time.
func (s *Supervisor) remoteTrouble(task string, err error) (waiting, bool) {
	said, ok := errors.AsType[*git.RemoteError](err)
	if !ok {
		return waiting{}, false
	}
	p := &s.remote
	p.until = s.Service.Now().Add(p.failed.next(remoteWaits))
	if p.told != said.Words {
		p.told = said.Words
		text := fmt.Sprintf("%v; the task keeps what it has, and this is tried again; next: git push %s, to see what it says to you", said, said.Remote)
		s.warn(task, "%s", text)
		if s.Service.Notice != nil {
			s.Service.Notice(RemoteTrouble, said.Remote, text)
		}
	}
	return waiting{why: said.Error(), until: p.until}, true
}

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
