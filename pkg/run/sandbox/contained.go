package sandbox

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// wallCommand is the hidden command that enters the wall.
const wallCommand = "wall"

// Command returns the command that runs the program at path as the Spec says. At closed and partial its environment is env
// with HOME, the folder for temporary files and the proxy of the sandbox.
//
// It makes the control groups named in Contained.Groups, and at partial links in Home; it changes nothing else.
func (s Spec) Command(f Capabilities, path string, argv, env []string) (Contained, error) {
	c := Contained{Path: path, Argv: argv, Env: env}
	switch s.Level {
	case Open:
		return c, nil
	case Wrapped:
		if len(s.Wrap) == 0 {
			return c, fmt.Errorf("sandbox.level is wrap, but sandbox.wrap names no command")
		}
		c.Path, c.Argv = s.Wrap[0], slices.Concat(s.Wrap, []string{path}, argv[min(1, len(argv)):])
		return c, nil
	case Closed, Partial:
	default:
		return c, fmt.Errorf("the level '%s' is not a valid sandbox level", s.Level)
	}
	if err := s.check(path); err != nil {
		return c, err
	}
	s = s.withMachine()
	if s.Level == Closed { // elsewhere nothing is mounted
		if err := s.clearPlaces(path); err != nil {
			return c, err
		}
	}
	groups := f.Cgroups.plan(s.Limits)
	if s.Limits.Processes > 0 && !groups.countsProcesses() && !f.LimitsOwn {
		c.Processes = s.Limits.Processes
	}
	in := s.inside()
	l := launch{Spec: in, Path: in.Place.Inside(path)}
	l.Place = nil // what the launcher has to know has the paths of the inside
	if !groups.countsMemory() {
		l.Data = s.Limits.Memory
	}
	var err error
	if c.Groups, err = groups.make(); err != nil {
		return c, err
	}
	c.Env = s.environment(in.Place.environment(env))
	if err := s.keepPath(c.Env); err != nil {
		return c, fmt.Errorf("cannot fill the private home folder: %v", err)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return c, err
	}
	inside := slices.Concat([]string{in.launcher(), wallCommand, string(data), "--"}, in.Place.Texts(argv))
	if s.Level == Partial {
		c.Path, c.Argv = s.launcher(), inside
		return c, s.fillHome()
	}
	c.Path, c.Wrapper = f.Bwrap, true
	c.Argv = slices.Concat([]string{"bwrap"}, s.bwrap(f), []string{"--"}, inside)
	return c, nil
}

// check returns why the Spec cannot be satisfied.
func (s Spec) check(program string) error {
	for _, folder := range []struct{ what, path string }{{"its working folder", s.Dir}, {"its private home folder", s.Home}, {"its folder for temporary files", s.Tmp}} {
		if info, err := os.Stat(folder.path); err != nil || !info.IsDir() {
			return fmt.Errorf("cannot contain %s: %s '%s' is missing", program, folder.what, folder.path)
		}
	}
	for _, path := range slices.Concat(s.Write, s.homePaths(s.HomeWrite)) {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("cannot contain %s: '%s', which it may write, is missing\nnext: mkdir -p '%s', or take it out of sandbox.allow.write", program, path, path)
		}
	}
	for _, m := range s.Over {
		if info, err := os.Stat(m.Source); s.Level == Closed && (err != nil || !info.IsDir()) {
			return fmt.Errorf("cannot contain %s: the folder '%s', which is shown at '%s', is missing", program, m.Source, m.Target)
		}
	}
	for _, path := range slices.Concat(s.homePaths(s.HomeRead), s.homePaths(s.HomeWrite)) {
		if !within(path, s.Person) || path == s.Person {
			return fmt.Errorf("cannot contain %s: '%s' is not in the home folder '%s'", program, path, s.Person)
		}
	}
	for _, at := range append(s.ours(), program) {
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			return fmt.Errorf("cannot contain %s: %v", program, err)
		}
		if !s.shows(at) || !s.shows(real) {
			return fmt.Errorf("cannot contain %s: '%s' is not among what the wall shows\nnext: add its folder to sandbox.allow.read", program, real)
		}
	}
	return nil
}

// ForwardAddress is the address of the proxy for programs at closed. The loopback device is the sandbox's own, so that the
// port is always free.
const ForwardAddress = "127.0.0.1:39128"

// sessionVariables lead to services of the person's session.
var sessionVariables = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}

