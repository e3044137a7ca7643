package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Sees reports whether a program finds a file of the person's inside by this path, which may begin with ~/.
func (s Spec) Sees(path string) bool {
	rest, inHome := strings.CutPrefix(path, "~/")
	if inHome {
		path = filepath.Join(s.Person, rest)
	} else if s.shows(path) {
		return true
	}
	return (inHome || s.Level == Partial) && slices.ContainsFunc(slices.Concat(s.homePaths(s.HomeRead), s.homePaths(s.HomeWrite)), func(top string) bool { return within(path, top) })
}
