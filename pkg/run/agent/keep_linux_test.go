package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"liza/pkg/run/sandbox"
)

func init() {
	linuxPrograms["keep"] = keepRun
	linuxPrograms["dial"] = func() {
		_, err := Dial(os.Args[1], serverPort)
		fmt.Println(err)
		os.Exit(0)
	}
	linuxPrograms["serve"] = serveOnce
	linuxPrograms["adopt"] = func() {
		_, err := Adopt(os.Args[1])
		fmt.Println(err)
		os.Exit(0)
	}
	linuxPrograms["connect"] = connectAndEnd
}

// listen returns a socket that listens.
func listen(path string) *os.File {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		panic(err)
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		panic(err)
	}
	return f
}

// keepRun is a supervisor that keeps a run: of the script DIR/agent, with its output in DIR/log. It dies when the run has begun and
// DIR/die is there, before the program has its prompt.
func keepRun() {
	dir := os.Args[1]
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	spare, err := os.Create(filepath.Join(dir, "spare"))
	if err != nil {
		panic(err)
	}
	wait, err := time.ParseDuration(os.Getenv("LIZA_TEST_WAIT"))
	if err != nil {
		panic(err)
	}
	var program Adapter = fakeAdapter{script: "exec sh " + dir + "/agent", cmd: Command{Stdin: true}}
	if os.Getenv("LIZA_TEST_ACP") != "" {
		program = acpLike{fakeAdapter{script: "exec sh " + dir + "/agent"}}
	}
	Run(context.Background(), program, Spec{Reaper: reaperOfTests, Prompt: "a prompt", Output: log, KillGrace: time.Second,
		Started: func(Process) error {
			if _, err := os.Stat(filepath.Join(dir, "die")); err == nil {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		},
		Keep: &Keep{Socket: listen(filepath.Join(dir, "s")), Files: []*os.File{spare}, Facts: []byte("facts"), Wait: wait}})
	_ = os.WriteFile(filepath.Join(dir, "survived"), nil, 0o600)
	os.Exit(0)
}

// orphaned starts such a supervisor, and kills it when the file killed is in its folder.
func orphaned(t *testing.T, script, killed string, wait time.Duration, env ...string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "liza-keep-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	scriptFile(t, dir, "agent", "echo begun >> DIR/begins\n"+script)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if killed == "die" {
		scriptFile(t, dir, "die", "")
	}
	supervisor := exec.Command(self, dir)
	supervisor.Env = append(append(os.Environ(), programVariable+"=keep", "LIZA_TEST_WAIT="+wait.String()), env...)
	supervisor.Stderr = os.Stderr
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	if killed != "die" {
		eventually(t, killed, func() bool { _, err := os.Stat(filepath.Join(dir, killed)); return err == nil })
		if _, err := Adopt(filepath.Join(dir, "s")); !errors.Is(err, ErrHeld) {
			t.Errorf("as long as the supervisor lives the run may be adopted: %v", err)
		}
		_ = supervisor.Process.Kill()
	}
	_ = supervisor.Wait()
	if _, err := os.Stat(filepath.Join(dir, "survived")); err == nil {
		t.Fatal("the supervisor came to its end")
	}
	return dir
}

