package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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

// link makes a link in the private home folder to a path of the person's. A folder on the way may be one that outlives its runs: what
// former ones have made in it leads nowhere else, and does not stop this one.
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
