package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/run/sandbox"
)

// programVariable makes the test binary one of the programs below.
const programVariable = "AGENT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], reaperOfTests[1:]) {
		os.Exit(Reap())
	}
	if args, ok := sandbox.Entered(os.Args[1:]); ok {
		os.Exit(sandbox.Enter(args))
	}
	switch os.Getenv(programVariable) {
	case "":
		os.Exit(m.Run())
	case "supervise":
		supervise()
	case "detach":
		detach()
	case "detach and stay":
		_ = detach().Wait()
	default:
		linuxPrograms[os.Getenv(programVariable)]()
	}
}

// linuxPrograms are those of tests on Linux.
var linuxPrograms = map[string]func(){}

// reaperOfTests makes the test binary the reaper of a run.
var reaperOfTests = []string{"agent.test", "reap"}

// stubborn is a shell script that never ends and does not heed TERM. When it is ready, it says
// so on stderr.
const stubborn = `trap "" TERM; echo ready >&2; while :; do sleep 1; done`

// detach starts a stubborn process in a session of its own, which holds stdout open.
func detach() *exec.Cmd {
	cmd := exec.Command("sh", "-c", stubborn)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout = os.Stdout
	startReady(cmd)
	fmt.Println("detached")
	return cmd
}

// startReady starts a script and waits for its first word on stderr.
func startReady(cmd *exec.Cmd) {
	words, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = words.Read(make([]byte, len("ready")))
	}
	if err != nil {
		panic(err)
	}
}

// supervise is a program of tests: the supervisor of a script.
func supervise() {
	_ = Run(context.Background(), script("exec sh "+os.Args[1]+"/agent"), Spec{Reaper: reaperOfTests, KillGrace: 200 * time.Millisecond})
}

// fakeAdapter starts a shell script.
type fakeAdapter struct {
	script string
	cmd    Command
	reader func() Reader
}

func (f fakeAdapter) Command(Spec) (Command, error) {
	c := f.cmd
	c.Argv = []string{"sh", "-c", f.script}
	return c, nil
}

func (f fakeAdapter) Info() Info { return Info{Name: "fake"} }

func (f fakeAdapter) Interactive(s Spec) (Command, error) { return f.Command(s) }

func (f fakeAdapter) Reader(Spec) Reader {
	if f.reader != nil {
		return f.reader()
	}
	return reader(formatText)
}

// newOwn returns the adapter of a project's own program.
func newOwn(name string, e Entry) (Adapter, error) {
	return Lookup(name, Options{Custom: map[string]Entry{name: e}})
}

// reader returns a reader with the common signatures.
func reader(name string) Reader { return newReader(name, builtin().common, readerOptions{}) }

func script(text string) fakeAdapter { return fakeAdapter{script: text} }

// testMark returns a variable that marks everything that a test starts.
func testMark(t *testing.T) string {
	return "AGENT_TEST_MARK=" + t.Name() + "-" + rand.Text()
}

// wantNothingLeft fails when a process of the test is in the process table.
func wantNothingLeft(t *testing.T, mark string) {
	t.Helper()
	table, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range table {
		if carries(e, []string{mark}) {
			t.Errorf("process %d is left: %+v", e.Pid, e)
			_ = syscall.Kill(e.Pid, syscall.SIGKILL)
		}
	}
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited for a minute: %s", what)
		}
	}
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// read feeds a recorded output to a reader.
func read(r Reader, stdout string, e Exit) (res Result, ended bool) {
	for line := range strings.Lines(stdout) {
		ended = r.Line([]byte(strings.TrimRight(line, "\n")))
	}
	e.Stdout = []byte(stdout)
	return r.End(e), ended
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
