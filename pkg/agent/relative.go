package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// at is an entry whose relative paths are those of the project at root. A program runs in the
// worktree of its task, where a file that the project does not track is missing, and one that it
// tracks is the agent's to change. The rule is one sentence of specs/configuration.md: the program
// itself when it has a slash, and every argument that begins with ./ or ../ and is a file of the project.
func (e Entry) at(root string) Entry {
	if root == "" {
		return e
	}
	for _, argv := range []*[]string{&e.Command, &e.ResumeCommand, &e.Interactive, &e.Version, &e.Help} {
		*argv = argumentsAt(root, *argv, true)
	}
	for _, more := range []*[]string{&e.Model, &e.Resume, &e.MCP} {
		*more = argumentsAt(root, *more, false)
	}
	return e
}

func argumentsAt(root string, argv []string, program bool) []string {
	argv = slices.Clone(argv)
	for i, a := range argv {
		path := filepath.Join(root, a)
		isProgram := program && i == 0 && strings.Contains(a, "/") && !filepath.IsAbs(a) && !strings.HasPrefix(a, "{{")
		if isProgram || Relative(a) && isFile(path) {
			argv[i] = path
		}
	}
	return argv
}

// Relative reports whether an argument says by its form that it is a path: ./NAME or ../NAME.
func Relative(argument string) bool {
	return strings.HasPrefix(argument, "./") || strings.HasPrefix(argument, "../")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
