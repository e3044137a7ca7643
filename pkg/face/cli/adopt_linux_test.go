package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/base/norace"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb/verbtest"
)

// A moment of a run at which its supervisor is killed: when the program has made the file and before was called, or at a failpoint.
type moment struct {
	name, file, failpoint string
	before                func()
	done                  bool // the board has what came of it: no other supervisor has anything to do
}

var moments = []moment{
	{name: "before its first output", file: "begun"},
	{name: "within", file: "within"},
	{name: "between end and record", failpoint: "run.over"},
	{name: "between record and submission", failpoint: "run.read"},
	{name: "before the last word to its reaper", failpoint: "run.written", done: true},
	{name: "between its entry on the board and its prompt", failpoint: "run.spawned"},
}

// P-183: the supervisor of a coder and then that of its reviewer are killed with SIGKILL at each moment of a run. The next one goes on with
// the run: each program is started once, and the task is handed in and merged once.
func TestARunWhoseSupervisorIsKilledIsStartedOnce(t *testing.T) {
	t.Parallel()
	for n, m := range moments {
		for _, level := range []string{"closed", "open"} {
			for _, board := range []string{"file", "PostgreSQL"} {
				if board == "PostgreSQL" && level == []string{"closed", "open"}[n%2] && long(0, 1) == 0 {
					continue // in the long form
				}
				t.Run(m.name+", "+level+", "+board, func(t *testing.T) {
					t.Parallel()
					needLevel(t, level)
					newOrphanage(t, level, board == "PostgreSQL", 1).survives(m)
				})
			}
		}
	}
}

// The supervisors of a coder and of its reviewer are killed with SIGKILL when the program runs and the board does not have it yet. The next one ends that
// program before it starts another one, also one that has its prompt in its arguments and is at work, and one that does not heed TERM.
func TestARunThatTheBoardDoesNotHaveEndsBeforeTheNextOneBegins(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"closed", "open"} {
		for _, prompt := range []string{"stdin", "argv"} {
			t.Run(level+", "+prompt, func(t *testing.T) {
				t.Parallel()
				needLevel(t, level)
				o := newOrphanage(t, level, false, 1)
				o.onlyOneAtATime(prompt)
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				for n, role := range []string{"coder", "code-reviewer"} {
					o.killed(moment{name: "before the board has its run", failpoint: "run.started"}, role)
					o.awaitLines("begun", 2*n+1)
					next := make(chan error, 1)
					cmd := o.process(ctx, "", "liza-agent", "--once", role)
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					go func() { next <- cmd.Wait() }()
					o.awaitLines("begun", 2*n+2)
					verbtest.Write(t, filepath.Join(o.gate, "go-"+strings.ReplaceAll(role, "-", "_")), "")
					if err := <-next; err != nil {
						t.Errorf("the next supervisor of %s: %v\n%s", role, err, o.out.String())
					}
				}
				if doubled, err := os.ReadFile(filepath.Join(o.gate, "doubled")); err == nil {
					t.Errorf("two programs ran at a time:\n%s\n%s", doubled, o.out.String())
				}
				o.must("liza", "merge", "task-1")
				o.looksDone()
			})
		}
	}
}

// P-183: a team is killed with SIGKILL at random moments, 12 times in the long form (make crash), with 12 tasks of 4 s. No program is started again,
// and nothing is done twice.
func TestATeamThatIsKilledAtRandomMomentsBeginsNothingAgain(t *testing.T) {
	t.Parallel()
	kills, random := long(3, 12), crashRandom(t)
	o := newOrphanage(t, "open", false, long(4, 12))
	o.seconds = []string{"0.5", "4"}[long(0, 1)]
	o.writeProgram()
	for n := range kills {
		cmd := o.process(t.Context(), "", "liza", "run", "--plain", "--planners", "0", "--coders", "3", "--reviewers", "2")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration(random.IntN(long(1500, 4000))) * time.Millisecond
		<-time.After(after)
		_ = cmd.Process.Kill()
		if cmd.Wait() == nil {
			t.Logf("the sprint was over before kill %d", n+1)
			break
		}
	}
	o.ends(0, "liza", "run", "--plain", "--planners", "0", "--coders", "3", "--reviewers", "2", "--timeout", "4m")
	o.looksDone()
}

