package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