func textIn(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// adopt adopts the run, as soon as its reaper knows that the supervisor is gone.
func adopt(t *testing.T, dir string) *Adopted {
	t.Helper()
	var a *Adopted
	eventually(t, "the run is adopted", func() (done bool) {
		var err error
		if a, err = Adopt(filepath.Join(dir, "s")); err != nil && !errors.Is(err, ErrHeld) && !errors.Is(err, ErrSettling) {
			t.Fatal(err)
		}
		return err == nil
	})
	return a
}

func TestARunOutlivesItsSupervisorAtEachMoment(t *testing.T) {
	t.Parallel()
	for killed, script := range map[string]string{
		"die":    `read -r p; echo "$p"; echo one; echo two >&2; echo three`,
		"begins": `read -r p; until [ -e DIR/go ]; do sleep 0.01; done; echo "$p"; echo one; echo two >&2; echo three`,
		"within": `read -r p; echo "$p"; echo one; until [ -s DIR/log ]; do sleep 0.01; done; : > DIR/within; until [ -e DIR/go ]; do sleep 0.01; done; echo two >&2; echo three`,
	} {
		t.Run(killed, func(t *testing.T) {
			t.Parallel()
			dir := orphaned(t, script+"; exit 7", killed, time.Minute)
			a := adopt(t, dir)
			if string(a.Facts) != "facts" || len(a.Files) != 1 {
				t.Errorf("got %q and %d files", a.Facts, len(a.Files))
			}
			if _, err := Adopt(filepath.Join(dir, "s")); !errors.Is(err, ErrSettling) {
				t.Errorf("a second one may have it, too: %v", err)
			}
			scriptFile(t, dir, "go", "")
			var rest strings.Builder
			var first Process
			res := Run(t.Context(), fakeAdapter{cmd: Command{Stdin: true}}, Spec{Prompt: "a prompt", Adopted: a, Output: &rest, Started: func(p Process) error { first = p; return nil }})
			if res.Outcome != Crashed || res.ExitCode != 7 || res.Final != "a prompt\none\nthree\n" || first.Pid == 0 || len(res.Left) > 0 {
				t.Errorf("got %+v", res)
			}
			all := textIn(t, dir, "log") + rest.String()
			for _, line := range []string{"a prompt\n", "one\n", "two\n", "three\n"} {
				if strings.Count(all, line) != 1 {
					t.Errorf("%q is in the log of both, %q and %q, %d times", line, textIn(t, dir, "log"), rest.String(), strings.Count(all, line))
				}
			}
			if begins := textIn(t, dir, "begins"); begins != "begun\n" {
				t.Errorf("the program began more than once: %q", begins)
			}
			if _, err := Adopt(filepath.Join(dir, "s")); !errors.Is(err, ErrSettling) {
				t.Errorf("when its end is not recorded: %v", err)
			}
			res.Recorded()
			eventually(t, "the end of the reaper", func() bool { _, err := Adopt(filepath.Join(dir, "s")); return errors.Is(err, ErrNotKept) })
		})
	}
}

func TestARunThatEndsWithoutASupervisorIsAdopted(t *testing.T) {
	t.Parallel()
	dir := orphaned(t, "read -r p; echo one; : > DIR/one; until [ -e DIR/go ]; do sleep 0.01; done; echo two; : > DIR/two", "one", time.Minute)
	scriptFile(t, dir, "go", "")
	eventually(t, "the program is over", func() bool { _, err := os.Stat(filepath.Join(dir, "two")); return err == nil })
	a := adopt(t, dir)
	a.Release()
	if a = adopt(t, dir); !a.first.Given {
		t.Error("the prompt was not given")
	}
	if res := Run(t.Context(), fakeAdapter{}, Spec{Adopted: a}); res.Outcome != Finished || res.Final != "one\ntwo\n" {
		t.Errorf("got %+v", res)
	} else {
		res.Recorded()
	}
}

func TestAKeptRunForWhichNobodyComesIsEnded(t *testing.T) {
	t.Parallel()
	dir := orphaned(t, "echo $$ > DIR/pid; : > DIR/ready; exec sleep 1000", "ready", 200*time.Millisecond)
	var pid int
	if _, err := fmt.Sscan(textIn(t, dir, "pid"), &pid); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the program", func() bool { return !Alive(pid, 0) })
	eventually(t, "the end of the reaper", func() bool { _, err := Adopt(filepath.Join(dir, "s")); return errors.Is(err, ErrNotKept) })
}

func TestAnAdoptedRunIsEnded(t *testing.T) {
	t.Parallel()
	dir := orphaned(t, "echo $$ > DIR/pid; : > DIR/ready; while :; do echo much; done", "ready", time.Minute)
	var pid int
	if _, err := fmt.Sscan(textIn(t, dir, "pid"), &pid); err != nil {
		t.Fatal(err)
	}
	adopt(t, dir).End(time.Second)
	if Alive(pid, 0) {
		t.Error("the program runs on")
	}
}

// What runs agent programs start may not take over a run, their own or another.
func TestARunCannotBeAdoptedFromWithinARun(t *testing.T) {
	t.Parallel()
	dir := orphaned(t, "echo $$ > DIR/pid; : > DIR/ready; exec sleep 1000", "ready", time.Minute)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	res := Run(t.Context(), script(programVariable+"=adopt exec "+self+" "+dir+"/s"), Spec{Reaper: reaperOfTests})
	if !strings.HasPrefix(res.Final, ErrNotKept.Error()) {
		t.Errorf("got %+v", res)
	}
	adopt(t, dir).End(time.Second)
}

// connectAndEnd connects to the reaper of a run and ends; a child has the connection then.
func connectAndEnd() {
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		panic(err)
	}
	f, err := conn.(*net.UnixConn).File()
	if err != nil {
		panic(err)
	}
	heir := exec.Command("sleep", "1000")
	heir.ExtraFiles = []*os.File{f}
	if err := heir.Start(); err != nil {
		panic(err)
	}
	fmt.Print(heir.Process.Pid)
	os.Exit(0)
}

