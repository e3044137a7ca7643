// Package service runs the servers of a run (a database, a cache) beside its program and inside its sandbox (specs/configuration.md#services).
//
// An attendant is a hidden command of liza-spawn, started in the place of the program: it starts the servers, waits until they are ready, and
// then starts the program, whose streams and end are its own. When the program has ended it ends the servers. So they belong to the run at each
// level: they see its files and its network, and whatever ends the run ends them.
package service

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"liza/pkg/base/safefile"
)

// Source is what the attendant is made of (sandbox.Build).
//
//go:embed *.go
var Source embed.FS

// A Server is one service of a run. Names in its words have been resolved.
type Server struct {
	Name    string
	Command []string
	Ready   []string      // succeeds once it is ready; empty: it is when Sockets answer
	Sockets []string      // paths of Unix sockets that it is told to open
	Wait    time.Duration // longest time until it is ready
	Data    string        // its folder; "DATA" in its environment
}

// An Order is what an attendant is started with.
type Order struct {
	Servers []Server
	Run     string // folder of sockets; "RUN" in the environment of servers
	Logs    string // folder of logs, and of a Failure
	Path    string // of the program
}

const (
	attend   = "attend"
	failure  = "failure"
	maxLog   = 2 << 20 // of one service, and twice with what came before
	pollMost = 500 * time.Millisecond
	grace    = 5 * time.Second
	tryMost  = 10 * time.Second // of one look whether it is ready
)

// NotReady is the exit code of an attendant whose services did not get ready. The program was not started then.
const NotReady = 123

// Command is the command of an attendant that starts the program at o.Path; launcher is liza-spawn or liza.
func (o Order) Command(launcher string, argv []string) ([]string, error) {
	data, err := json.Marshal(o)
	return slices.Concat([]string{launcher, attend, string(data), "--"}, argv), err
}

// Attended reports whether a command line is that of an attendant, and returns its arguments.
func Attended(args []string) ([]string, bool) {
	if len(args) < 4 || args[0] != attend || args[2] != "--" {
		return nil, false
	}
	return args[1:], true
}

// LogOf is the name of the log of a service in the folder Logs of an Order.
func LogOf(name string) string { return name + ".log" }

// A server is one that runs.
type server struct {
	Server
	cmd   *exec.Cmd
	log   *safefile.Log
	ended chan struct{} // closed when it has ended
}

type attendant struct {
	Order
	servers []*server
}