// The programs are replaced under a team at work, in the long form by another build with another version, and the team is started again:
// it goes on with the runs that the former programs have begun.
func TestATeamWhoseProgramsAreReplacedAndKilledGoesOn(t *testing.T) {
	t.Parallel()
	o := newOrphanage(t, "open", false, 1)
	former, next := t.TempDir(), t.TempDir()
	copyTo := func(dir string) {
		for _, name := range []string{"liza", "liza-agent"} {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(o.liza), name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	copyTo(former)
	version := "dev"
	if long(0, 1) == 0 {
		copyTo(next)
	} else if version = "next"; norace.Build(next, "-ldflags=-X liza/pkg/face/cli.version=next", "liza/cmd/liza", "liza/cmd/liza-agent", "liza/cmd/liza-spawn") != nil {
		t.Fatal("the next version cannot be built")
	}
	o.liza = filepath.Join(former, "liza")
	o.survives(moment{name: "after the update", file: "within", before: func() {
		files, _ := filepath.Glob(next + "/*")
		for _, file := range files {
			if err := os.Rename(file, filepath.Join(former, filepath.Base(file))); err != nil {
				t.Error(err)
			}
		}
	}})
	o.out.Reset()
	o.must("liza", "version")
	if out := o.out.String(); !strings.Contains(out, version) {
		t.Errorf("the version is %s, want %s", out, version)
	}
}

// An orphanage is a project with tasks, whose programs wait at a moment of their run.
type orphanage struct {
	*sprint
	t    *testing.T
	gate string // a folder in which programs note where they are, and wait while its file stop names that
	base string // of sockets
	out  bytes.Buffer

	seconds string // that a coder works
	server  string // the argument of sleep in its service
}

func newOrphanage(t *testing.T, level string, database bool, tasks int) *orphanage {
	t.Helper()
	o := &orphanage{sprint: &sprint{Place: verbtest.New(onDisk{t}), liza: lizaProgram(t), level: level}, t: t, seconds: "0"}
	for n := range tasks {
		o.tasks = append(o.tasks, fmt.Sprintf("task-%d", n+1))
		o.AddTask(o.tasks[n])
	}
	for _, dir := range []*string{&o.gate, &o.base} {
		made, err := os.MkdirTemp("/tmp", "liza-adopt-") // the path of a socket is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(made) })
		*dir = made
	}
	verbtest.Write(t, filepath.Join(o.gate, "stop"), "")
	o.writeProgram()
	verbtest.Write(t, filepath.Join(o.Dir, ".liza", "config.yaml"), "agents:\n  default: works\n  works: {command: [sh, '{{.Worktree}}/../../works.sh'], prompt: stdin, output: text}\n"+
		"sandbox: {allow: {read: ["+o.Dir+"/works.sh], write: ["+o.gate+"]}}\n")
	if database {
		origin := filepath.Join(o.base, "origin.git")
		o.Git(o.Dir, "clone", "-q", "--bare", ".", origin)
		o.Git(o.Dir, "remote", "add", "origin", origin)
		o.must("liza", "store", "move", strings.Replace(newDatabase(t), "?", "/pay?", 1))
	}
	return o
}

func (o *orphanage) writeProgram() {
	verbtest.Write(o.t, filepath.Join(o.Dir, "works.sh"), strings.NewReplacer("GATE", o.gate, "SECONDS", o.seconds).Replace(`
cat > /dev/null
at() { touch GATE/$LIZA_ROLE-$1; until [ "$(cat GATE/stop)" != $1 ]; do sleep 0.05; done; }
echo $LIZA_ROLE $LIZA_TASK_ID >> GATE/starts
at begun
echo first
at within
done='"evidence_files":[],"summary_for_supervisor":"done"'
if [ $LIZA_ROLE = code_reviewer ]; then echo '{"action":"COMPLETED",'$done',"review":{"status":"ok"}}'; exit; fi
sleep SECONDS
echo word > $LIZA_TASK_ID.md; git add $LIZA_TASK_ID.md; git commit -qm "Work on $LIZA_TASK_ID"
echo '{"action":"COMPLETED",'$done'}'
`))
}

// onlyOneAtATime is a program that notes that it has begun, and when another one of the project runs. It says what it did when it is let go.
func (o *orphanage) onlyOneAtATime(prompt string) {
	o.t.Helper()
	verbtest.Write(o.t, filepath.Join(o.Dir, "works.sh"), strings.NewReplacer("GATE", o.gate).Replace(`trap "" TERM
exec 9>>GATE/held
flock -n 9 || echo $LIZA_ROLE >> GATE/doubled
echo $LIZA_ROLE >> GATE/begun
[ $# -gt 0 ] || cat > /dev/null
until [ -e GATE/go-$LIZA_ROLE ]; do sleep 0.05; done
echo $LIZA_ROLE $LIZA_TASK_ID >> GATE/starts
done='"evidence_files":[],"summary_for_supervisor":"done"'
if [ $LIZA_ROLE = code_reviewer ]; then echo '{"action":"COMPLETED",'$done',"review":{"status":"ok"}}'; exit; fi
echo word > $LIZA_TASK_ID.md; git add $LIZA_TASK_ID.md; git commit -qm "Work on $LIZA_TASK_ID"
echo '{"action":"COMPLETED",'$done'}'
`))
	path := filepath.Join(o.Dir, ".liza", "config.yaml")
	verbtest.Write(o.t, path, strings.Replace(verbtest.Read(o.t, path), "prompt: stdin", "prompt: "+prompt, 1))
}

// awaitLines waits until a file of the programs has so many lines.
func (o *orphanage) awaitLines(name string, n int) {
	o.t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(o.gate, name))
		if bytes.Count(text, []byte("\n")) >= n {
			return
		}
		if time.Now().After(end) {
			o.t.Fatalf("%s has %q, want %d lines\n%s", name, text, n, o.out.String())
		}
	}
}

