package sandbox

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Detect finds the facts of this machine, once for each process.
func Detect(ctx context.Context) Capabilities {
	detected.Do(func() { facts = thisMachine().Detect(ctx) })
	return facts
}

var (
	detected sync.Once
	facts    Capabilities
)

// Detect finds the facts.
func (m Machine) Detect(ctx context.Context) Capabilities {
	f := Capabilities{Landlock: m.Landlock(), Seccomp: m.Seccomp(), LimitsOwn: !m.Root(), Cgroups: m.Cgroups()}
	path, err := m.Find("bwrap")
	if err != nil {
		return f
	}
	f.Bwrap = path
	for _, f.DisablesUserns = range []bool{true, false} { // bubblewrap before 0.8 cannot; the filter of system calls does it too
		if err = m.Try(ctx, path, append(Spec{}.namespaces(f), "--", "/usr/bin/env", "true")...); err == nil {
			f.Namespaces = true
			return f
		}
		if !strings.Contains(err.Error(), "disable-userns") {
			break
		}
	}
	f.DisablesUserns, f.BwrapError, f.Hint = false, err.Error(), m.Hint()
	return f
}

// Strongest returns the strongest available level.
func (f Capabilities) Strongest() Level {
	switch {
	case f.Landlock < minLandlock || !f.Seccomp:
		return Open
	case f.Namespaces:
		return Closed
	}
	return Partial
}

// Unavailable is returned for a level that is not available here.
type Unavailable struct {
	Want, Have Level
	Why, Next  string // a sentence without its end; the next command
	Chosen     bool   // a person has set Have
}

func (u *Unavailable) Error() string { return u.Sentence() + "\nnext: " + u.Next }

// Sentence returns the error without the next command.
func (u *Unavailable) Sentence() string {
	if u.Chosen {
		return fmt.Sprintf("the sandbox level '%s' is required, but %s", u.Want, u.Why)
	}
	return fmt.Sprintf("the sandbox level '%s' is required, but '%s' is the strongest here: %s", u.Want, u.Have, u.Why)
}

// Choose returns the level to use: level is the requested one ("" and auto: the strongest available), require the weakest
// sufficient one ("": any). The reason is one line that explains a level below closed; it is empty for closed, and for a
// level that a person chose.
func Choose(level, require Level, f Capabilities) (Level, string, error) {
	have := f.Strongest()
	why, next := f.missing()
	rank := map[Level]int{Open: 1, Partial: 2, Wrapped: 3, Closed: 4} // what a wrapping command keeps apart, a person has seen to
	auto := level == "" || level == "auto"
	if auto {
		level = have
	}
	switch {
	case rank[level] == 0:
		return "", "", fmt.Errorf("sandbox.level '%s' is not valid: it must be auto, closed, partial, wrap or open", level)
	case rank[require] > rank[level] && !auto:
		return "", "", &Unavailable{Want: require, Have: level, Why: "sandbox.level is " + string(level), Next: "liza config sandbox.level auto", Chosen: true}
	case rank[require] > rank[level]:
		return "", "", &Unavailable{Want: require, Have: have, Why: why, Next: next}
	case level != Wrapped && rank[level] > rank[have]:
		return "", "", &Unavailable{Want: level, Have: have, Why: why, Next: next}
	case auto && level == Partial:
		return Partial, fmt.Sprintf("agents run partly contained (partial): files and system calls are, network and other processes are not, because %s; to contain them: %s", why, next), nil
	case auto && level == Open:
		return Open, fmt.Sprintf("agents run uncontained (open), with everything that you may do yourself, because %s; to contain them: %s", why, next), nil
	}
	return level, "", nil
}

// installBwrap is the command that helps on most systems.
const installBwrap = "apt-get install bubblewrap (or dnf, pacman -S, zypper, apk add)"