// Who has connected and is gone has no ancestors: that says nothing of the one who asks.
func TestARunCannotBeAdoptedForAProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := listen(filepath.Join(dir, "s"))
	defer l.Close()
	gone := exec.Command(self, filepath.Join(dir, "s"))
	gone.Env = append(os.Environ(), programVariable+"=connect")
	out, err := gone.Output()
	var heir int
	if _, scan := fmt.Sscan(string(out), &heir); err != nil || scan != nil {
		t.Fatal(err, scan)
	}
	defer syscall.Kill(heir, syscall.SIGKILL)
	fd, _, err := unix.Accept4(int(l.Fd()), unix.SOCK_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if maySucceed(fd) {
		t.Error("it may have the run")
	}
}

// asking is the script of a program of the Agent Client Protocol that asks n times and reads nothing.
func asking(n int) string {
	return fmt.Sprintf(`echo $$ > DIR/pid; i=0; while [ $i -lt %d ]; do i=$((i+1)); printf '{"jsonrpc":"2.0","id":"%%s%s","method":"no/such/method","params":{}}\n' $i; done`, n, strings.Repeat("0", 100))
}

type acpLike struct{ fakeAdapter }

func (a acpLike) Command(s Spec) (Command, error) {
	c, err := a.fakeAdapter.Command(s)
	c.Stdin, c.dialogue = true, newACP(s)
	return c, err
}

// The end of a run waits for nothing that the run controls: here for room in the input of a program that does not read.
func TestAProgramThatAsksAndNeverReadsIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan Result, 1)
	go func() {
		ended <- Run(ctx, acpLike{fakeAdapter{script: strings.ReplaceAll(asking(5000)+"; : > DIR/asked; exec sleep 1000", "DIR", dir)}}, Spec{Reaper: reaperOfTests, Prompt: "Do it.", KillGrace: 100 * time.Millisecond,
			Keep: &Keep{Socket: listen(filepath.Join(dir, "s")), Wait: time.Minute}})
	}()
	eventually(t, "all that it asks", func() bool { _, err := os.Stat(filepath.Join(dir, "asked")); return err == nil })
	stop()
	select {
	case res := <-ended:
		if res.Outcome != Killed || len(res.Left) > 0 {
			t.Errorf("got %+v", res)
		}
	case <-time.After(time.Minute):
		var pid int
		if _, err := fmt.Sscan(textIn(t, dir, "pid"), &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		t.Fatal("it is not ended")
	}
}

// The same is true where the supervisor was killed: its reaper hears that, and ends the run when nobody comes.
func TestAProgramThatNeverReadsIsEndedAfterItsSupervisor(t *testing.T) {
	t.Parallel()
	dir := orphaned(t, asking(5000)+"; : > DIR/asked; exec sleep 1000", "asked", 200*time.Millisecond, "LIZA_TEST_ACP=1")
	var pid int
	if _, err := fmt.Sscan(textIn(t, dir, "pid"), &pid); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the program", func() bool { return !Alive(pid, 0) })
}

func TestOfVeryMuchOutputTheEndIsKept(t *testing.T) {
	t.Parallel()
	dir := orphaned(t, "read -r p; yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678 | head -c 50000000; : > DIR/ready; until [ -e DIR/go ]; do sleep 0.01; done; echo end", "ready", time.Minute)
	scriptFile(t, dir, "go", "")
	a := adopt(t, dir)
	a.Retell = true
	var rest strings.Builder
	res := Run(t.Context(), fakeAdapter{}, Spec{Adopted: a, Output: &rest})
	defer res.Recorded()
	if n := rest.Len(); res.Outcome != Finished || !strings.HasSuffix(res.Final, "5678\nend\n") || n < keptHalf || n > 2*keptHalf+100 {
		t.Errorf("got %d bytes, and %s with %q", n, res.Outcome, res.Final[max(0, len(res.Final)-20):])
	}
}

// What a kept run prints goes through its reaper.
func BenchmarkOutputOfAKeptRun(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%t", kept), func(b *testing.B) {
			dir, err := os.MkdirTemp("/tmp", "liza-keep-")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			b.SetBytes(50_000_000)
			for n := range b.N {
				s := Spec{Reaper: reaperOfTests, Output: io.Discard}
				if kept {
					s.Keep = &Keep{Socket: listen(filepath.Join(dir, fmt.Sprint(n))), Wait: time.Minute}
				}
				res := Run(b.Context(), script("yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678 | head -c 50000000"), s)
				if res.Outcome != Finished {
					b.Fatalf("got %+v", res)
				}
				if kept {
					res.Recorded()
				}
			}
		})
	}
}

