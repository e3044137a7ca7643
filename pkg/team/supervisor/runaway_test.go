package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// Whatever a check, a program or a planner does: ten minutes of a team whose answers never change cost at most six runs a task.
func TestAnswersThatNeverChangeCostSixRunsATask(t *testing.T) {
	const mostRuns, minutes = 6, 10
	commits := func(c *clockwork, s agent.Spec) agent.Result {
		if _, err := os.Stat(filepath.Join(s.Dir, s.TaskID+".md")); err != nil {
			c.Commit(s.TaskID)
		}
		return finished(completes)
	}
	says := func(text string) func(*clockwork, agent.Spec) agent.Result {
		return func(*clockwork, agent.Spec) agent.Result { return finished(text) }
	}
	rejects := says(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"bad","review":{"status":"needs_fix","reason":"task-1.md:1 says nothing: say more","findings":[{"severity":"error","file":"task-1.md","line":1,"message":"says nothing","fix":"say more"}]}}`)
	crashes := func(*clockwork, agent.Spec) agent.Result {
		return agent.Result{Outcome: agent.Crashed, ExitCode: 3, Error: "exit code 3: segmentation fault"}
	}
	for name, x := range map[string]struct {
		check           string
		coder, reviewer func(*clockwork, agent.Spec) agent.Result
		status          blackboard.Status // at the end; "": any
		asks            string            // what a person is asked
	}{
		"a check whose program is missing":       {"no-such-program-here", nil, nil, blackboard.Approved, "cannot run here: a program is not found"},
		"a check whose program is missing below": {"make -f /dev/null -s --eval 'all: ; no-such-program-here' all", nil, nil, blackboard.Approved, "cannot run here"},
		"a check that the work fails":            {"test ! -e task-1.md", nil, nil, blackboard.Blocked, "The coder changes nothing more"},
		"a check that is red without it":         {"exit 1", nil, nil, blackboard.Approved, "fails on the integration branch without any work too"},
		"a reviewer that rejects":                {"true", nil, rejects, blackboard.Blocked, "The coder changes nothing more"},
		"a coder that is stuck":                  {"true", says(`{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"specs/vision.md does not name the file to write.","blocked_questions":["Which file?"]}`), nil, blackboard.Blocked, "Which file?"},
		"a coder that does nothing":              {"true", says(completes), nil, blackboard.Blocked, ""},
		"a coder that answers with noise":        {"true", says("well, well"), nil, blackboard.Blocked, ""},
		"a coder that crashes":                   {"true", crashes, nil, blackboard.Blocked, "ends its agent program"},
		"a reviewer that answers noise":          {"true", nil, says("well, well"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				c.Config.Integration.Checks = []string{x.check}
				c.Config.Review.Baseline = x.check == "exit 1" // a check that is red without the work is looked at without it
				var mu sync.Mutex
				var runs []string
				member := func(role blackboard.Role, run func(*clockwork, agent.Spec) agent.Result) *supervisor.Supervisor {
					s := c.supervisor(role, func(_ context.Context, spec agent.Spec) agent.Result {
						mu.Lock()
						runs = append(runs, fmt.Sprintf("%s at %s", role, time.Since(c.start).Round(time.Second)))
						mu.Unlock()
						return run(c, spec)
					})
					s.Team = true
					return s
				}
				coder, reviewer := commits, says(approves)
				if x.coder != nil {
					coder = x.coder
				}
				if x.reviewer != nil {
					reviewer = x.reviewer
				}
				team := &supervisor.Team{Service: c.person(), Until: "goal", Members: []*supervisor.Supervisor{member(blackboard.RoleCoder, coder), member(blackboard.RoleCoder, coder),
					member(blackboard.RoleReviewer, reviewer), member(blackboard.RolePlanner, says(completes))}}
				ctx, stop := context.WithTimeout(context.Background(), minutes*time.Minute)
				defer stop()
				_ = team.Run(ctx, ctx)
				st := c.state()
				if len(runs) > mostRuns {
					t.Errorf("%d runs, at most %d: %v\n%s", len(runs), mostRuns, runs, strings.Join(c.lines, "\n"))
				}
				if got := st.Task("task-1").Status; x.status != "" && got != x.status {
					t.Errorf("task-1 is %s, want %s: %v\n%s", got, x.status, runs, strings.Join(c.lines, "\n"))
				}
				asked := ""
				for _, q := range st.Questions {
					asked += string(q.Status) + ": " + q.Text + "\n"
				}
				if !strings.Contains(asked, x.asks) || len(st.Questions) > 1 {
					t.Errorf("a person is asked, want once %q:\n%s", x.asks, asked)
				}
			})
		})
	}
}