// missing returns why closed is not available on this machine, and the next command.
func (f Capabilities) missing() (why, next string) {
	switch {
	case !f.Seccomp:
		return "this system has no filters of system calls that Liza knows (seccomp on amd64 or arm64)", "run the agents on such a system"
	case f.Landlock == 0:
		return "the kernel has no Landlock", "boot Linux 6.2 or newer with landlock in the kernel parameter lsm="
	case f.Landlock < minLandlock:
		return fmt.Sprintf("the kernel's Landlock is version %d, and only version %d guards files against being emptied", f.Landlock, minLandlock), "boot Linux 6.2 or newer"
	case f.Bwrap == "":
		return "bubblewrap is not installed", installBwrap
	case !f.Namespaces:
		why = "bubblewrap cannot make namespaces here: " + strings.TrimSpace(f.BwrapError)
		if f.Hint == "" {
			return why, "allow user namespaces on this machine, or in the container that this is"
		}
		return why, f.Hint
	}
	return "", ""
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

// fillHome makes links in the private home folder to the shown files of the person's, for levels without mounts.
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

// linkOn is the first symbolic link on the way from a folder to a path below it; "" when there is none.
func linkOn(top, below string) string {
	at := top
	for part := range strings.SplitSeq(strings.Trim(below, "/"), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			return ""
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}

// link makes a link in the private home folder to a path of the person's. A folder on the way may outlive its runs: entries
// that former runs made in it lead nowhere else, and do not stop this one.
func (s Spec) link(path string) error {
	top, name := s.Home, strings.TrimPrefix(s.inHome(path), s.Home+"/")
	for at, rest := s.Home, name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		at = filepath.Join(at, part)
		if to, err := os.Readlink(at); err == nil && rest != "" && slices.Contains(s.Write, to) {
			top, name = to, rest
			break
		}
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	if to, err := root.Readlink(name); err == nil && to == path {
		return nil
	}
	for at, rest := "", name; rest != "" && top != s.Home; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		at = filepath.Join(at, part)
		if info, err := root.Lstat(at); err == nil && (rest == "" || !info.IsDir()) {
			if err := root.RemoveAll(at); err != nil {
				return err
			}
		}
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return root.Symlink(path, name)
}

// clearPlaces makes sure that nothing is mounted through a link that a former run has left in a folder that it could write: bubblewrap
// follows it while all of the machine can be seen still, and makes the file that it leads to. In folders that are shown at another
// place, which are Liza's own, links are removed.
func (s Spec) clearPlaces(program string) error {
	mounts := s.mounts()
	for _, m := range mounts {
		var around mount // the nearest that it lies in
		for _, a := range mounts {
			if a.target != m.target && within(m.target, a.target) && len(a.target) > len(around.target) {
				around = a
			}
		}
		if around.kind != writable && around.kind != over || around.target == "" {
			continue
		}
		link := linkOn(around.source, strings.TrimPrefix(m.target, around.target))
		if link == "" {
			continue
		}
		if around.kind == writable {
			return fmt.Errorf("cannot contain %s: '%s', in a folder that it may write, is a symbolic link in the way to '%s'\nnext: rm '%s', or take one of both out of sandbox.allow", program, link, m.target, link)
		}
		if err := os.Remove(link); err != nil {
			return fmt.Errorf("cannot contain %s: %v", program, err)
		}
	}
	return nil
}

// BuildCommand makes liza-spawn print its Build.
const BuildCommand = "build"

//go:embed *.go
var source embed.FS

// Build returns a hash of the sources that this program shares with others: the launcher and the reaper are parts of their
// supervisor, and those of another build may not keep its promises. Versions are not enough: many builds have none.
func Build(more ...fs.FS) string {
	sum := fnv.New128a()
	for _, files := range append(more, source) {
		names, _ := fs.Glob(files, "*.go")
		for _, name := range names {
			text, _ := fs.ReadFile(files, name)
			fmt.Fprintf(sum, "%s %d ", name, len(text))
			_, _ = sum.Write(text)
		}
	}
	return fmt.Sprintf("%s %x", runtime.Version(), sum.Sum(nil))
}

// Sees reports whether a program inside finds a file of the person's by this path, which may begin with ~/.
func (s Spec) Sees(path string) bool {
	rest, inHome := strings.CutPrefix(path, "~/")
	if inHome {
		path = filepath.Join(s.Person, rest)
	} else if s.shows(path) && !s.covered(path) {
		return true
	}
	return (inHome || s.Level == Partial) && slices.ContainsFunc(slices.Concat(s.homePaths(s.HomeRead), s.homePaths(s.HomeWrite)), func(top string) bool { return within(path, top) })
}

// covered reports whether something else, or nothing, is shown at a path in a folder that is shown.
func (s Spec) covered(path string) bool {
	hidden := slices.Clone(s.Hide)
	for _, m := range s.Over {
		hidden = append(hidden, m.Target)
	}
	return slices.ContainsFunc(hidden, func(top string) bool {
		return within(path, top) && !slices.ContainsFunc(slices.Concat(s.Read, s.Write, s.Tools), func(shown string) bool { return within(path, shown) && within(shown, top) })
	})
}
