package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack is the program of the tests inside a wall: it tries what it is given, and prints for each what the system
// said, "" when it was done.
func attack(given string) {
	runtime.LockOSThread()
	var tests map[string][]string
	if err := json.Unmarshal([]byte(given), &tests); err != nil {
		fmt.Println(err)
		return
	}
	said := map[string]string{}
	for what, args := range tests {
		try, ok := attacks[args[0]]
		if !ok {
			continue
		}
		said[what] = ""
		if err := try(args[1:]); err != nil {
			said[what] = err.Error()
		}
		_, _ = os.Remove("out"), os.Remove("linked")
	}
	_ = json.NewEncoder(os.Stdout).Encode(said)
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func socket(family, kind, protocol int) func([]string) error {
	return func([]string) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func text(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(&b[0]))
}

// attacks are what the table below tries, each with its own arguments.
var attacks = map[string]func(args []string) error{
	"read":   func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	"list":   func(a []string) error { _, err := os.ReadDir(a[0]); return err },
	"write":  func(a []string) error { return os.WriteFile(a[0], []byte("x"), 0o644) },
	"append": func(a []string) error { f, err := os.OpenFile(a[0], os.O_APPEND|os.O_WRONLY, 0); f.Close(); return err },
	"empty":  func(a []string) error { return os.Truncate(a[0], 0) },
	"remove": func(a []string) error { return os.RemoveAll(a[0]) },
	"rename": func(a []string) error { return os.Rename(a[0], a[1]) },
	"link":   func(a []string) error { return os.Link(a[0], a[1]) },
	"mkdir":  func(a []string) error { return os.Mkdir(a[0], 0o755) },
	"chmod":  func(a []string) error { return os.Chmod(a[0], 0o777) },
	"through": func(a []string) error { // a symbolic link of its own
		if err := os.Symlink(a[0], "out"); err != nil {
			return err
		}
		return os.WriteFile("out", []byte("x"), 0o644)
	},
	"signal":       func(a []string) error { pid, _ := strconv.Atoi(a[0]); return unix.Kill(pid, unix.SIGUSR1) },
	"process file": func(a []string) error { _, err := os.ReadFile("/proc/" + a[0] + "/" + a[1]); return err },
	"process memory": func(a []string) error {
		f, err := os.OpenFile("/proc/"+a[0]+"/mem", os.O_RDWR, 0)
		f.Close()
		return err
	},
	"process root": func(a []string) error { _, err := os.ReadDir("/proc/" + a[0] + "/root/"); return err },
	"limit of others": func(a []string) error {
		pid, _ := strconv.Atoi(a[0])
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	},
	"limit raised": func([]string) error {
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	},
	"ptrace":            func(a []string) error { pid, _ := strconv.Atoi(a[0]); return unix.PtraceAttach(pid) },
	"ptrace the parent": func([]string) error { return unix.PtraceAttach(os.Getppid()) },
	"vm read": func(a []string) error {
		pid, _ := strconv.Atoi(a[0])
		var x [1]byte
		local := unix.Iovec{Base: &x[0], Len: 1}
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&x[0])), Len: 1}}, 0)
		return err
	},
	"mount":         func([]string) error { return unix.Mount("none", os.Getenv("TMPDIR"), "tmpfs", 0, "") },
	"remount":       func([]string) error { return unix.Mount("none", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"umount":        func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
	"fsopen":        func([]string) error { return call(unix.SYS_FSOPEN, text("tmpfs")) },
	"open_tree":     func([]string) error { return call(unix.SYS_OPEN_TREE, 0, text("/"), 1) },
	"unshare user":  func([]string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"unshare mount": func([]string) error { return unix.Unshare(unix.CLONE_NEWNS) },
	"clone user": func([]string) error {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	},
	"clone3": func([]string) error {
		var a [11]uint64
		a[0] = unix.CLONE_NEWUSER
		return call(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&a)), 88)
	},
	"setns":  func([]string) error { return unix.Setns(0, unix.CLONE_NEWNET) },
	"chroot": func([]string) error { return unix.Chroot("/usr") },
	"keyctl": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	},
	"bpf":         func([]string) error { return call(unix.SYS_BPF, 0, 0, 0) },
	"perf":        func([]string) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
	"userfaultfd": func([]string) error { return call(unix.SYS_USERFAULTFD, 1) },
	"io_uring": func([]string) error {
		var p [120]byte
		return call(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(&p)))
	},
	"module":                   func([]string) error { return call(unix.SYS_INIT_MODULE, 0, 0, text("")) },
	"kexec":                    func([]string) error { return call(unix.SYS_KEXEC_LOAD) },
	"reboot":                   func([]string) error { return call(unix.SYS_REBOOT) },
	"clock":                    func([]string) error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{}) },
	"host name":                func([]string) error { return unix.Sethostname([]byte("x")) },
	"by handle":                func([]string) error { return call(unix.SYS_OPEN_BY_HANDLE_AT) },
	"device":                   func(a []string) error { return unix.Mknod(a[0], unix.S_IFBLK|0o666, 0x800) },
	"kernel log":               func([]string) error { _, err := unix.Klogctl(3, make([]byte, 10)); return err },
	"sysctl":                   func([]string) error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/bin/x"), 0) },
	"processors of interrupts": func([]string) error { return os.WriteFile("/proc/irq/default_smp_affinity", []byte("3"), 0) },
	"sysrq":                    func([]string) error { return os.WriteFile("/proc/sysrq-trigger", []byte("h"), 0) },
	"typed": func([]string) error {
		c := byte('x')
		return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	},
	"typed, as 64 bits": func([]string) error {
		c := byte('x')
		return call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<40, uintptr(unsafe.Pointer(&c)))
	},
	"x32":       func([]string) error { return call(x32Bit | unix.SYS_GETPID) },
	"raw":       socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	"raw flags": socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP),
	"packet":    socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0x0300),
	"vsock":     socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	"crypto":    socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	"bluetooth": socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1),
	"mptcp":     socket(unix.AF_INET, unix.SOCK_STREAM, 262),
	"sctp":      socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP),
	"netfilter": socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
	"tcp":       func(a []string) error { c, err := net.DialTimeout("tcp", a[0], 2*time.Second); closeAny(c); return err },
	"udp": func(a []string) error {
		c, err := net.Dial("udp", a[0])
		if err != nil {
			return err
		}
		_, _ = c.Write([]byte("x"))
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, err = c.Read(make([]byte, 1))
		return err
	},
	"write by a hard link": func(a []string) error {
		if err := os.Link(a[0], "linked"); err != nil {
			return err
		}
		return os.WriteFile("linked", []byte("x"), 0)
	},
	"files of the parent": func([]string) error {
		if os.Getppid() == 1 { // at partial it is the parent of the wall
			return errors.New("none")
		}
		_, err := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/fd/1")
		return err
	},
	"memory of the parent": func([]string) error {
		f, err := os.OpenFile("/proc/"+strconv.Itoa(os.Getppid())+"/mem", os.O_RDWR, 0)
		f.Close()
		return err
	},
	"crowd": func(a []string) error { // as many processes as there may be, and then many connections
		haveThreads(16) // none can be made later, for this process no more than for others
		var crowd []*exec.Cmd
		for range 200 {
			x := exec.Command("/usr/bin/sleep", "20")
			if x.Start() != nil {
				break
			}
			crowd = append(crowd, x)
		}
		defer func() {
			for _, x := range crowd {
				_ = x.Process.Kill()
				_ = x.Wait()
			}
		}()
		if len(crowd) == 200 {
			return errors.New("there is no limit")
		}
		var open []net.Conn
		for range 50 {
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return err
			}
			defer c.Close()
			open = append(open, c)
		}
		for _, c := range open {
			_, _ = c.Write([]byte("x"))
			if answer, err := io.ReadAll(c); err != nil || string(answer) != "of the proxy: x" {
				return fmt.Errorf("got %q, %v", answer, err)
			}
		}
		return nil
	},
	"unix": func(a []string) error { c, err := net.Dial("unix", a[0]); closeAny(c); return err },
}