// environment is env as it is right inside: folders of the person's home are not theirs there.
func (s Spec) environment(env []string) []string {
	set := []string{"HOME=" + s.at(s.Home), "TMPDIR=" + s.at(s.Tmp)}
	if s.Level == Closed && s.Proxy != "" {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			set = append(set, name+"=http://"+ForwardAddress)
		}
		set = append(set, "NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1")
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "XDG_") && within(value, s.Person) && !s.shows(value) {
			return true
		}
		return slices.Contains(sessionVariables, name) || slices.ContainsFunc(set, func(other string) bool { return strings.HasPrefix(other, name+"=") })
	})
	return append(kept, set...)
}

// bwrap returns the arguments of bubblewrap, without its name and without the command that it starts.
func (s Spec) bwrap(f Capabilities) []string {
	args := s.namespaces(f)
	var closed []string
	for _, m := range s.mounts() {
		switch m.kind {
		case readOnly:
			if real, ok := s.linked(m); ok {
				args = append(args, "--symlink", real, m.target)
				continue
			}
			args = append(args, "--ro-bind-try", m.source, m.target)
		case file:
			args = append(args, "--ro-bind", m.source, m.target)
		case writable, over:
			args = append(args, "--bind", m.source, m.target)
		case hidden:
			if info, err := os.Stat(m.source); err == nil && !info.IsDir() {
				args = append(args, "--ro-bind", "/dev/null", m.target)
				continue
			}
			args = append(args, "--size", "4096", "--tmpfs", m.target)
			closed = append(closed, m.target)
		}
	}
	// The folders that hold mounts are writable memory until they are closed.
	for _, path := range append(closed, "/dev", "/") {
		args = append(args, "--remount-ro", path)
	}
	return append(args, "--chdir", s.at(s.Dir))
}

// namespaces is the part of it that is the same for all: namespaces, no rights, and the system's own files.
func (s Spec) namespaces(f Capabilities) []string {
	args := []string{"--unshare-user", "--unshare-all"}
	if f.DisablesUserns {
		args = append(args, "--disable-userns")
	}
	if s.User != 0 {
		args = append(args, "--uid", strconv.Itoa(s.User), "--gid", strconv.Itoa(s.User))
	}
	// Root keeps all capabilities of its namespace otherwise.
	args = append(args, "--cap-drop", "ALL", "--die-with-parent")
	if !s.Terminal {
		args = append(args, "--new-session")
	}
	args = append(args, "--hostname", "localhost", "--ro-bind", "/usr", "/usr") // a name that /etc/hosts resolves
	for _, link := range usrLinks() {
		if to, err := os.Readlink(link); err == nil {
			args = append(args, "--symlink", to, link)
		} else if _, err := os.Stat(link); err == nil {
			args = append(args, "--ro-bind", link, link)
		}
	}
	size := strconv.FormatInt(s.scratch(), 10)
	args = append(args, "--proc", "/proc")
	if s.traces() && os.Getuid() == 0 { // owns the settings of the kernel
		args = append(args, kernelFiles("/proc")...)
	} else { // of those one names a program, and Landlock is not everywhere
		args = append(args, "--ro-bind-try", "/proc/sys", "/proc/sys")
	}
	return append(args, "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm", "--size", size, "--perms", "1777", "--tmpfs", "/tmp")
}

// traces reports whether the run may trace its processes: it must see no others.
func (s Spec) traces() bool { return s.Traces && s.Level == Closed }

// kernelFiles makes what is in /proc read-only but for the files of processes.
func kernelFiles(proc string) (args []string) {
	entries, _ := os.ReadDir(proc)
	for _, e := range entries {
		_, notPid := strconv.Atoi(e.Name())
		info, err := e.Info()
		const write = 0o222
		if at := filepath.Join(proc, e.Name()); notPid != nil && err == nil && (e.IsDir() || e.Type().IsRegular() && info.Mode()&write != 0) {
			args = append(args, "--ro-bind", at, at)
		}
	}
	return args
}

// forwardLocal makes a port of the machine's loopback one of the wall's: a program that talks to a model on this machine does
// not ask a proxy for it. Each connection goes through the proxy all the same, which knows whether it may.
func forwardLocal(port int, proxy string) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return fmt.Errorf("cannot listen for %s: %v", address, err)
	}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go connect(in, address, proxy)
		}
	}()
	return nil
}

// connect carries one connection through the proxy.
func connect(in net.Conn, address, proxy string) {
	defer in.Close()
	out, err := net.Dial("unix", proxy)
	if err != nil {
		return
	}
	defer out.Close()
	if from, err := askFor(out, address); err == nil {
		carry(in, out, from)
	}
}

