package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Contained is what is started in the place of a program. It has the fields of agent.Contained, so that one
// converts to the other.
type Contained struct {
	Path string
	Argv []string
	Env  []string

	Wrapper   bool     // what is started keeps the program and would end it at once when asked to end itself
	Groups    []string // control groups that were made for it; the one that starts it puts it in and removes them
	Processes int      // how many processes nothing but a count can hold it to; 0: something else does, or there is no limit
}

// launch is what the launcher inside the wall gets (Enter).
type launch struct {
	Spec
	Path string // of the program
	Data int64  // bytes of memory of one process, where no control group counts those of all
}

// wallCommand is the hidden command that enters the wall.
const wallCommand = "wall"

// Command returns what to start so that the program path runs as the Spec says. At closed and partial its
// environment is env with HOME, the folder for temporary files and the proxy of the wall.
//
// It makes the control groups that Contained.Groups names; nothing else is changed but, at partial, links in Home.
func (s Spec) Command(f Facts, path string, argv, env []string) (Contained, error) {
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
	if f.Seatbelt {
		c.Env = s.environment(env)
		return s.underSeatbelt(c)
	}
	if s.Level == Closed { // elsewhere nothing is mounted
		if err := s.clearPlaces(path); err != nil {
			return c, err
		}
	}
	groups := f.Cgroups.plan(s.Limits)
	if s.Limits.Processes > 0 && !groups.countsProcesses() && !f.LimitsOwn {
		c.Processes = s.Limits.Processes
	}
	l := launch{Spec: s, Path: path}
	if !groups.countsMemory() {
		l.Data = s.Limits.Memory
	}
	var err error
	if c.Groups, err = groups.make(); err != nil {
		return c, err
	}
	c.Env = s.environment(env)
	data, err := json.Marshal(l)
	if err != nil {
		return c, err
	}
	inside := slices.Concat([]string{s.launcher(), wallCommand, string(data), "--"}, argv)
	if s.Level == Partial {
		c.Path, c.Argv = s.launcher(), inside
		return c, s.fillHome()
	}
	c.Path, c.Wrapper = f.Bwrap, true
	c.Argv = slices.Concat([]string{"bwrap"}, s.bwrap(f), []string{"--"}, inside)
	return c, nil
}

func (s Spec) launcher() string { return cmp.Or(s.Launcher, s.Liza) }

// ours are the programs of Liza's own that a run gets.
func (s Spec) ours() []string { return slices.Compact([]string{s.Liza, s.launcher()}) }

// check reports what of the Spec cannot be had.
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

// shows reports whether a path can be seen inside.
func (s Spec) shows(path string) bool {
	for _, top := range slices.Concat(s.Read, s.Write, s.Tools, s.ours(), []string{s.Home, s.Tmp, "/usr"}, usrLinks()) {
		if within(path, top) {
			return true
		}
	}
	return false
}

// within reports whether path is top or lies in it.
func within(path, top string) bool {
	return top != "" && (path == top || top == "/" || strings.HasPrefix(path, top+"/"))
}

// homePaths are files of the person's home by their whole paths.
func (s Spec) homePaths(names []string) []string {
	var paths []string
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Person, name)
		}
		paths = append(paths, name)
	}
	return paths
}

// inHome is where a file of the person's home is shown.
func (s Spec) inHome(path string) string {
	return filepath.Join(s.Home, strings.TrimPrefix(path, s.Person))
}

// ForwardAddress is where programs at closed find the proxy. The loopback device is the wall's own, so
// that the port is always free.
const ForwardAddress = "127.0.0.1:39128"

// sessionVariables lead to services of the person's session.
var sessionVariables = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}

// environment is env as it is right inside: folders of the person's home are not theirs there.
func (s Spec) environment(env []string) []string {
	set := []string{"HOME=" + s.Home, "TMPDIR=" + s.Tmp}
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

// fillHome makes links in the private home folder to what it shows of the person's, for levels that cannot
// mount anything.
func (s Spec) fillHome() error {
	for _, path := range slices.Concat(s.homePaths(s.HomeRead), s.homePaths(s.HomeWrite)) {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := s.link(path); err != nil {
			return fmt.Errorf("cannot fill the private home folder: %v", err)
		}
	}
	return nil
}

// usrLinks are the folders beside /usr that a system with a merged /usr has as links.
func usrLinks() []string { return []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} }

// etc is what is shown of /etc: names of users and hosts, certificates without private keys, the loader's cache, git's settings,
// and those by which a company manages agent programs. Each mount costs time.
var etc = []string{
	"passwd", "group", "nsswitch.conf", "hosts", "localtime", "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust", "crypto-policies",
	"alternatives", "ld.so.cache", "gitconfig", "gitattributes", "claude-code", "codex", "gemini-cli", "opencode",
}

// etcPartial is shown besides where nothing is mounted: to resolve names, because the network is the machine's, and because some
// tools do without a file, but fail when there is one that they may not read.
var etcPartial = []string{
	"resolv.conf", "host.conf", "gai.conf", "services", "protocols", "timezone", "locale.conf", "ca-certificates", "ca-certificates.conf",
	"ld.so.conf", "ld.so.conf.d", "mime.types", "npmrc", "pip.conf", "profile", "bash.bashrc", "os-release",
}

func (s Spec) etcPaths() []string {
	names := etc
	if s.Level == Partial {
		names = slices.Concat(etc, etcPartial)
	}
	var paths []string
	for _, name := range names {
		paths = append(paths, "/etc/"+name)
	}
	return paths
}

// defaultScratch bounds /tmp and /dev/shm, which are kept in memory, where no limit does.
const defaultScratch = 2 << 30

func (s Spec) scratch() int64 { return cmp.Or(s.Limits.Disk, defaultScratch) }