func closeAny(c io.Closer) {
	if c != nil && c != (*net.TCPConn)(nil) {
		_ = c.Close()
	}
}

// An outsider is a process beside the wall, of the same user, with something to lose.
func (p place) outsider() (pid string) {
	p.t.Helper()
	x := exec.Command("sleep", "1000")
	x.Env = []string{"SECRET=of-the-supervisor"}
	x.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: 0, Setsid: true}
	if p.uid > 0 {
		x.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
	}
	if err := x.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = x.Wait(); close(ended) }()
	p.t.Cleanup(func() {
		select {
		case <-ended:
			p.t.Error("the process beside the wall was ended")
		default:
			_ = x.Process.Kill()
			<-ended
		}
	})
	return strconv.Itoa(x.Process.Pid)
}

// servers are what a run must not reach: TCP, UDP, a socket by its path and one by an abstract name.
func (p place) servers() (tcp, udp, path, abstract string) {
	p.t.Helper()
	serve := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
		return l.Addr().String()
	}
	echo, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { echo.Close() })
	go func() {
		for buffer := make([]byte, 10); ; {
			n, from, err := echo.ReadFrom(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			_, _ = echo.WriteTo(buffer[:n], from)
		}
	}()
	path = serve("unix", p.path("bus.sock"))
	if err := os.Chmod(path, 0o777); err != nil {
		p.t.Fatal(err)
	}
	return serve("tcp", "127.0.0.1:0"), echo.LocalAddr().String(), path, serve("unix", "@wall"+filepath.Base(p.root))
}

