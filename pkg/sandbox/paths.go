package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
