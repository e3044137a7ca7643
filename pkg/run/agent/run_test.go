package agent

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAProgramThatEndsIsFinished(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var seen Process
	res := Run(t.Context(), fakeAdapter{script: "cat; echo warning >&2; printf end", cmd: Command{Stdin: true}}, Spec{
		Dir:     t.TempDir(),
		Prompt:  "Say hello.\n",
		Output:  &log,
		Started: func(p Process) error { seen = p; return nil },
	})
	if res.Outcome != Finished || res.ExitCode != 0 || res.Error != "" || res.Signal != "" {
		t.Errorf("got %+v, want finished", res)
	}
	if want := "Say hello.\nend"; res.Final != want {
		t.Errorf("final message is %q, want %q", res.Final, want)
	}
	for _, want := range []string{"Say hello.\n", "warning\n", "end\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %q lacks %q", log.String(), want)
		}
	}
	if len(res.Tail) != 3 {
		t.Errorf("tail is %q, want three lines", res.Tail)
	}
	if seen.Pid == 0 || seen.Start == 0 || seen.Pgid != seen.Pid {
		t.Errorf("started with %+v, want a pid that leads its group, and a start time", seen)
	}
	if _, ok := lookup(seen.Pid); ok {
		t.Errorf("process %d is still in the process table", seen.Pid)
	}
}

func TestAFailingProgramCrashedAndSaysWhy(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script("echo partial; echo cannot find the model >&2; exit 3"), Spec{})
	if res.Outcome != Crashed || res.ExitCode != 3 || res.Final != "partial\n" {
		t.Errorf("got %+v, want crashed with 3 and its output", res)
	}
	if want := "exit code 3: cannot find the model"; res.Error != want {
		t.Errorf("error is %q, want %q", res.Error, want)
	}
	res = Run(t.Context(), script("kill -9 $$"), Spec{})
	if res.Outcome != Crashed || res.Signal != "SIGKILL" || res.ExitCode != -1 {
		t.Errorf("got %+v, want crashed by SIGKILL", res)
	}
}

func TestExitCode42AsksForARestartOnlyWhereTheAdapterSaysSo(t *testing.T) {
	t.Parallel()
	custom, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": {Command: []string{"sh", "-c", "exit 42"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if res := Run(t.Context(), custom, Spec{}); !res.Restart || res.Outcome != Crashed {
		t.Errorf("a project's own program got %+v, want a restart", res)
	}
	if res := Run(t.Context(), script("exit 42"), Spec{}); res.Restart || res.Outcome != Crashed {
		t.Errorf("another program got %+v, want a crash", res)
	}
}

func TestAProgramThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	missing, err := newOwn("mine", Entry{Command: []string{"no-such-agent-program"}})
	if err != nil {
		t.Fatal(err)
	}
	res := Run(t.Context(), missing, Spec{})
	if res.Outcome != Unusable || res.ExitCode != -1 || !strings.HasPrefix(res.Error, "cannot start no-such-agent-program: ") {
		t.Errorf("a missing program got %+v", res)
	}
	folder := filepath.Join(t.TempDir(), "gone")
	res = Run(t.Context(), script("true"), Spec{Dir: folder})
	if res.Outcome != Crashed || !strings.Contains(res.Error, folder) {
		t.Errorf("a missing folder got %+v, want a crash that names it", res)
	}
}

func TestAProgramThatNeverEndsIsStoppedAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	res := Run(t.Context(), script("echo begun; sleep 1000"), Spec{Env: []string{mark}, Timeout: 300 * time.Millisecond, Stall: time.Minute})
	if res.Outcome != TimedOut || res.Signal != "SIGTERM" || res.Final != "begun\n" || len(res.Left) > 0 {
		t.Errorf("got %+v, want timeout by TERM", res)
	}
	if res.Seconds < 0.3 || res.Seconds > 5 {
		t.Errorf("it took %.1f s, want a little more than 0.3 s", res.Seconds)
	}
	wantNothingLeft(t, mark)
}