// process is one of the project; due is killMark.
func (o *orphanage) process(ctx context.Context, due, program string, args ...string) *exec.Cmd {
	cmd := o.command(ctx, &o.out, args...)
	cmd.Path, cmd.WaitDelay = filepath.Join(filepath.Dir(o.liza), program), 30*time.Second
	cmd.Args[0], cmd.Env = cmd.Path, append(cmd.Env, "XDG_RUNTIME_DIR="+o.base, killMark+"="+due)
	return cmd
}

func (o *orphanage) must(program string, args ...string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*time.Minute)
	defer cancel()
	if err := o.process(ctx, "", program, args...).Run(); err != nil {
		o.t.Fatalf("%v: %v\n%s", args, err, o.out.String())
	}
}

// ends runs a program that ends with an exit code, or with ExitNothing, when there was nothing left to do.
func (o *orphanage) ends(code transition.Exit, program string, args ...string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := o.process(ctx, "", program, args...)
	err := cmd.Run()
	if got := transition.Exit(cmd.ProcessState.ExitCode()); got != code && got != transition.ExitNothing {
		o.t.Fatalf("%v: %v\n%s", args, err, o.out.String())
	}
}

// killed runs the supervisor of a role until it is killed at a moment of its run.
func (o *orphanage) killed(m moment, role string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	verbtest.Write(o.t, filepath.Join(o.gate, "stop"), m.file)
	cmd := o.process(ctx, m.failpoint, "liza-agent", "--once", role)
	if err := cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	for m.file != "" && ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(o.gate, strings.ReplaceAll(role, "-", "_")+"-"+m.file)); err == nil {
			if m.before != nil {
				m.before()
			}
			_ = cmd.Process.Kill()
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	err := cmd.Wait()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || ctx.Err() != nil {
		o.t.Fatalf("the supervisor of %s was not killed %s: %v\n%s", role, m.name, err, o.out.String())
	}
	verbtest.Write(o.t, filepath.Join(o.gate, "stop"), "")
}

// survives kills both supervisors at a moment, and looks at what came of the task.
func (o *orphanage) survives(m moment) {
	o.t.Helper()
	for _, role := range []string{"coder", "code-reviewer"} {
		o.killed(m, role)
		if !m.done {
			o.must("liza-agent", "--once", role)
		}
	}
	o.must("liza", "merge", "task-1") // before the coder, which would merge too on a slow machine
	if m.done {
		o.must("liza-agent", "--once", "coder") // what died is recorded, and nothing is begun
	}
	o.looksDone()
}

