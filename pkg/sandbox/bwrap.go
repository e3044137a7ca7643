package sandbox

import (
	"os"
	"strconv"
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
