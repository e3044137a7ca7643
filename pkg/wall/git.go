package wall

import (
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
	"liza/pkg/sandbox"
)

// gitToRead is what git needs of a repository to look at the worktree dir: history and branches, not the
// configuration, which may have addresses with passwords, and nothing of Liza's.
func gitToRead(common, dir string, level sandbox.Level) []string {
	var paths []string
	if level == sandbox.Partial { // there it cannot be hidden as if it were not there, and git stops at what it may not read
		paths = append(paths, filepath.Join(common, "config"))
	}
	for _, name := range []string{"HEAD", "refs", "packed-refs", "objects", "info", "shallow"} {
		paths = append(paths, filepath.Join(common, name))
	}
	text, err := safefile.Read(filepath.Join(dir, ".git"))
	admin, isLink := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err == nil && isLink && filepath.Dir(filepath.Clean(admin)) == filepath.Join(common, "worktrees") {
		paths = append(paths, filepath.Clean(admin))
	}
	return paths
}
