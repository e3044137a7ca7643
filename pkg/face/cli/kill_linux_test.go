package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/verb/verbtest"
)

// Each process of a run is killed with SIGKILL in the middle of it: the supervisor, which has the broker and the proxy, the
// reaper, both of bubblewrap, the launcher. The one who goes on leaves nothing of that run, and nothing of what it had committed
// is lost.
func TestAKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"supervisor", "reaper", "outer bwrap", "inner bwrap", "launcher", "supervisor and reaper", "supervisor and outer bwrap"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, "")
			second := "rm -f ready; echo more > mine.md; git add mine.md; git commit -qm Second; exec liza submit mine"
			goesOn := k.mark
			if victim == "supervisor" { // the run outlives it
				goesOn = "sleep 3; " + second
			}
			verbtest.Write(t, filepath.Join(k.Dir, "works.sh"), "if [ -e "+k.base+"/again ]; then echo begun again; "+second+"; fi\n"+
				"echo word > mine.md; git add mine.md; git commit -qm First; mkdir -p \"$HOME/closed/x\"; chmod 000 \"$HOME/closed\"\nsetsid -f "+k.mark+"; touch ready; "+goesOn+"\n")
			pids := k.begin(t, "coder", "mine")
			tree := k.tree(t, k.Repo.WorktreePath("mine"))
			if victim != "supervisor" {
				verbtest.Write(t, filepath.Join(k.base, "again"), "")
			}
			for name, pid := range tree {
				if strings.Contains(victim, name) {
					pids = append(pids, pid)
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
			}
			k.wait(t)
			verbtest.Write(t, filepath.Join(k.base, "again"), "")
			if strings.Contains(victim, "supervisor") {
				pids = append(pids, k.next(t, "run", "--planners", "0", "--coders", "1", "--reviewers", "0"))
			}
			if st := k.State().Task("mine"); st.Status != "READY_FOR_REVIEW" {
				t.Errorf("the task is %s\n%s\n%s", st.Status, k.out.String(), k.output(t, "cat .liza/output/mine.log"))
			}
			if log := k.output(t, "git log --all --format=%s"); !strings.Contains(log, "First\n") {
				t.Errorf("what was committed is lost: %s", log)
			}
			if again := strings.Contains(k.output(t, "cat .liza/output/mine.log"), "begun again"); again == (victim == "supervisor") {
				t.Errorf("the work is begun again: %t", again)
			}
			k.nothingLeft(t, pids)
		})
	}
}

// A command of the project is killed in the same way with the supervisor that has started it.
func TestAKilledCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	k := newKilled(t, "worktree: {setup: ['mkdir -p $HOME/closed/x; chmod 000 $HOME/closed; [ ! -e $AGAIN ] || exit 0; touch ready; MARK']}\n")
	verbtest.Write(t, filepath.Join(k.Dir, "works.sh"), "echo word > mine.md; git add mine.md; git commit -qm Work; liza submit mine\n")
	pids := k.begin(t, "coder", "mine")
	tree := k.tree(t, k.Repo.WorktreePath("mine"))
	if err := syscall.Kill(tree["supervisor"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.wait(t)
	verbtest.Write(t, filepath.Join(k.base, "again"), "")
	pids = append(pids, k.next(t, "run", "--planners", "0", "--coders", "1", "--reviewers", "0"))
	if st := k.State().Task("mine"); st.Status != "READY_FOR_REVIEW" {
		t.Errorf("the task is %s\n%s", st.Status, k.out.String())
	}
	k.nothingLeft(t, pids)
}

// A run that fills the disk is stopped, with the setting that allows more.
func TestARunThatFillsTheDiskIsStopped(t *testing.T) {
	t.Parallel()
	k := newKilled(t, "")
	verbtest.Write(t, filepath.Join(k.Dir, ".liza", "config.yaml"), agentKeys+"sandbox: {level: closed, limits: {disk_mb: 2}}\n")
	verbtest.Write(t, filepath.Join(k.Dir, "acts.sh"), "[ ! -e large ] || exit 1; sleep 2; head -c 5000000 /dev/zero > large; touch ready; "+k.mark+"\n")
	k.begin(t, "coder", "mine")
	k.wait(t)
	if said := k.out.String(); !strings.Contains(said, "has grown by 4 MB in this run, and 2 are allowed") || !strings.Contains(said, "sandbox.limits.disk_mb") {
		t.Errorf("the supervisor says: %s", said)
	}
}

// killed is a project of which something is killed.
type killed struct {
	*stage
	base, mark string
	out        bytes.Buffer
	cmd        *exec.Cmd
}

func newKilled(t *testing.T, keys string) *killed {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "liza-kill-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	k := &killed{stage: newStage(t, "closed", nil), base: base}
	k.mark = fmt.Sprintf("sleep 298.%d", time.Now().UnixNano())
	t.Cleanup(func() { _ = exec.Command("pkill", "-KILL", "-f", k.mark).Run() })
	keys = strings.NewReplacer("$AGAIN", filepath.Join(k.base, "again"), "MARK", k.mark).Replace(keys)
	verbtest.Write(t, filepath.Join(k.Dir, ".liza", "config.yaml"), "agents:\n  default: works\n  works: {command: [sh, ./works.sh], prompt: stdin, output: text}\n"+keys+sandboxKeys("closed", filepath.Join(base, "again")))
	return k
}

// begin starts a supervisor, and returns its pid when the run is under way.
func (k *killed) begin(t *testing.T, args ...string) []int {
	t.Helper()
	k.cmd = k.agent(t.Context(), &k.out, args...)
	k.cmd.Env = append(k.cmd.Env, "XDG_RUNTIME_DIR="+k.base)
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(k.Repo.WorktreePath("mine"), "ready")
	for deadline := time.Now().Add(3 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			return []int{k.cmd.Process.Pid}
		}
		if time.Now().After(deadline) {
			_ = k.cmd.Process.Kill()
			_ = k.cmd.Wait()
			t.Fatalf("the run does not begin\n%s", k.out.String())
		}
	}
}