func TestAProgramThatWritesForEverIsStoppedAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	res := Run(t.Context(), script("while :; do echo working; sleep 0.02; done"), Spec{Env: []string{mark}, Timeout: 3 * time.Second, Stall: 2 * time.Second})
	if res.Outcome != TimedOut {
		t.Errorf("got %+v, want timeout", res)
	}
	wantNothingLeft(t, mark)
}

func TestAProgramThatIgnoresTermIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	res := Run(t.Context(), script(stubborn), Spec{Env: []string{mark}, Timeout: 200 * time.Millisecond, KillGrace: 200 * time.Millisecond})
	if res.Outcome != TimedOut || res.Signal != "SIGKILL" {
		t.Errorf("got %+v, want timeout by KILL", res)
	}
	if res.Seconds > 5 {
		t.Errorf("it took %.1f s, want less than 5", res.Seconds)
	}
	wantNothingLeft(t, mark)
}

func TestAProgramThatEndsWithZeroAfterOurTermIsNotFinished(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script(`trap "exit 0" TERM; while :; do sleep 0.05; done`), Spec{Timeout: 200 * time.Millisecond})
	if res.Outcome != TimedOut || res.ExitCode != 0 {
		t.Errorf("got %+v, want timeout with exit code 0", res)
	}
}

func TestWhatAFinishedProgramLeavesBehindIsEnded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a background job that holds stdout open": "sleep 1000 & echo done",
		"one that ignores TERM":                   "(" + stubborn + ") 2>ready & until [ -s ready ]; do :; done; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := testMark(t)
			res := Run(t.Context(), script(text), Spec{Dir: t.TempDir(), Env: []string{mark}})
			if res.Outcome != Finished || res.Final != "done\n" || len(res.Left) > 0 {
				t.Errorf("got %+v, want finished", res)
			}
			if res.Seconds > 5 {
				t.Errorf("it took %.1f s, want less than 5", res.Seconds)
			}
			wantNothingLeft(t, mark)
		})
	}
}

func TestTheEndOfTheContextStopsTheProgram(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	started := func(Process) error { cancel(errors.New("the lease was lost")); return nil }
	res := Run(ctx, script("sleep 1000"), Spec{Env: []string{mark}, Started: started})
	if res.Outcome != Killed || res.Error != "stopped: the lease was lost" {
		t.Errorf("got %+v, want killed with the cause", res)
	}
	wantNothingLeft(t, mark)
	if res := Run(ctx, script("echo hello"), Spec{}); res.Outcome != Killed || res.Final != "" {
		t.Errorf("with a context that has ended got %+v, want no start", res)
	}
}

func TestAProgramThatMayNotStartIsStoppedBeforeItGetsThePrompt(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	a := fakeAdapter{script: "cat; sleep 1000", cmd: Command{Stdin: true}}
	res := Run(t.Context(), a, Spec{Prompt: "secret", Env: []string{mark}, Started: func(Process) error { return errors.New("the registration is gone") }})
	if res.Outcome != Killed || res.Error != "the registration is gone" || res.Final != "" {
		t.Errorf("got %+v, want killed without having read anything", res)
	}
	wantNothingLeft(t, mark)
}

func TestASilentProgramIsStalled(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	res := Run(t.Context(), script("echo begun; sleep 1000"), Spec{Env: []string{mark}, Stall: 200 * time.Millisecond, Timeout: time.Minute})
	if res.Outcome != Stalled || res.Seconds > 5 {
		t.Errorf("got %+v, want stalled", res)
	}
	wantNothingLeft(t, mark)
}