// Attend is the whole of an attendant. It returns the exit code, or ends as the program did.
func Attend(args []string) int {
	asked := make(chan os.Signal, 8) // the program hears them too; this process ends after it
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	var a attendant
	if err := json.Unmarshal([]byte(args[0]), &a.Order); err != nil {
		fmt.Fprintln(os.Stderr, "attend is started by supervisors only\nnext: liza help")
		return 2
	}
	err := a.start(asked)
	if err != nil {
		a.stop()
		a.fail(err)
		return NotReady
	}
	program := &exec.Cmd{Path: a.Path, Args: args[2:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := program.Start(); err != nil {
		a.stop()
		fmt.Fprintf(os.Stderr, "cannot start '%s': %v\n", a.Path, err)
		return 126
	}
	over := make(chan struct{})
	for _, s := range a.servers {
		go func() {
			select {
			case <-s.ended:
				s.tell("has ended before the program: " + s.end())
			case <-over:
			}
		}()
	}
	_ = program.Wait()
	close(over)
	a.stop()
	return endAs(program.ProcessState.Sys().(syscall.WaitStatus))
}

// start starts all servers, and waits until each is ready, or one is not, or the run is asked to end.
func (a *attendant) start(asked <-chan os.Signal) error {
	if err := os.MkdirAll(a.Run, 0o700); err != nil {
		return err
	}
	for _, s := range a.Servers {
		if err := a.begin(s); err != nil {
			return fmt.Errorf("the service %s cannot be started: %w", s.Name, err)
		}
	}
	results := make(chan error, len(a.servers))
	for _, s := range a.servers {
		go func() { results <- s.await(a.Run) }()
	}
	for range a.servers {
		select {
		case err := <-results:
			if err != nil {
				return err
			}
		case <-asked:
			return errors.New("the run was ended before its services were ready")
		}
	}
	return nil
}

func (a *attendant) begin(s Server) (err error) {
	r := &server{Server: s, ended: make(chan struct{})}
	if r.log, err = safefile.OpenLog(filepath.Join(a.Logs, LogOf(s.Name)), 0o600, maxLog); err != nil {
		return err
	}
	r.cmd = r.command(s.Command, a.Run)
	r.cmd.Stdout, r.cmd.Stderr, r.cmd.WaitDelay = r.log, r.log, time.Second
	if err := r.cmd.Start(); err != nil {
		return err
	}
	a.servers = append(a.servers, r)
	go func() {
		_ = r.cmd.Wait()
		close(r.ended)
	}()
	return nil
}

// command is one in a process group of its own, with the folders of the service in its environment.
func (s *server) command(argv []string, run string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DATA="+s.Data, "RUN="+run)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// await polls until the server is ready.
func (s *server) await(run string) error {
	limit := time.NewTimer(s.Wait)
	defer limit.Stop()
	var said []byte
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, pollMost) {
		ready, why := s.ready(run)
		if said = why; ready {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the service %s ended before it was ready: %s", s.Name, s.end())
		case <-limit.C:
			_, _ = s.log.Write(said)
			return fmt.Errorf("the service %s was not ready within %s", s.Name, s.Wait)
		case <-time.After(pause):
		}
	}
}

// ready looks once, and returns what the program that looks has said.
func (s *server) ready(run string) (ready bool, said []byte) {
	if len(s.Server.Ready) == 0 {
		return !slices.ContainsFunc(s.Sockets, func(path string) bool {
			conn, err := net.Dial("unix", path)
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		}), nil
	}
	var out bytes.Buffer
	cmd := s.command(s.Server.Ready, run)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		return false, []byte(err.Error() + "\n")
	}
	kill := time.AfterFunc(min(tryMost, s.Wait), func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer kill.Stop()
	return cmd.Wait() == nil, out.Bytes()
}

// end is how the server has ended.
func (s *server) end() string { return s.cmd.ProcessState.String() }

// tell writes a line about the service into its log and to the output of the run.
func (s *server) tell(what string) {
	line := fmt.Sprintf("liza: the service %s %s\n", s.Name, what)
	_, _ = s.log.Write([]byte(line))
	_, _ = os.Stderr.WriteString(line)
}

// stop ends all servers: TERM, and after a grace KILL for all of their groups.
func (a *attendant) stop() {
	late := time.After(grace)
	for _, s := range a.servers {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	}
	for _, s := range a.servers {
		select {
		case <-s.ended:
		case <-late:
			late = time.After(0)
		}
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.ended
		_ = s.log.Close()
	}
}

// tailLines are the last lines of a log that come with a failure.
const tailLines = 10

// fail writes why the services are not ready, with their last lines, to the output of the run and for the supervisor.
func (a *attendant) fail(why error) {
	text := "liza: " + why.Error() + "\n"
	for _, s := range a.Servers {
		if strings.HasPrefix(why.Error(), "the service "+s.Name+" ") {
			log, _ := safefile.ReadWithin(a.Logs, LogOf(s.Name), 2*maxLog)
			lines := strings.FieldsFunc(string(log), func(r rune) bool { return r == '\n' })
			for _, line := range lines[max(0, len(lines)-tailLines):] {
				text += "  " + line + "\n"
			}
		}
	}
	_, _ = os.Stderr.WriteString(text)
	_ = os.WriteFile(filepath.Join(a.Logs, failure), []byte(text), 0o600)
}

// Failure is what an attendant has written about services that did not get ready: the reason, and the last lines of the service.
func Failure(logs string) (why string, tail []string) {
	f, err := safefile.OpenWithin(logs, failure) // a program of the run can write it too
	if err != nil {
		return "", nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD")), "\n")
	return strings.TrimPrefix(lines[0], "liza: "), lines[1:]
}

// endAs ends this process by the signal that ended the program, or returns its exit code.
func endAs(status syscall.WaitStatus) int {
	if !status.Signaled() {
		return status.ExitStatus()
	}
	if s := status.Signal(); slices.Contains([]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT, syscall.SIGHUP}, s) {
		signal.Reset(s)
		_ = syscall.Kill(os.Getpid(), s)
		time.Sleep(time.Second) // it comes at once
	}
	return 128 + int(status.Signal())
}