// terminal is the path of one beside the wall.
func (p place) terminal() string {
	p.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		p.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		p.t.Fatal(err)
	}
	return "/dev/pts/" + strconv.Itoa(n)
}

// atPartial says what is not stopped there. Everything else is refused at both levels.
var atPartial = map[string]string{
	"tcp to this machine":            "the network is the machine's",
	"udp to this machine":            "the network is the machine's",
	"a socket by its path":           "Landlock guards the paths of sockets from version 9 on only",
	"rights of the board's file":     "Landlock knows no right to change the mode of a file",
	"rights of a file of the person": "Landlock knows no right to change the mode of a file",
}

func TestEscapesAreRefused(t *testing.T) {
	t.Parallel()
	for _, traces := range []bool{false, true} {
		t.Run(fmt.Sprint("traces ", traces), func(t *testing.T) { escapesAreRefused(t, traces) })
	}
}

func escapesAreRefused(t *testing.T, traces bool) {
	levels(t, func(t *testing.T, p place) {
		p.spec.Traces = traces
		pid := p.outsider()
		tcp, udp, path, abstract := p.servers()
		own, terminal := p.spec.Dir, p.terminal()
		board, neighbour := p.path("repo/.liza/state.yaml"), p.path("repo/.worktrees/two/file")
		tests := map[string][]string{
			"edit the board":                   {"write", board},
			"append to the board":              {"append", board},
			"empty the board":                  {"empty", board},
			"read the board":                   {"read", board},
			"delete the folder of the board":   {"remove", p.path("repo/.liza")},
			"replace the board":                {"rename", own + "/file", board},
			"a new file beside the board":      {"write", p.path("repo/.liza/ABORT")},
			"a hard link to the board":         {"link", board, own + "/board"},
			"a hard link to what may be read":  {"write by a hard link", p.path("repo/README")},
			"the launcher's memory":            {"memory of the parent"},
			"a link out of the worktree":       {"through", p.path("home/.bashrc")},
			"a link to the board":              {"through", board},
			"write the main checkout":          {"write", p.path("repo/README")},
			"empty the main checkout":          {"empty", p.path("repo/README")},
			"a new file in the main checkout":  {"write", p.path("repo/new")},
			"write a neighbour's worktree":     {"write", neighbour},
			"read a neighbour's worktree":      {"read", neighbour},
			"write the person's files":         {"write", p.path("home/.bashrc")},
			"read a secret of the person":      {"read", p.path("home/.ssh/id")},
			"list the person's home":           {"list", p.path("home")},
			"change settings of the program":   {"write", p.spec.Home + "/.agent/settings.json"},
			"settings by their true path":      {"write", p.path("home/.agent/settings.json")},
			"replace a mounted session folder": {"rename", p.spec.Home + "/.agent/sessions", p.path("home/.agent/hooks")},
			"beside the session folder":        {"write", p.path("home/.agent/hooks")},
			"a name in the folder of the run":  {"write", p.path("run/new")},
			"the program liza":                 {"write", p.spec.Liza},
			"a folder in /":                    {"mkdir", "/new"},
			"a file in /dev":                   {"write", "/dev/new"},
			"memory of the machine":            {"read", "/dev/mem"},
			"the log of the kernel":            {"read", "/dev/kmsg"},
			"the machine's devices":            {"list", "/dev/block"},
			"a terminal of the person":         {"read", terminal},
			"files of the launcher":            {"files of the parent"},
			"a file in /etc":                   {"write", "/etc/new"},
			"passwords":                        {"read", "/etc/shadow"},
			"rights of the board's file":       {"chmod", board},
			"rights of a file of the person":   {"chmod", p.path("home/.bashrc")},

			"a signal to the supervisor":    {"signal", pid},
			"a signal to process 1":         {"signal", "1"},
			"environment of the supervisor": {"process file", pid, "environ"},
			"memory of the supervisor":      {"process memory", pid},
			"files of the supervisor":       {"process root", pid},
			"limits of the supervisor":      {"limit of others", pid},
			"ptrace":                        {"ptrace", pid},
			"ptrace of process 1":           {"ptrace", "1"},
			"ptrace of the launcher":        {"ptrace the parent"},
			"memory by process_vm_readv":    {"vm read", pid},

			"tcp to this machine":    {"tcp", tcp},
			"udp to this machine":    {"udp", udp},
			"a socket by its path":   {"unix", path},
			"an abstract socket":     {"unix", abstract},
			"a device":               {"device", own + "/disk"},
			"umount of the worktree": {"umount", own},
		}
		for _, name := range []string{"mount", "remount", "fsopen", "open_tree", "unshare user", "unshare mount", "clone user", "clone3", "setns", "chroot", "keyctl", "bpf", "perf", "userfaultfd",
			"io_uring", "module", "kexec", "reboot", "clock", "host name", "by handle", "kernel log", "sysctl", "processors of interrupts", "sysrq", "typed", "typed, as 64 bits", "raw", "raw flags", "packet", "vsock",
			"crypto", "bluetooth", "mptcp", "sctp", "netfilter"} {
			tests[name] = []string{name}
		}
		if runtime.GOARCH == "amd64" {
			tests["x32"] = []string{"x32"}
		}
		given, err := json.Marshal(tests)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := p.run(p.spec.Liza, "attack", string(given))
		said := map[string]string{}
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatalf("the attacks ended early: %v\n%s", err, out)
		}
		for what := range tests {
			refusal, tried := said[what]
			hole, known := atPartial[what]
			known = known && p.spec.Level == Partial
			switch {
			case !tried:
				t.Errorf("%s: was not tried", what)
			case refusal == "" && !known:
				t.Errorf("%s: was done, want it refused", what)
			case refusal != "" && known && !strings.HasPrefix(what, "a socket by"):
				t.Errorf("%s: was refused (%s), but it is said that it is not: %s", what, refusal, hole)
			}
		}
		for file, want := range map[string]string{board: "the board\n", neighbour: "of a neighbour\n", p.path("home/.bashrc"): "of the person\n", p.path("home/.agent/settings.json"): "settings\n", p.path("repo/README"): "of the repository\n"} {
			if data, err := os.ReadFile(file); err != nil || string(data) != want {
				t.Errorf("%s is now %q, %v", file, data, err)
			}
		}
	})
}

