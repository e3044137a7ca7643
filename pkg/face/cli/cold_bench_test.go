package cli_test

import (
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
	"liza/pkg/run/agent"
	"liza/pkg/verb/verb/verbtest"
)

// BenchmarkCommand times whole processes, as agents call them hundreds of times, and their
// memory. Each task on the board is merged, with its real commits.
func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	liza := filepath.Join(dir, "liza")
	if err := norace.Build(dir, "liza/cmd/liza"); err != nil {
		b.Fatal(err)
	}
	b.Run("version", func(b *testing.B) { processes(b, "", liza, "version") })
	for _, tasks := range []int{300, 10000, 30000} {
		p := verbtest.New(b)
		p.Merges(tasks)
		process(b, p.Dir, liza, "add-task", "--id", "tell", "--type", "msg", "--desc", "Tell them", "--spec", "specs/vision.md", "--done", "told", "--scope", "none")
		name := fmt.Sprint(tasks, "/")
		b.Run(name+"status", func(b *testing.B) { processes(b, p.Dir, liza, "status") })
		b.Run(name+"note", func(b *testing.B) { processes(b, p.Dir, liza, "tell", "planner", "x") })
		b.Run(name+"validate", func(b *testing.B) { processes(b, p.Dir, liza, "validate") })
		b.Run(name+"claim", func(b *testing.B) { claims(b, p, liza) })
	}
}

// processes runs a command again and again.
func processes(b *testing.B, dir, program string, args ...string) {
	var times []time.Duration
	var memory int64
	for b.Loop() {
		d, kb := process(b, dir, program, args...)
		times, memory = append(times, d), max(memory, kb)
	}
	report(b, times, memory)
}

func report(b *testing.B, times []time.Duration, memory int64) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(memory)/1024, "MB-peak")
	b.ReportMetric(0, "ns/op")
}

// process runs a command once; kb is the most memory that it had.
func process(b *testing.B, dir, program string, args ...string) (took time.Duration, kb int64) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Env = dir, append(os.Environ(), measureMark+"="+strings.Join(append([]string{program}, args...), "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s %q: %v: %s", program, args, err, out)
	}
	if _, err := fmt.Sscan(string(out), &took, &kb); err != nil {
		b.Fatalf("%s %q: %v: %s", program, args, err, out)
	}
	return took, kb
}

// measureMark makes the test binary a process that starts another one: a child begins with
// the memory of its parent, and this test has a lot.
const measureMark = "CLI_TEST_MEASURE"

func measure(words []string) int {
	cmd := exec.Command(words[0], words[1:]...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		fmt.Printf("%v: %s", err, out)
		return 1
	}
	fmt.Println(took.Nanoseconds(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return 0
}

// claims claims a task that needs no worktree, so that what git takes to make one does not
// count, and takes everything back by hand.
func claims(b *testing.B, p *verbtest.Place, liza string) {
	var times []time.Duration
	var memory int64
	before, err := os.ReadFile(p.Project.State())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d, kb := process(b, p.Dir, liza, "--as", "coder-1", "claim", "tell")
		times, memory = append(times, d), max(memory, kb)
		b.StopTimer()
		verbtest.Write(b, p.Project.State(), string(before))
		if err := os.RemoveAll(filepath.Join(p.Project.GitDir, "liza")); err != nil {
			b.Fatal(err)
		}
		process(b, p.Dir, liza, "tell", "planner", "x") // snapshots and the record are there again
		b.StartTimer()
	}
	report(b, times, memory)
}

// BenchmarkSpawn is a run of a program that does nothing, alone and below a reaper.
func BenchmarkSpawn(b *testing.B) {
	a, err := agent.Lookup("nothing", agent.Options{Custom: map[string]agent.Entry{"nothing": {Command: []string{"true"}}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, reaper := range map[string][]string{"alone": nil, "reaper": {"liza", "reap"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if r := agent.Run(b.Context(), a, agent.Spec{Reaper: reaper}); r.Outcome != agent.Finished {
					b.Fatalf("got %+v", r)
				}
			}
		})
	}
}

// BenchmarkTell times a text from the start of the command to the input of the program that runs, and, by turns, the start of a
// command that does nothing, in the same process tree.
func BenchmarkTell(b *testing.B) {
	dir := b.TempDir()
	liza := filepath.Join(dir, "liza")
	if err := norace.Build(dir, "liza/cmd/liza", "liza/cmd/liza-agent", "liza/cmd/liza-spawn"); err != nil {
		b.Fatal(err)
	}
	p := verbtest.New(b)
	p.Merges(300)
	p.AddTask("task-1")
	heard := filepath.Join(p.Project.Liza, "heard")
	if err := syscall.Mkfifo(heard, 0o600); err != nil {
		b.Fatal(err)
	}
	verbtest.Write(b, filepath.Join(p.Project.Liza, "talk.sh"), `
exec 3> "$LIZA_ROOT/.liza/heard"
while read -r line; do
  echo . >&3
  printf '%s\n' "$line" | sed 's/}$/,"isReplay":true}/'
done
`)
	verbtest.Write(b, filepath.Join(p.Project.Liza, "config.yaml"), "agents:\n  talk: {command: [sh, "+p.Project.Liza+"/talk.sh], output: claude-stream-json, prompt: claude-stream-json}\n")
	supervisor := exec.Command(liza+"-agent", "--cli", "talk", "--once", "coder", "task-1")
	supervisor.Dir, supervisor.Env = p.Dir, append(os.Environ(), "XDG_STATE_HOME="+p.StateHome(), "LIZA_SANDBOX=open")
	if err := supervisor.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		process(b, p.Dir, liza, "stop", "--all")
		_ = supervisor.Wait()
	})
	ear, err := os.Open(heard)
	if err != nil {
		b.Fatal(err)
	}
	defer ear.Close()
	hear := func() {
		if _, err := ear.Read(make([]byte, 2)); err != nil {
			b.Fatal(err)
		}
	}
	hear() // the prompt
	var texts, floor []time.Duration
	for b.Loop() {
		began := time.Now()
		cmd := exec.Command(liza, "tell", "task-1", "a text")
		cmd.Dir, cmd.Env = p.Dir, supervisor.Env
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		hear()
		texts = append(texts, time.Since(began))
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		took, _ := process(b, p.Dir, liza, "version")
		floor = append(floor, took)
	}
	slices.Sort(texts)
	slices.Sort(floor)
	text, bare := texts[len(texts)/2], floor[len(floor)/2]
	b.ReportMetric(float64(text.Microseconds())/1000, "ms-to-input")
	b.ReportMetric(float64(bare.Microseconds())/1000, "ms-bare-command")
	b.ReportMetric(float64(text)/float64(bare), "ratio")
	b.ReportMetric(0, "ns/op")
}
