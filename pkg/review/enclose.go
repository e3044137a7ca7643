package review

import (
	"context"
	"errors"
)

// ErrUncontained is why a command that may only read is not started.
var ErrUncontained = errors.New("no sandbox keeps the command from writing")

// Enclose puts a command behind a wall and below a reaper, by filling in its fields (specs/security.md). done ends what
// belongs to the wall, when the command has ended.
type Enclose func(ctx context.Context, c *Command) (done func(), err error)

// RunIn is Run behind what encloses the command; nil: nothing does.
func (c Command) RunIn(ctx context.Context, enclose Enclose) Ran {
	if enclose == nil && c.ReadOnly {
		return Ran{ExitCode: -1, Err: ErrUncontained}
	}
	if enclose == nil {
		return c.Run(ctx)
	}
	done, err := enclose(ctx, &c)
	if err != nil {
		return Ran{ExitCode: -1, Err: err}
	}
	defer done()
	return c.Run(ctx)
}
