package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// A remote is the one over which work travels, with what is left of the trouble that it made.
type remote struct {
	*member
	until  time.Time // before then it is left alone
	failed streak
	words  string // that it said last
}

// trouble tells of what the remote said, once for each answer, and leaves it alone for a while, longer each time.
func (r *remote) trouble(task string, err error) (waiting, bool) {
	said, ok := errors.AsType[*git.RemoteError](err)
	if !ok {
		return waiting{}, false
	}
	r.until = r.Service.Board.Now().Add(r.failed.next(remoteWaits))
	if r.words != said.Words {
		r.words = said.Words
		text := fmt.Sprintf("%v; the task keeps what it has, and this is tried again; next: git push %s, to see what it says to you", said, said.Remote)
		r.warn(task, "%s", text)
		if r.Service.Board.Notice != nil {
			r.Service.Board.Notice(blackboard.AlertRemoteTrouble, said.Remote, text)
		}
	}
	return waiting{why: said.Error(), until: r.until}, true
}

// well is for a remote that has answered as it should.
func (r *remote) well() { r.until, r.failed, r.words = time.Time{}, 0, "" }

// follow brings what other hosts merged. Without the remote, work that is under way goes on and nothing is claimed.
func (r *remote) follow(ctx context.Context, st *blackboard.State) error {
	if r.Service.Board.Now().Before(r.until) {
		return nil // what needs it says so
	}
	return r.Service.Integration.FollowRemote(ctx, st)
}
