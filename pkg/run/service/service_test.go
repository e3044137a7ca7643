package service

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test an attendant, and a server that listens at the socket named by its argument.
func TestMain(m *testing.M) {
	if args, ok := Attended(os.Args[1:]); ok {
		os.Exit(Attend(args))
	}
	if len(os.Args) == 3 && os.Args[1] == "listen" {
		l, err := net.Listen("unix", os.Args[2])
		if err != nil {
			panic(err)
		}
		for {
			if c, err := l.Accept(); err == nil {
				c.Close()
			}
		}
	}
	os.Exit(m.Run())
}

// attended runs a shell command with servers beside it.
func attended(t *testing.T, shell string, servers ...Server) (said string, state *os.ProcessState, logs string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "service") // for sockets: short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		for j, word := range servers[i].Command {
			servers[i].Command[j] = strings.NewReplacer("SELF", self, "DIR", dir).Replace(word)
		}
		for j, path := range servers[i].Sockets {
			servers[i].Sockets[j] = filepath.Join(dir, path)
		}
		if servers[i].Wait == 0 {
			servers[i].Wait = time.Minute
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	argv, err := Order{Servers: servers, Run: filepath.Join(dir, "run"), Logs: dir, Path: sh}.Command(self, []string{"sh", "-c", shell})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
	cmd.Stdin = strings.NewReader("the prompt")
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState, dir
}

func TestAProgramStartsWhenItsServersAnswerAndTheyEndAfterIt(t *testing.T) {
	t.Parallel()
	said, state, logs := attended(t, `cat; echo; ls DB 2>/dev/null; test -S run/db.sock && echo open; exit 3`,
		Server{Name: "db", Command: []string{"SELF", "listen", "DIR/run/db.sock"}, Sockets: []string{"run/db.sock"}},
		Server{Name: "slow", Command: []string{"sh", "-c", "echo $DATA; sleep 0.2; touch DIR/up; trap 'echo asked; exit 0' TERM; while :; do sleep 0.01; done"}, Ready: []string{"test", "-e", "up"}, Data: "/data"})
	if said != "the prompt\nopen\n" || state.ExitCode() != 3 {
		t.Errorf("it said %q and ended with %v", said, state)
	}
	if log, _ := os.ReadFile(filepath.Join(logs, LogOf("slow"))); !strings.HasPrefix(string(log), "/data\n") || !strings.HasSuffix(string(log), "asked\n") {
		t.Errorf("the log of a server has %q", log)
	}
	if why, _ := Failure(logs); why != "" {
		t.Errorf("a failure is told: %s", why)
	}
}

func TestAServerThatIsNotReadyIsToldAndTheProgramNotStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server Server
		why    string
		tail   string
	}{
		"ended":   {Server{Command: []string{"sh", "-c", "echo one; echo; echo two >&2; exit 7"}, Ready: []string{"false"}}, "the service db ended before it was ready: exit status 7", "  one\n  two"},
		"killed":  {Server{Command: []string{"sh", "-c", "kill -9 $$"}, Ready: []string{"false"}}, "the service db ended before it was ready: signal: killed", ""},
		"late":    {Server{Command: []string{"sleep", "60"}, Ready: []string{"sh", "-c", "echo refused; exit 2"}, Wait: 200 * time.Millisecond}, "the service db was not ready within 200ms", "  refused"},
		"hanging": {Server{Command: []string{"sleep", "60"}, Ready: []string{"sleep", "60"}, Wait: 200 * time.Millisecond}, "the service db was not ready within 200ms", ""},
		"closed":  {Server{Command: []string{"sleep", "60"}, Sockets: []string{"run/none"}, Wait: 200 * time.Millisecond}, "the service db was not ready within 200ms", ""},
		"missing": {Server{Command: []string{"no-such-server"}}, `the service db cannot be started: exec: "no-such-server": executable file not found in $PATH`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.server.Name = "db"
			began := time.Now()
			said, state, logs := attended(t, "echo the program ran", c.server)
			if state.ExitCode() != NotReady || strings.Contains(said, "ran") {
				t.Errorf("the program was started, or it ended with %v: %s", state, said)
			}
			why, tail := Failure(logs)
			if why != c.why || strings.Join(tail, "\n") != c.tail {
				t.Errorf("the failure is %q with %q", why, tail)
			}
			if !strings.HasPrefix(said, "liza: "+c.why+"\n") {
				t.Errorf("it said %q", said)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestAServerThatEndsBeforeTheProgramIsTold(t *testing.T) {
	t.Parallel()
	said, state, logs := attended(t, `until grep -q ended db.log; do sleep 0.01; done; echo goes on`, Server{Name: "db", Command: []string{"sh", "-c", "exit 2"}})
	if !strings.HasPrefix(said, "liza: the service db has ended before the program: exit status 2\n") || !strings.HasSuffix(said, "goes on\n") || !state.Success() {
		t.Errorf("it said %q and ended with %v", said, state)
	}
	if log, _ := os.ReadFile(filepath.Join(logs, LogOf("db"))); !strings.Contains(string(log), "has ended before the program") {
		t.Errorf("the log has %q", log)
	}
}

func TestTheEndOfAProgramIsThatOfItsAttendant(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]syscall.Signal{"kill -9 $$": syscall.SIGKILL, "kill $$": syscall.SIGTERM, "kill -2 $$; exit 1": syscall.SIGINT} {
		_, state, _ := attended(t, shell, Server{Name: "db", Command: []string{"sleep", "60"}})
		if status := state.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != want {
			t.Errorf("after %q it ended with %v", shell, state)
		}
	}
}

func TestAnAttendantOutlivesTheRequestToEndUntilItsProgramHasEnded(t *testing.T) {
	t.Parallel()
	said, state, _ := attended(t, `kill -TERM $PPID; sleep 0.2; echo done`, Server{Name: "db", Command: []string{"sleep", "60"}})
	if said != "done\n" || !state.Success() {
		t.Errorf("it said %q and ended with %v", said, state)
	}
}