// looksDone checks that each program was started once, and each task handed in and merged once.
func (o *orphanage) looksDone() {
	o.t.Helper()
	o.must("liza", "validate")
	for what, line := range map[string]string{
		"programs started":   "cat " + o.gate + "/starts",
		"tasks handed in":    "grep -o 'action: ready_for_review, task: [^,]*' .liza/log.yaml",
		"tasks merged":       "grep -o 'action: merged, task: [^,]*' .liza/log.yaml",
		"work on the branch": "git log --format=%s integration | grep '^Work'",
		"runs in the usage":  "grep -o '\"id\":\"[^\"]*' .liza/usage.jsonl",
	} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = o.Dir
		out, err := cmd.Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		want := len(o.tasks)
		if strings.HasPrefix(what, "programs") || strings.HasPrefix(what, "runs") {
			want *= 2
		}
		slices.Sort(lines)
		if all := len(lines); err != nil || all != want || len(slices.Compact(lines)) != want {
			o.t.Errorf("%s: want %d, each once: %v\n%s\n%s", what, want, err, out, o.out.String())
		}
	}
	if left, _ := filepath.Glob(o.base + "/liza-*/*"); len(left) > 0 {
		o.t.Errorf("these are left: %v\n%s", left, o.out.String())
	}
}

// P-193: the supervisors of a coder and of its reviewer are killed with SIGKILL at each moment of a run that has a service. The service goes on with
// the run, and ends with it: while nobody has gone on there is one at most, and afterwards there is none, nor a folder of one.
func TestServicesOfAKilledSupervisorEndWithTheRun(t *testing.T) {
	t.Parallel()
	for _, m := range append(moments, moment{name: "while the data is made", failpoint: "service.init"}) {
		for _, level := range []string{"closed", "open"} {
			t.Run(m.name+", "+level, func(t *testing.T) {
				t.Parallel()
				needLevel(t, level)
				o := newOrphanage(t, level, false, 1)
				o.serves()
				m := m // with a function of this project
				if m.file != "" {
					m.before = func() { o.waitServers(1, "before the kill") }
				}
				for _, role := range []string{"coder", "code-reviewer"} {
					if m.failpoint == "service.init" && role != "coder" {
						o.must("liza-agent", "--once", role) // the data is there
						continue
					}
					o.killed(m, role)
					if n := o.servers(); n > 1 {
						t.Errorf("%d services run after the kill of the supervisor of %s", n, role)
					}
					if !m.done {
						o.must("liza-agent", "--once", role)
					}
					o.waitServers(0, "after the run of "+role)
				}
				o.must("liza", "merge", "task-1")
				o.waitServers(0, "after the merge")
				for _, pattern := range []string{"/.liza/tmp/wall-*", "/.liza/cache/services/.new*"} {
					if left, _ := filepath.Glob(o.Dir + pattern); len(left) > 0 {
						t.Errorf("these are left: %v\n%s", left, o.out.String())
					}
				}
			})
		}
	}
}

// P-193: a run that nobody goes on with is ended by a person, and its service with it.
func TestServicesOfARunThatIsGivenUpEnd(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"closed", "open"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			needLevel(t, level)
			o := newOrphanage(t, level, false, 1)
			o.serves()
			o.seconds = "100"
			o.writeProgram()
			o.killed(moments[1], "coder")
			o.waitServers(1, "after the kill")
			o.must("liza", "release", "task-1", "--force", "--reason", "nobody goes on")
			o.waitServers(0, "after the release")
		})
	}
}

// serves gives the runs of the project a service with data.
func (o *orphanage) serves() {
	o.server = fmt.Sprintf("297.%d", time.Now().UnixNano())
	o.t.Cleanup(func() { _ = exec.Command("pkill", "-KILL", "-f", "sleep "+o.server).Run() })
	f, err := os.OpenFile(filepath.Join(o.Dir, ".liza", "config.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(f, "services: {db: {command: [sh, -c, 'test -e \"$$DATA/made\" && exec sleep %s'], init: [sh, -c, 'touch \"$$DATA/made\"']}}\n", o.server)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		o.t.Fatal(err)
	}
}

// servers counts the services that run.
func (o *orphanage) servers() int {
	out, _ := exec.Command("pgrep", "-fx", "sleep "+o.server).Output()
	return bytes.Count(out, []byte("\n"))
}

// waitServers waits until so many services run.
func (o *orphanage) waitServers(n int, when string) {
	o.t.Helper()
	for end := time.Now().Add(time.Minute); o.servers() != n; <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			o.t.Fatalf("%d services run %s, want %d\n%s", o.servers(), when, n, o.out.String())
		}
	}
}