func TestAWallShowsNothingOfOtherProcessesAndFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Closed)
	pid := p.outsider()
	shared := "/tmp/of-all-" + filepath.Base(p.root)
	for script, want := range map[string]string{
		"cat /proc/[0-9]*/environ 2>/dev/null | grep -c SECRET": "0\n",
		"test -e /proc/" + pid + "/stat && ps $PPID":            "",
		"ls -A $ROOT": "liza\nprivate\nrepo\nrun\n",
		"ls -A $ROOT/repo/.liza; ls -A $ROOT/repo/.worktrees; ls -A $ROOT/home": "one\n",
		"ls -A /":                                      "",
		"echo x > " + shared + "; cat " + shared:       "x\n",
		"ls /proc/self/fd":                             "0\n1\n2\n3\n",
		"grep -v lo: /proc/net/dev | tail -n +3":       "",
		"grep CapEff /proc/self/status":                "CapEff:\t0000000000000000\n",
		"cat /proc/self/status | grep -c 'Seccomp:.2'": "1\n",
	} {
		out, _ := p.sh(script + " 2>/dev/null")
		if script == "ls -A /" {
			for _, name := range strings.Fields(out) {
				if !strings.Contains(" bin dev etc lib lib32 lib64 libx32 opt proc sbin srv tmp usr ", " "+name+" ") && !strings.HasPrefix(p.root, "/"+name) {
					t.Errorf("/%s is there", name)
				}
			}
			continue
		}
		if out != want {
			t.Errorf("%s: got %q, want %q", script, out, want)
		}
	}
	if _, err := os.Stat(shared); err == nil {
		t.Errorf("%s was written outside", shared)
	}
}

