package agent

import (
	"context"
	"fmt"
)

// Run starts the program, watches it, and returns when it and everything that it started has
// ended. The end of ctx stops it: Outcome Killed. Run never returns an error: what could not
// be done is an outcome too.
func Run(ctx context.Context, a Adapter, s Spec) Result {
	if ctx.Err() != nil {
		return notStarted(Killed, fmt.Errorf("stopped: %v", context.Cause(ctx)))
	}
	if s.KillGrace == 0 {
		s.KillGrace = DefaultKillGrace
	}
	if s.Terminal != nil {
		return runInteractive(ctx, a, s)
	}
	cmd, err := a.Command(s)
	if err != nil {
		return notStarted(Unusable, err)
	}
	c, res := start(a.Reader(s), cmd, s)
	if c == nil {
		return res
	}
	cause, why := c.begin(s)
	if cause == "" {
		cause, why = c.watch(ctx, cmd, s)
	}
	if cause == Asked {
		s.KillGrace = min(s.KillGrace, askGrace)
	}
	left := c.end(s.KillGrace)
	return c.result(cmd, cause, why, left)
}
