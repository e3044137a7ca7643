package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Enter is the whole of the launcher, a hidden command of liza-spawn, and of liza before everything else: it drops the
// privileges that the program must not have. Then it becomes the program (partial), or its parent, which forwards the proxy
// and records the end of the program (closed). It returns the exit code.
func Enter(args []string) int {
	runtime.LockOSThread() // what is given up here must be so for the thread that starts the program
	var l launch
	given := json.NewDecoder(strings.NewReader(args[0]))
	given.DisallowUnknownFields() // of a wall that this program does not know in full none is made
	err := given.Decode(&l)
	if err == nil {
		var code int
		if code, err = l.enter(args[2:]); err == nil {
			return code
		}
	}
	fmt.Fprintf(os.Stderr, "cannot contain %s: %v\nnext: liza doctor\n", l.Path, err)
	return CannotEnter
}

func (l launch) enter(argv []string) (int, error) {
	// A program starts with none of them ignored; this process is asked to end only because the program is, too.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP)
	status, asked := statusPipe(), doorSocket()
	if err := closeInherited(); err != nil {
		return 0, err
	}
	if l.Level == Closed && status != nil && asked != nil {
		go l.answerAtDoor(asked)
	}
	if l.Level == Closed && l.Proxy != "" {
		var listen net.ListenConfig
		listen.SetMultipathTCP(false)
		listener, err := listen.Listen(context.Background(), "tcp4", ForwardAddress)
		if err != nil {
			return 0, fmt.Errorf("cannot listen for the proxy: %v", err)
		}
		go forward(listener, l.Proxy)
		for _, port := range l.Local {
			if err := forwardLocal(port, l.Proxy); err != nil {
				return 0, err
			}
		}
	}
	if l.Level == Closed && l.Limits.Processes > 0 {
		haveThreads(8)
	}
	if err := l.limit(); err != nil {
		return 0, err
	}
	if l.Level == Partial {
		if err := dropCapabilities(); err != nil {
			return 0, err
		}
	}
	if err := l.confine(); err != nil {
		return 0, err
	}
	if err := filterCalls(l.traces()); err != nil {
		return 0, err
	}
	if l.Level == Partial {
		return 0, cannotStart(l.Path, syscall.Exec(l.Path, argv, os.Environ()))
	}
	// The program, which is of the same user and behind the same wall, gets at neither our memory nor our files.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("cannot hide from the program: %v", err)
	}
	pid, err := syscall.ForkExec(l.Path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, cannotStart(l.Path, err)
	}
	return report(status, wait(pid)), nil
}

// haveThreads makes so many threads, which are kept: one that could not be made later, because the program has
// taken all that the run may have, would end this process and all of the wall with it.
func haveThreads(n int) {
	var running, over sync.WaitGroup
	running.Add(n)
	for range n {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			running.Done()
			running.Wait()
		})
	}
	over.Wait()
}

func cannotStart(path string, err error) error {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("'%s', or the interpreter that it names, cannot be seen inside the wall", path)
	}
	return fmt.Errorf("cannot start '%s': %v", path, err)
}

// statusFD is the file on which the parent of the sandbox receives the end of the program: bubblewrap does not distinguish a
// signal from an exit code above 128.
const statusFD = 3

// statusPipe is nil when nobody listens.
func statusPipe() *os.File {
	var stat unix.Stat_t
	if err := unix.Fstat(statusFD, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(statusFD)
	return os.NewFile(statusFD, "status")
}

// doorFD is the socket on which the reaper asks for connections to servers of the run: only this process, which is inside, can make
// them. The program gets neither the socket nor at this process.
const doorFD = 4

// doorSocket is nil when nobody asks.
func doorSocket() *net.UnixConn {
	if kind, err := unix.GetsockoptInt(doorFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_SEQPACKET {
		return nil
	}
	file := os.NewFile(doorFD, "door")
	defer file.Close()
	conn, err := net.FileConn(file) // a copy that is not inherited
	if err != nil {
		return nil
	}
	door, _ := conn.(*net.UnixConn)
	return door
}

// answerAtDoor answers one request after the other: a port, with a connection to it, or 0, with the ports on which servers listen.
func (l launch) answerAtDoor(door *net.UnixConn) {
	request := make([]byte, 16)
	for {
		n, err := door.Read(request)
		if n == 0 || err != nil {
			return
		}
		if port, _ := strconv.Atoi(string(request[:n])); port > 0 {
			err = passConnection(door, port)
		} else {
			_, err = fmt.Fprintln(door, l.listening())
		}
		if err != nil {
			return
		}
	}
}

// passConnection passes a connection to a port of the loopback device through the door, or says there that nothing takes one.
func passConnection(door *net.UnixConn, port int) error {
	for _, host := range []string{"127.0.0.1", "::1"} { // a server that listens on "localhost" may have either
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(port)), doorTime)
		if err != nil {
			continue
		}
		defer conn.Close()
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		return errors.Join(raw.Control(func(fd uintptr) {
			_, _, err = door.WriteMsgUnix([]byte("connected"), unix.UnixRights(int(fd)), nil)
		}), err)
	}
	_, err := door.Write([]byte("refused"))
	return err
}

// listening returns the ports on which the run listens, the lowest ones of many.
func (l launch) listening() string {
	var ports []int
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			const listens = "0A"
			if f := strings.Fields(line); len(f) > 3 && f[3] == listens {
				_, hex, _ := strings.Cut(f[1], ":")
				port, _ := strconv.ParseUint(hex, 16, 16)
				ports = append(ports, int(port))
			}
		}
	}
	slices.Sort(ports)
	ports = slices.DeleteFunc(slices.Compact(ports), func(port int) bool {
		return port == 0 || strings.HasSuffix(ForwardAddress, ":"+strconv.Itoa(port)) || slices.Contains(l.Local, port)
	})
	return strings.Trim(fmt.Sprint(ports[:min(len(ports), mostListed)]), "[]")
}

const mostListed = 64

// doorTime is how long a connection may take: a server that takes none has a queue that is full.
const doorTime = time.Second

// closeInherited closes files that a parent left open by chance: through a folder among them, a program could look outside.
// Our own are those that the start of a program would close anyway.
func closeInherited() error {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("cannot look for open files: %v", err)
	}
	for _, n := range names {
		fd, _ := strconv.Atoi(n.Name())
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// report reports the end of the program, and returns our exit code.
func report(to *os.File, status syscall.WaitStatus) int {
	if to != nil {
		_, _ = to.WriteString(strconv.Itoa(int(status)))
	}
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func wait(pid int) syscall.WaitStatus {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			return status
		}
	}
}

// keptCapabilities let root work with files of other users, which Landlock judges all the same. Those for other owners and
// for setuid files are not among them: the filter refuses both.
var keptCapabilities = []int{unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}

// dropCapabilities drops the privileges of root. At closed bubblewrap has done it.
func dropCapabilities() error {
	var kept uint32
	for _, c := range keptCapabilities {
		kept |= 1 << c
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("cannot read the capabilities: %v", err)
	}
	if data[0].Permitted|data[1].Permitted == 0 {
		return nil
	}
	for c := range unix.CAP_LAST_CAP + 1 {
		if kept&(1<<c) == 0 || c >= 32 {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) // without CAP_SETPCAP the set below does, but for root
		}
	}
	data[0].Permitted &= kept
	data[0].Effective &= kept
	data[0].Inheritable = 0
	data[1] = unix.CapUserData{}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("cannot give up capabilities: %v", err)
	}
	return nil
}