const serverPort = 3000

// serveOnce is a server at serverPort that says its folder, until the file stop is there.
func serveOnce() {
	for _, address := range []string{fmt.Sprintf("127.0.0.1:%d", serverPort), "[::1]:3001"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			panic(err)
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				wd, _ := os.Getwd()
				fmt.Fprint(conn, wd)
				conn.Close()
			}
		}()
	}
	_ = os.WriteFile("ready", nil, 0o600)
	for {
		if _, err := os.Stat("stop"); err == nil {
			os.Exit(0)
		}
		syscall.Nanosleep(&syscall.Timespec{Nsec: 10_000_000}, nil)
	}
}

// serving starts a run at closed with such a server. It returns the socket of its reaper and the folder of the run.
func serving(t *testing.T, kept bool) (socket, dir string, end func()) {
	t.Helper()
	spec, dir := walled(t, sandbox.Closed, sandbox.Limits{})
	short, err := os.MkdirTemp("/tmp", "liza-door-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	socket = filepath.Join(short, "s")
	if spec.Door = listen(socket); kept {
		spec.Keep, spec.Door = &Keep{Socket: spec.Door, Facts: []byte("facts"), Wait: time.Minute}, nil
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan Result, 1)
	go func() {
		ended <- Run(t.Context(), script(programVariable+"=serve exec "+self), spec)
		if spec.Door.Close(); kept {
			spec.Keep.Socket.Close()
		}
	}()
	eventually(t, "the server listens", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	return socket, dir, func() {
		scriptFile(t, dir, "stop", "")
		if res := <-ended; res.Outcome != Finished {
			t.Errorf("the run ended with %+v", res)
		} else if kept {
			res.Recorded()
		}
	}
}

func said(t *testing.T, socket string, port int) string {
	t.Helper()
	conn, err := Dial(socket, port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAServerInsideIsReachedThroughTheReaperOfItsRun(t *testing.T) {
	t.Parallel()
	one, first, endOne := serving(t, true)
	two, second, endTwo := serving(t, false)
	for socket, dir := range map[string]string{one: first, two: second} {
		if got := said(t, socket, serverPort); got != dir {
			t.Errorf("port %d of the run in %s is that of %s", serverPort, dir, got)
		}
		if got := said(t, socket, 3001); got != dir {
			t.Errorf("at ::1 it says %s", got)
		}
	}
	if ports, err := Listening(one); err != nil || !slices.Equal(ports, []int{serverPort, 3001}) {
		t.Errorf("listening are %v, %v", ports, err)
	}
	if _, err := Dial(one, 3002); !errors.Is(err, ErrRefused) {
		t.Errorf("where nothing listens: %v", err)
	}
	if _, err := Adopt(two); !errors.Is(err, ErrNotKept) {
		t.Errorf("a run that is not kept is adopted: %v", err)
	}
	endOne()
	eventually(t, "the end of its reaper", func() bool { _, err := Dial(one, serverPort); return errors.Is(err, ErrNotKept) })
	if got := said(t, two, serverPort); got != second {
		t.Errorf("after the end of the other: %s", got)
	}
	endTwo()
}

// What runs agent programs start may not connect to servers of runs, their own or another.
func TestAServerInsideIsNotReachedFromWithinARun(t *testing.T) {
	t.Parallel()
	socket, _, end := serving(t, true)
	defer end()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	res := Run(t.Context(), script(programVariable+"=dial exec "+self+" "+socket), Spec{Reaper: reaperOfTests})
	if !strings.HasPrefix(res.Final, ErrNotKept.Error()) {
		t.Errorf("got %+v", res)
	}
}

func TestAServerInsideIsNotReachedByAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: only root can be another user")
	}
	socket, _, end := serving(t, true)
	defer end()
	as := func(uid int) error {
		failed := make(chan error)
		go func() {
			runtime.LockOSThread() // and this thread ends with its user
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
				failed <- errno
				return
			}
			_, err := Dial(socket, serverPort)
			failed <- err
		}()
		return <-failed
	}
	const nobody = 65534
	if err := as(nobody); !errors.Is(err, ErrNotKept) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("by the folder of the run: %v", err)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(socket), 0o755), os.Chmod(socket, 0o777)); err != nil {
		t.Fatal(err)
	}
	if err := as(nobody); !errors.Is(err, ErrNotKept) {
		t.Errorf("where the folder were open: %v", err)
	}
	if err := as(0); err != nil {
		t.Errorf("the person: %v", err)
	}
}