// gemini says on stderr that its provider is overloaded, waits, and tries again.
func TestWhatAProgramSaidLastBeforeItWasStoppedCounts(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]Outcome{
		"Attempt 1 failed with status 529. Retrying with backoff...\n": Overloaded,
		"Attempt 1 failed, once more\n":                                Crashed,
		"a.go:3: status 529 is odd\n":                                  Crashed, // about code
		"":                                                             Crashed, // it went on after all that is on stderr
	} {
		r := catalogued(t, "gemini").Reader(Spec{})
		for _, line := range []string{`{"type":"init","session_id":"s"}`, `{"type":"tool_use","tool_name":"x","tool_id":"1"}`, `{"type":"tool_result","tool_id":"1","status":"success"}`} {
			r.Line([]byte(line))
		}
		stderr := "Attempt 1 failed with status 529\n" + after
		if res := r.End(Exit{Code: -1, Signal: "SIGTERM", Stderr: []byte(stderr), After: []byte(after)}); res.Outcome != want {
			t.Errorf("%q is %s, want %s", after, res.Outcome, want)
		}
	}
}

func TestActivityElsewhereRestartsTheStallClock(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	last := time.Now().Add(-time.Hour)
	res := Run(t.Context(), script("sleep 1000"), Spec{Stall: 150 * time.Millisecond, Activity: func() time.Time {
		if asked.Add(1) <= 3 {
			last = time.Now()
		}
		return last
	}})
	if res.Outcome != Stalled {
		t.Errorf("got %+v, want stalled in the end", res)
	}
	if res.Seconds < 0.55 || asked.Load() != 4 {
		t.Errorf("stopped after %.2f s and %d questions, want four times 0.15 s and 4", res.Seconds, asked.Load())
	}
}

func TestOutputKeepsAProgramAlive(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script("for i in 1 2 3 4 5 6 7 8; do printf .; sleep 0.4; done"), Spec{Stall: 2 * time.Second})
	if res.Outcome != Finished || res.Final != "........" {
		t.Errorf("got %+v, want finished", res)
	}
}

func TestATimeOfTheFutureCountsOnlyWhenItAppears(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := began.Add(-time.Hour)
	life := signs{activity: func() time.Time { return at }}
	if got := life.idle(began.Add(10*time.Second), began); got != 10*time.Second {
		t.Errorf("idle with an old time is %v, want 10 s since the beginning", got)
	}
	at = began.Add(24 * time.Hour)
	if got := life.idle(began.Add(20*time.Second), began); got != 0 {
		t.Errorf("idle when a time of the future appears is %v, want 0", got)
	}
	if got := life.idle(began.Add(50*time.Second), began); got != 30*time.Second {
		t.Errorf("idle half a minute later is %v, want 30 s", got)
	}
}

func TestAPromptOfFiveMegabytesThatNobodyReads(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("five MB ", 5<<20/8)
	stdin := Command{Stdin: true}
	if res := Run(t.Context(), fakeAdapter{script: "exit 0", cmd: stdin}, Spec{Prompt: prompt}); res.Outcome != Finished {
		t.Errorf("a program that ends got %+v, want finished", res)
	}
	mark := testMark(t)
	res := Run(t.Context(), fakeAdapter{script: "sleep 1000", cmd: stdin}, Spec{Prompt: prompt, Env: []string{mark}, Timeout: 200 * time.Millisecond})
	if res.Outcome != TimedOut || res.Seconds > 5 {
		t.Errorf("a program that does not end got %+v, want timeout", res)
	}
	wantNothingLeft(t, mark)
	res = Run(t.Context(), fakeAdapter{script: "wc -c", cmd: stdin}, Spec{Prompt: prompt})
	if got := strings.TrimSpace(res.Final); got != strconv.Itoa(len(prompt)) {
		t.Errorf("a program that reads got %s bytes, want %d", got, len(prompt))
	}
}

// meter counts what is written, and measures now and then how much memory is in use. It collects garbage first: on a busy
// machine the collector comes late, and garbage is not growth.
type meter struct{ bytes, next, peak uint64 }

func (m *meter) Write(p []byte) (int, error) {
	if m.bytes += uint64(len(p)); m.bytes >= m.next {
		m.next += 2_000_000
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		m.peak = max(m.peak, mem.HeapAlloc)
	}
	return len(p), nil
}

