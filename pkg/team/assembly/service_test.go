package assembly

import (
	"fmt"
	"testing"
	"time"

	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
)

// onHosts is a board that several hosts share.
type onHosts struct{ store.Shared }

func (onHosts) Now() time.Time { return time.Now() }

func TestTheBoardDecidesWhereTheWorkOfATaskIs(t *testing.T) {
	t.Parallel()
	e := &Environment{Now: time.Now}
	for want, s := range map[string]store.Store{"worktree.local": new(store.Memory), "worktree.hosts": onHosts{}} {
		d := e.ServiceOn(&board.Session{Project: &project.Project{Root: t.TempDir()}, Store: s, Config: config.Default})
		again := d.With(func(b *board.Session) { b.Caller.As = "coder-1" })
		if got := fmt.Sprintf("%T %T", d.Worktrees.Provider, again.Worktrees.Provider); got != want+" "+want {
			t.Errorf("the worktrees are those of %s, want %s", got, want)
		}
	}
}

// For a while (specs/protocol.md#6.3) after a jump of the clock nothing is concluded from it, in a process that goes on.
func TestAProcessNoticesThatItsClockJumped(t *testing.T) {
	t.Parallel()
	var off time.Duration
	e := &Environment{Now: func() time.Time { return time.Now().Add(off) }}
	d := e.ServiceOn(&board.Session{Project: &project.Project{Root: t.TempDir()}, Store: new(store.Memory), Config: config.Default})
	agents := d.With(func(b *board.Session) { b.Caller.As = "coder-1" })
	for _, c := range []struct {
		name string
		off  time.Duration
		want bool
	}{{"at first", 0, false}, {"a day on", 24 * time.Hour, true}, {"a moment later", 24*time.Hour + time.Second, true},
		{"and back", 0, true}} {
		off = c.off
		if got := agents.Board.Facts().ClockJumped; got != c.want {
			t.Errorf("%s: jumped is %v, want %v", c.name, got, c.want)
		}
	}
}
