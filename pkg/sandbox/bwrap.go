package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mount is one path as it is shown inside. Of two with one target the later kind counts.
type mount struct {
	kind           mountKind
	source, target string
}

type mountKind int

const (
	readOnly mountKind = iota
	writable
	hidden
	over
)

// bwrap is the argv of bubblewrap, without its name and without what it starts.
func (s Spec) bwrap(f Facts) []string {
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
		case writable, over:
			args = append(args, "--bind", m.source, m.target)
		case hidden:
			if info, err := os.Stat(m.target); err == nil && !info.IsDir() {
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
	return append(args, "--chdir", s.Dir)
}

// namespaces is the part of it that is the same for all: namespaces, no rights, and the system's own files.
func (s Spec) namespaces(f Facts) []string {
	args := []string{"--unshare-user", "--unshare-all"}
	if f.DisablesUserns {
		args = append(args, "--disable-userns")
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
	for _, path := range s.etcPaths() {
		if _, err := os.Stat(path); err == nil {
			args = append(args, "--ro-bind-try", path, path)
		}
	}
	size := strconv.FormatInt(s.scratch(), 10)
	return append(args, "--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm", "--size", size, "--perms", "1777", "--tmpfs", "/tmp")
}

// mounts are all of the Spec's own, each after the one that it lies in.
func (s Spec) mounts() []mount {
	var list []mount
	add := func(kind mountKind, sources ...string) {
		for _, path := range sources {
			list = append(list, mount{kind, path, path})
		}
	}
	add(readOnly, slices.Concat(s.Read, s.Tools, s.ours())...)
	if s.Proxy != "" && !s.shows(s.Proxy) {
		add(readOnly, s.Proxy)
	}
	add(writable, slices.Concat(s.Write, []string{s.Home, s.Tmp})...)
	for _, path := range s.Hide {
		if _, err := os.Stat(path); err == nil { // a mount point cannot be made in what is read-only
			add(hidden, path)
		}
	}
	for _, path := range s.homePaths(s.HomeRead) {
		list = append(list, mount{readOnly, path, s.inHome(path)})
	}
	for _, path := range s.homePaths(s.HomeWrite) {
		list = append(list, mount{writable, path, s.inHome(path)})
	}
	for _, m := range s.Over {
		list = append(list, mount{over, m.Source, m.Target})
	}
	slices.SortStableFunc(list, func(a, b mount) int {
		return cmp.Or(strings.Compare(inOrder(a.target), inOrder(b.target)), cmp.Compare(b.kind, a.kind))
	})
	return s.needed(slices.CompactFunc(list, func(a, b mount) bool { return a.target == b.target }))
}

// needed leaves out what another mount shows already: each costs a fifth of a millisecond of the processor.
func (s Spec) needed(all []mount) []mount {
	around := []mount{{readOnly, "/usr", "/usr"}} // those that may have the next one in them
	for _, path := range s.etcPaths() {
		around = append(around, mount{readOnly, path, path})
	}
	return slices.DeleteFunc(all, func(m mount) bool {
		at := -1
		for i, a := range around {
			if within(m.target, a.target) && (at < 0 || len(a.target) > len(around[at].target)) {
				at = i
			}
		}
		if at >= 0 && m.kind <= writable && around[at].kind == m.kind && m.source == m.target && around[at].source == around[at].target {
			if real, err := filepath.EvalSymlinks(m.target); err == nil && real == m.target {
				return true
			}
		}
		around = append(around, m)
		return false
	})
}

// linked is the file that a link leads to and that is shown, too, so that it can stay a link: programs look for their other
// files beside what a link to them leads to.
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