func TestMuchOutputDoesNotGrowMemory(t *testing.T) { // not parallel: it looks at the whole heap
	const size = 30_000_000 // a newline is added to a last line without one
	for name, text := range map[string]string{
		"many lines":         "yes 'a line of output' | head -c 30000000",
		"one line":           "head -c 30000000 /dev/zero",
		"many lines, stderr": "yes 'a line of output' | head -c 30000000 >&2",
	} {
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		m := &meter{}
		res := Run(t.Context(), script(text), Spec{Output: m})
		if res.Outcome != Finished || m.bytes-size > 1 {
			t.Errorf("%s: %s, and %d bytes were copied, want all %d", name, res.Outcome, m.bytes, size)
		}
		if len(res.Final) > MaxFinal || len(strings.Join(res.Tail, "")) > tailLines*tailLineSize {
			t.Errorf("%s: %d bytes of final message and %d lines are kept", name, len(res.Final), len(res.Tail))
		}
		if grown := int64(m.peak) - int64(before.HeapAlloc); grown > 16<<20 {
			t.Errorf("%s: memory grew by %d MB", name, grown>>20)
		}
	}
}

// failingWriter is a disk that is full.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnOutputThatCannotBeWrittenDoesNotStopTheProgram(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script("echo one; echo two"), Spec{Output: failingWriter{}})
	if res.Outcome != Finished || res.Final != "one\ntwo\n" || res.OutputError == nil {
		t.Errorf("got %+v, want finished with the error of the output", res)
	}
}

func TestAProgramThatHangsAfterItsResultIsFinished(t *testing.T) {
	t.Parallel()
	mark := testMark(t)
	path, err := filepath.Abs("testdata/corpus/claude/hello.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	a := fakeAdapter{script: "cat '" + path + "'; sleep 1000", cmd: Command{EndGrace: 100 * time.Millisecond}, reader: func() Reader { return reader("claude-stream-json") }}
	res := Run(t.Context(), a, Spec{Env: []string{mark}, Timeout: time.Minute})
	if res.Outcome != Finished || res.Final != "DONE: hello.txt is committed." || res.Seconds > 5 {
		t.Errorf("got %+v, want finished", res)
	}
	wantNothingLeft(t, mark)
}

func TestTheEnvironmentOfARun(t *testing.T) {
	t.Parallel()
	inherited := []string{
		"PATH=/bin", "HOME=/h", "LIZA_AGENT_TOKEN=old", "LIZA_AGENT_ID=coder-9", "LIZA_SECRET_DB=x", "LIZA_LOCK_TIMEOUT=3",
		"LIZA_RUN_ID=outer", "GIT_DIR=/elsewhere", "GIT_INDEX_FILE=/elsewhere/index", "GIT_AUTHOR_NAME=Ann", "CLAUDECODE=1", "MINE=1",
		"PWD=/the/checkout", "OLDPWD=/home/ann", "INIT_CWD=/the/checkout",
	}
	cmd := Command{Env: []string{"FLAG=adapter"}, Unset: []string{"CLAUDECODE"}}
	got := environment(inherited, cmd, Spec{Env: []string{"LIZA_AGENT_ID=coder-1"}, Unset: []string{"MI*"}}, "r1")
	want := "PATH=/bin HOME=/h GIT_AUTHOR_NAME=Ann FLAG=adapter LIZA_AGENT_ID=coder-1 LIZA_RUN_ID=r1"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	got = environment(inherited, Command{}, Spec{Dir: "/the/worktree"}, "r1")
	if want := "PATH=/bin HOME=/h GIT_AUTHOR_NAME=Ann CLAUDECODE=1 MINE=1 LIZA_RUN_ID=r1 PWD=/the/worktree"; strings.Join(got, " ") != want {
		t.Errorf("in a folder got  %v\nwant %v", got, want)
	}
}

func TestARunHasNoTerminal(t *testing.T) {
	t.Parallel()
	res := Run(t.Context(), script("if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi"), Spec{})
	if res.Final != "none\n" {
		t.Errorf("a program could open the terminal: %+v", res)
	}
}