// askFor asks a proxy for a tunnel, and returns its reader. It does without net/http, whose libraries would cost the launcher
// as much as all the rest of its start.
func askFor(proxy net.Conn, address string) (io.Reader, error) {
	if _, err := fmt.Fprintf(proxy, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return nil, err
	}
	answer := bufio.NewReader(proxy)
	head := textproto.NewReader(answer)
	status, err := head.ReadLine()
	if err != nil {
		return nil, err
	}
	if _, status, _ = strings.Cut(status, " "); !strings.HasPrefix(status, "200 ") {
		return nil, errors.New(status)
	}
	_, err = head.ReadMIMEHeader()
	return answer, err
}

func (s Spec) launcher() string { return cmp.Or(s.Launcher, s.Liza) }

// ours are the programs of Liza's own that a run gets.
func (s Spec) ours() []string { return slices.Compact([]string{s.Liza, s.launcher()}) }

// shows reports whether a path can be seen inside.
func (s Spec) shows(path string) bool {
	for _, top := range slices.Concat(s.Read, s.Write, s.Tools, s.ours(), machineFolders, []string{s.Home, s.Tmp, "/usr"}, usrLinks()) {
		if within(path, top) {
			return true
		}
	}
	return false
}

// usrLinks are the folders beside /usr that a system with a merged /usr has as links.
func usrLinks() []string { return []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} }

// defaultScratch bounds /tmp and /dev/shm, which are kept in memory, where no limit does.
const defaultScratch = 2 << 30

func (s Spec) scratch() int64 { return cmp.Or(s.Limits.Disk, defaultScratch) }

// A mount is one path as shown inside. Of two with one target the later kind counts.
type mount struct {
	kind           mountKind
	source, target string
}

type mountKind int

// mounts are all of the Spec's own, each after the one that it lies in.
func (s Spec) mounts() []mount {
	var list []mount
	add := func(kind mountKind, sources ...string) {
		for _, path := range sources {
			list = append(list, mount{kind, path, s.at(path)})
		}
	}
	add(readOnly, slices.Concat(s.Read, s.Tools, s.ours())...)
	if s.Proxy != "" && !s.shows(s.Proxy) {
		add(readOnly, s.Proxy)
	}
	add(writable, slices.Concat(s.Write, []string{s.Home, s.Tmp})...)
	for _, path := range s.Hide {
		if _, err := os.Stat(path); err == nil && !s.taken(path) { // a mount point cannot be made in what is read-only
			add(hidden, path)
		}
	}
	for _, path := range s.homePaths(s.HomeRead) {
		list = append(list, mount{readOnly, path, s.at(s.inHome(path))})
	}
	for _, path := range s.homePaths(s.HomeWrite) {
		list = append(list, mount{writable, path, s.at(s.inHome(path))})
	}
	for _, m := range s.Over {
		list = append(list, mount{over, m.Source, s.at(m.Target)})
	}
	for _, m := range s.Files {
		list = append(list, mount{file, m.Source, s.at(m.Target)})
	}
	slices.SortStableFunc(list, func(a, b mount) int {
		return cmp.Or(strings.Compare(inOrder(a.target), inOrder(b.target)), cmp.Compare(b.kind, a.kind))
	})
	return s.needed(slices.CompactFunc(list, func(a, b mount) bool { return a.target == b.target }))
}

// needed removes mounts that another one shows already: each costs a fifth of a millisecond of the processor.
func (s Spec) needed(all []mount) []mount {
	around := []mount{{readOnly, "/usr", "/usr"}} // those that may have the next one in them
	return slices.DeleteFunc(all, func(m mount) bool {
		at := -1
		for i, a := range around {
			if within(m.target, a.target) && (at < 0 || len(a.target) > len(around[at].target)) {
				at = i
			}
		}
		if at >= 0 && m.kind <= writable && around[at].kind == m.kind && m.source == filepath.Join(around[at].source, m.target[len(around[at].target):]) {
			if real, err := filepath.EvalSymlinks(m.source); err == nil && real == m.source {
				return true
			}
		}
		around = append(around, m)
		return false
	})
}

// linked returns the target of a link if it is shown too, so that the link can stay one: programs look for their other files
// beside the target of a link to them.
func (s Spec) linked(m mount) (real string, ok bool) {
	info, err := os.Lstat(m.target)
	if m.source != m.target || err != nil || info.Mode()&os.ModeSymlink == 0 || s.shows(filepath.Dir(m.target)) {
		return "", false
	}
	if real, err = filepath.EvalSymlinks(m.target); err != nil || !s.shows(real) {
		return "", false
	}
	info, err = os.Stat(real)
	return real, err == nil && info.Mode().IsRegular()
}

// inOrder makes a path one that sorts behind the folder that it is in, and before the next one beside that.
func inOrder(path string) string { return strings.ReplaceAll(path, "/", "\x00") }

const (
	readOnly mountKind = iota
	writable
	hidden
	over
	file // read-only, in the place of another
)