// tree are the processes between the supervisor and the program, by what they are.
func (k *killed) tree(t *testing.T, dir string) map[string]int {
	t.Helper()
	found := map[string]int{"supervisor": k.cmd.Process.Pid}
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range list {
		pid, _ := strconv.Atoi(filepath.Base(p))
		if !slices.ContainsFunc(agent.Ancestors(pid), func(a agent.Process) bool { return a.Pid == k.cmd.Process.Pid }) {
			continue
		}
		line, _ := os.ReadFile(p + "/cmdline")
		argv := strings.Split(string(line), "\x00")
		above := agent.Ancestors(pid)
		if len(above) == 0 {
			continue // it has just ended
		}
		parent, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", above[0].Pid))
		switch {
		case len(argv) > 1 && argv[1] == "reap":
			found["reaper"] = pid
		case len(argv) > 1 && argv[1] == "wall":
			found["launcher"] = pid
		case argv[0] == "bwrap" && string(parent) == "bwrap\n":
			found["inner bwrap"] = pid
		case argv[0] == "bwrap":
			found["outer bwrap"] = pid
		}
	}
	if len(found) != 5 {
		t.Fatalf("of the run in %s there are only %v", dir, found)
	}
	return found
}

func (k *killed) wait(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	go func() { _ = k.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		_ = k.cmd.Process.Kill()
		t.Errorf("the supervisor does not end\n%s", k.out.String())
	}
}

// next is the process that goes on, until the task can be reviewed; it returns its pid.
func (k *killed) next(t *testing.T, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.liza, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = k.Dir, append(k.environ(), "XDG_RUNTIME_DIR="+k.base), &k.out, &k.out
	must(t, nil, cmd.Start())
	for ctx.Err() == nil && k.State().Task("mine").Status != "READY_FOR_REVIEW" {
		<-time.After(50 * time.Millisecond)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Logf("%v: %v", args, err)
	}
	return cmd.Process.Pid
}

// nothingLeft looks for what is left of runs: processes, sockets, folders, mounts, git folders, control groups of these
// supervisors.
func (k *killed) nothingLeft(t *testing.T, pids []int) {
	t.Helper()
	if out, err := exec.Command("pgrep", "-af", k.mark).Output(); err == nil {
		t.Errorf("these run on: %s", out)
	}
	for _, pattern := range []string{k.base + "/liza-*/*", k.Dir + "/.liza/tmp/wall-*", k.Dir + "/.git/liza/folders/*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("these are left: %v\n%s", left, k.out.String())
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(k.Dir)) || bytes.Contains(mounts, []byte(k.base)) {
		t.Errorf("a mount is left: %s %v", mounts, err)
	}
	groups := sandbox.Detect(t.Context()).Cgroups
	for _, pid := range pids {
		for _, parent := range []string{groups.Pids, groups.Memory} {
			if left, _ := filepath.Glob(fmt.Sprintf("%s/liza-%d-*", parent, pid)); parent != "" && len(left) > 0 {
				t.Errorf("control groups are left: %v", left)
			}
		}
	}
}
