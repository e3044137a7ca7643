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
