package git

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// WorktreeFacts are what the guards of submit and approve look at (specs/protocol.md#4.2, G33 to G35, G55, G56).
type WorktreeFacts struct {
	Exists bool   // path is a linked worktree of this repository; the rest is empty otherwise
	Branch string // "" when detached
	Head   string // "" when the branch has no commit
	// Dirty lists what git status reports, untracked files included, one text per path. A submodule is named as such
	// with what changed in it. A path with control characters is quoted.
	Dirty []string
}

// Inspect looks at a worktree, named by its absolute path or relative to the main checkout.
func (r *Repo) Inspect(ctx context.Context, path string) (WorktreeFacts, error) {
	path = absolute(r.place.Root, path)
	args := []string{"status"}
	if r.adminDir(path) == "" {
		admin := r.strayAdmin(path)
		if admin == "" {
			return WorktreeFacts{}, nil
		}
		args = []string{"--git-dir=" + admin, "--work-tree=" + path, "status"} // what Relink would make of it
	}
	out, err := r.read(ctx, path, append(args, "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
		"--ignore-submodules=dirty", "--no-renames")...)
	facts, wrong := parseStatus(out)
	if err = cmp.Or(err, wrong); err == nil {
		err = r.inspectSubmodules(ctx, path, &facts)
	}
	if err != nil {
		return WorktreeFacts{}, fmt.Errorf("cannot look at the worktree %s: %w", filepath.Base(path), err)
	}
	return facts, nil
}

// parseStatus reads git's format "porcelain v2". Renames are switched off, so every entry is one field.
func parseStatus(out string) (WorktreeFacts, error) {
	facts := WorktreeFacts{Exists: true}
	for _, line := range fields(out) {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "#":
			facts.header(rest)
		case "?":
			facts.Dirty = append(facts.Dirty, showPath(rest))
		case "1", "u":
			count := 7 // fields before the path: XY sub mH mI mW hH hI
			if kind == "u" {
				count = 9 // XY sub m1 m2 m3 mW h1 h2 h3
			}
			parts := strings.SplitN(rest, " ", count+1)
			if len(parts) <= count {
				return WorktreeFacts{}, fmt.Errorf("cannot read git's status: %q", line)
			}
			facts.Dirty = append(facts.Dirty, showPath(parts[count])+submoduleText(parts[1]))
		default:
			return WorktreeFacts{}, fmt.Errorf("cannot read git's status: %q", line)
		}
	}
	return facts, nil
}

func (f *WorktreeFacts) header(text string) {
	key, value, _ := strings.Cut(text, " ")
	switch {
	case key == "branch.oid" && value != "(initial)":
		f.Head = value
	case key == "branch.head" && value != "(detached)":
		f.Branch = value
	}
}

// submoduleText explains the field "S<c>.." of a submodule; other files have "N...".
func submoduleText(field string) string {
	if !strings.HasPrefix(field, "S") {
		return ""
	}
	if strings.Contains(field[1:], "C") {
		return " (submodule: another commit)"
	}
	return " (submodule)"
}

// inspectSubmodules adds what is changed inside the submodules.
func (r *Repo) inspectSubmodules(ctx context.Context, path string, facts *WorktreeFacts) error {
	for _, m := range r.submodules(path) {
		out, err := r.run(ctx, call{dir: m.dir, sub: m.git, args: []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"}})
		if err != nil {
			return fmt.Errorf("submodule %s: %w", showPath(m.name), err)
		}
		var changes []string
		lines := fields(out)
		untracked := func(line string) bool { return strings.HasPrefix(line, "? ") }
		if slices.ContainsFunc(lines, func(line string) bool { return !untracked(line) }) {
			changes = append(changes, "modified content")
		}
		if slices.ContainsFunc(lines, untracked) {
			changes = append(changes, "untracked files")
		}
		if len(changes) > 0 {
			facts.Dirty = append(facts.Dirty, fmt.Sprintf("%s (submodule: %s)", showPath(m.name), strings.Join(changes, ", ")))
		}
	}
	return nil
}