// What the filter refuses by its arguments root may not do by a capability either.
func TestRootAtPartialKeepsNoCapabilityForWhatTheFilterRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, Partial)
	want := "0000000000000000\n"
	if os.Getuid() == 0 { // CAP_DAC_OVERRIDE and CAP_FOWNER
		want = "000000000000000a\n"
	}
	if out, _ := p.sh("sed -n 's/^CapEff:\t//p' /proc/self/status"); out != want {
		t.Errorf("the capabilities are %s, want %s", out, want)
	}
}

func TestAProgramHasNoFilesThatWereLeftOpenAbove(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, p place) {
		dir, err := os.Open("/")
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		x := p.command("ls", "/proc/self/fd")
		x.ExtraFiles = []*os.File{dir, dir}
		if out, err := x.Output(); err != nil || string(out) != "0\n1\n2\n3\n" {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

// What is shown inside a folder that outlives its runs is put at a place that a former run could make a link.
func TestNothingIsMadeThroughALinkOfAFormerRun(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Closed, Partial} {
		for _, above := range []string{"/oldroot", "../../../../../../../../oldroot", ""} {
			t.Run(string(level)+above, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, level)
				p.file("kept/x", "")
				p.file("home/.agent/sub/login", "login\n")
				p.spec.HomeRead, p.spec.HomeWrite = append(p.spec.HomeRead, ".agent/sub/login"), nil
				made := p.path("repo/.liza/ABORT")
				err := errors.Join(os.Symlink(above+made, p.path("kept/settings.json")), os.Symlink(above+p.path("run"), p.path("kept/sub")))
				if level == Closed {
					p.spec.Over = []Mount{{p.path("kept"), p.path("private/home/.agent")}}
				} else {
					p.spec.Write, err = append(p.spec.Write, p.path("kept")), errors.Join(err, os.Symlink(p.path("kept"), p.path("private/home/.agent")))
				}
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // there are the places of the first run in the second
					if out, code := p.sh("cat ~/.agent/settings.json ~/.agent/sub/login"); code != 0 || out != "settings\nlogin\n" {
						t.Errorf("exit code %d: %s", code, out)
					}
				}
				for _, path := range []string{made, p.path("run/login")} {
					if _, err := os.Lstat(path); err == nil {
						t.Errorf("%s was made", path)
					}
				}
			})
		}
	}
	t.Run("in a folder of the person", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, Closed)
		p.spec.Write, p.spec.Read = append(p.spec.Write, p.path("home/data")), append(p.spec.Read, p.path("home/data/sub/login"))
		p.file("home/data/login", "")
		if err := os.Symlink("/oldroot"+p.path("repo"), p.path("home/data/sub")); err != nil {
			t.Fatal(err)
		}
		if _, err := p.spec.Command(Detect(t.Context()), "/bin/sh", []string{"sh"}, nil); err == nil || !strings.Contains(err.Error(), "/home/data/sub', in a folder that it may write, is a symbolic link") {
			t.Errorf("got %v", err)
		}
	})
}
