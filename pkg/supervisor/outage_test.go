package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/store"
)

// failing is a store that cannot be read between two times.
type failing struct {
	store.Store
	from, until time.Time
}

func (f failing) View(ctx context.Context) (*blackboard.State, error) {
	if now := time.Now(); !now.Before(f.from) && now.Before(f.until) {
		return nil, fmt.Errorf("cannot read .liza/state.yaml: %w", syscall.EACCES)
	}
	return f.Store.View(ctx)
}

func TestAShortOutageIsWaitedOutAndALongOneIsNot(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"short": 5 * time.Second, "long": time.Hour} {
		for _, role := range []blackboard.Role{blackboard.RolePlanner, blackboard.RoleReviewer, blackboard.RoleCoder} {
			t.Run(name+" "+string(role), func(t *testing.T) {
				inBubble(t, func(c *clockwork) {
					s := c.supervisor(role, func(context.Context, agent.Spec) agent.Result {
						return agent.Result{Outcome: agent.Overloaded, RetryAfter: 10 * time.Second}
					})
					s.Team = true
					s.Service.Store = failing{c.memory, c.start.Add(time.Minute), c.start.Add(time.Minute + lasts)}
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
					defer cancel()
					err := s.Run(ctx, context.Background())
					if long := lasts == time.Hour; long != errors.Is(err, syscall.EACCES) {
						t.Errorf("ended with %v", err)
					}
					if told := strings.Count(strings.Join(c.lines, "\n"), "waits for up to 5m0s: cannot read"); told > 1 || told == 0 && lasts == time.Hour {
						t.Errorf("told %d times:\n%s", told, strings.Join(c.lines, "\n"))
					}
				})
			})
		}
	}
}
