package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/verb/verbtest"
)

// shellAgent is an agent program that takes almost no time: the coder commits one file, the
// reviewer approves.
const shellAgent = `#!/bin/sh
if [ "$LIZA_ROLE" = coder ]; then
  echo "the work of $LIZA_TASK_ID" > "$LIZA_TASK_ID.md"
  git add -A && git -c user.name=Test -c user.email=test@localhost commit -q -m Work || exit 1
else
  review=',"review":{"status":"ok"}'
fi
echo '{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"done"'"$review"'}'
`

// loaded is what a sprint on a board with merged tasks took, per merged task.
type loaded struct {
	wall, cpu time.Duration
	floor     time.Duration // wall time of what git and two programs take at least
	floorCPU  time.Duration
	busy      float64 // of the processors, by others, while it ran
	revisions int
}

// A team on a board with a thousand merged tasks is as fast as on an empty one, and takes at
// most 120 ms of wall time and 200 ms of processor time for each task that it merges (make load).
// Every merged task has its real commits. Other work on the machine makes all figures
// larger, so what others did meanwhile is printed, and the goals are checked only on a
// machine that is otherwise idle.
func TestALargeBoardIsAsFastAsAnEmptyOne(t *testing.T) {
	if os.Getenv(fullMark) == "" {
		t.Skip("a measurement of minutes: make load")
	}
	const tasks = 60
	best := map[int]loaded{}
	for range 3 { // by turns, so that what others do meets both
		for _, merged := range []int{0, 1000} {
			got := loadBoard(t, "open", merged, tasks, shellAgent)
			t.Logf("%5d merged before: %3d ms of wall time (%.1f × the floor of %d ms), %3d ms of processor (%.1f × %d ms) per merged task; %d revisions; others used %.0f %% of the machine",
				merged, got.wall.Milliseconds(), ratio(got.wall, got.floor), got.floor.Milliseconds(), got.cpu.Milliseconds(), ratio(got.cpu, got.floorCPU), got.floorCPU.Milliseconds(), got.revisions, 100*got.busy)
			if old, ok := best[merged]; !ok || got.wall < old.wall {
				best[merged] = got
			}
		}
	}
	empty, large := best[0], best[1000]
	t.Logf("1,000 merged tasks: %.2f × the wall time and %.2f × the processor time of the empty board", ratio(large.wall, empty.wall), ratio(large.cpu, empty.cpu))
	if empty.busy > 0.1 || large.busy > 0.1 {
		t.Log("the machine had other work: the goals are not checked")
		return
	}
	if large.wall > 120*time.Millisecond || large.cpu > 200*time.Millisecond || ratio(large.wall, empty.wall) > 1.1 {
		t.Error("missed: at most 120 ms of wall time and 200 ms of processor per merged task, and 1.1 × the empty board")
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// A sprint of 60 tasks in the wall takes at most a twentieth more than without (make load). Agents that take no time show the
// cost alone; those that take a second are still faster than any real one.
func TestASprintInTheWallTakesLittleMore(t *testing.T) {
	if os.Getenv(fullMark) == "" {
		t.Skip("a measurement of minutes: make load")
	}
	if !closedWorks(t) {
		t.Skip("NOT RUN: this machine cannot make a closed sandbox")
	}
	for name, script := range map[string]string{"no time": shellAgent, "a second": strings.Replace(shellAgent, "\n", "\nsleep 1\n", 1)} {
		best := map[string]loaded{}
		for range 3 {
			for _, level := range []string{"open", "closed"} {
				got := loadBoard(t, level, 0, 60, script)
				if old, ok := best[level]; !ok || got.wall < old.wall {
					best[level] = got
				}
			}
		}
		open, closed := best["open"], best["closed"]
		t.Logf("agents that take %s: %d ms of wall time per merged task closed, %d open: %.2f ×; %d ms of processor closed, %d open: %.2f ×; others used %.0f %% of the machine", name,
			closed.wall.Milliseconds(), open.wall.Milliseconds(), ratio(closed.wall, open.wall), closed.cpu.Milliseconds(), open.cpu.Milliseconds(), ratio(closed.cpu, open.cpu), 100*max(open.busy, closed.busy))
		if name == "a second" && max(open.busy, closed.busy) < 0.1 && ratio(closed.wall, open.wall) > 1.05 {
			t.Error("missed: at most 1.05 × the time without the wall")
		}
	}
}

func closedWorks(t *testing.T) bool {
	return sandbox.Detect(t.Context()).Strongest() == sandbox.Closed
}

// loadBoard lets 12 coders and 4 reviewers merge tasks on a board that has merged ones.
func loadBoard(t *testing.T, level string, merged, tasks int, agent string) loaded {
	s := &sprint{Place: verbtest.New(t), liza: measuredProgram(t), level: level}
	s.Merges(merged)
	for i := range tasks {
		id := fmt.Sprintf("task-%02d", i)
		s.AddTask(id)
		s.tasks = append(s.tasks, id)
	}
	script := filepath.Join(s.Dir, ".git", "agent.sh")
	verbtest.Write(t, script, agent)
	verbtest.Write(t, filepath.Join(s.Dir, ".liza", "config.yaml"), "agents:\n  default: shell\n  shell: {command: [sh, "+script+"], prompt: stdin, output: text}\n")
	var got loaded
	got.floor, got.floorCPU = s.leastWork(20)
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	first, busy, began := s.State().Revision, machineTime(), time.Now()
	cmd := s.command(ctx, &out, "run", "--plain", "--coders", "12", "--reviewers", "4")
	if err := cmd.Run(); err != nil {
		t.Fatalf("the sprint does not come to its end: %v\n%s", err, out.String())
	}
	took, cpu := time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	for _, id := range s.tasks {
		if task := s.State().Task(id); task.Status != blackboard.Merged {
			t.Errorf("%s is %s", id, task.Status)
		}
	}
	got.wall, got.cpu, got.revisions = took/time.Duration(tasks), cpu/time.Duration(tasks), s.State().Revision-first
	got.busy = max(0, ratio(machineTime()-busy-cpu, took*time.Duration(runtime.NumCPU())))
	return got
}

// leastWork is what one merged task takes at least: a worktree, a commit, a merge, and the
// start of two programs, one after the other, without Liza.
func (s *sprint) leastWork(rounds int) (wall, cpu time.Duration) {
	t := s.TB
	t.Helper()
	var script strings.Builder
	script.WriteString("set -e\nexport GIT_AUTHOR_NAME=Test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=Test GIT_COMMITTER_EMAIL=test@localhost\nold=$(git rev-parse integration)\n")
	for i := range rounds {
		fmt.Fprintf(&script, `git worktree add -q -b floor/%[1]d ../floor-%[1]d integration
sh -c 'cd ../floor-%[1]d && echo work > floor.md && git add -A && git commit -q -m Work'
sh -c :
tree=$(git merge-tree --write-tree $old floor/%[1]d)
commit=$(git commit-tree -p $old -p floor/%[1]d -m Merge $tree)
git update-ref refs/liza/floor $commit
`, i)
	}
	cmd := exec.Command("sh", "-c", script.String())
	cmd.Dir = s.Dir
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wall, cpu = time.Since(began)/time.Duration(rounds), (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())/time.Duration(rounds)
	s.Shell(s.Dir, fmt.Sprintf("for i in $(seq 0 %d); do git worktree remove --force ../floor-$i; git branch -q -D floor/$i; done; git update-ref -d refs/liza/floor", rounds-1))
	return wall, cpu
}

// machineTime is how long the processors have worked since the start of the machine.
func machineTime() time.Duration {
	data, err := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(data), "\n")
	var user, nice, system, idle, wait, irq, soft, steal int64
	if _, scan := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &steal); err != nil || scan != nil {
		return 0
	}
	return time.Duration(user+nice+system+irq+soft+steal) * 10 * time.Millisecond
}
