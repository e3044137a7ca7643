package supervisor_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// A team that waits for a person looks at the board now and then, and writes next to nothing: what it takes while a board is
// paused or at a checkpoint does not depend on how often somebody could look.
func TestAnIdleTeamSeldomLooks(t *testing.T) {
	const members, minutes, mostReads, mostWrites = 16, 10, 300, 10 // per minute, of all together
	for _, order := range []project.Control{project.Pause, project.Checkpoint} {
		t.Run(string(order), func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				if err := c.Project.Controls().Set(order, "a test", time.Now()); err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				writes, reads := map[string]int{}, 0
				counts := func(s *supervisor.Supervisor) *supervisor.Supervisor {
					s.Team, s.Service.Board.Store = true, counted{s.Service.Board.Store, &mu, writes, &reads}
					return s
				}
				none := func(context.Context, agent.Spec) agent.Result { panic("nothing is to be run") }
				looker := counts(c.supervisor(blackboard.RoleCoder, none))
				team := &supervisor.Team{Service: looker.Service, Until: "goal"}
				for range members {
					team.Members = append(team.Members, counts(c.supervisor(blackboard.RoleCoder, none)))
				}
				ctx, stop := context.WithCancel(context.Background())
				ended := make(chan error)
				go func() { ended <- team.Run(ctx, ctx) }()
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				mu.Lock()
				begun, before := reads, total(writes)
				mu.Unlock()
				time.Sleep(minutes * time.Minute)
				synctest.Wait()
				mu.Lock()
				reads, written := reads-begun, total(writes)-before
				t.Logf("%d reads and %d writes a minute: %v", reads/minutes, written/minutes, writes)
				mu.Unlock()
				stop()
				<-ended
				if reads > mostReads*minutes || written > mostWrites*minutes {
					t.Errorf("%d reads and %d writes in %d minutes; at most %d and %d a minute", reads, written, minutes, mostReads, mostWrites)
				}
			})
		})
	}
}
