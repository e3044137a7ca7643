package git

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A Look is a command that prints the difference between a commit and a worktree as it is now, for ParsePatches. An agent
// may write to that worktree, so the command belongs into a sandbox.
type Look struct {
	Shell string
	Reads []string // what it reads besides the worktree
}

// LookInto makes the Look into the worktree of a task from the commit base, a full hash. What is not committed counts, and what
// is not tracked and not ignored. Without such a worktree it is ErrNotFound. Nothing is read there yet.
func (r *Repo) LookInto(task, base string) (Look, error) {
	path := r.WorktreePath(task)
	index := r.adminDir(path)
	if index == "" || !isFullHash(base) {
		return Look{}, fmt.Errorf("cannot look into the worktree of %s: %w", task, ErrNotFound)
	}
	objects := filepath.Join(r.place.CommonDir, "objects")
	borrowed := append([]string{objects}, r.alternatesOf(objects)...)
	if f := r.current(task); f != nil {
		index = f.Git
		borrowed = append(borrowed, filepath.Join(f.Git, "objects"))
	}
	format := "sha1"
	if len(base) > 40 {
		format = "sha256"
	}
	values := []string{"base=" + base, "format=" + format, "worktree=" + shellWord(path), "index=" + shellWord(index),
		"borrowed=" + shellWord(strings.Join(borrowed, "\n")), "exclude=" + shellWord(filepath.Join(r.place.CommonDir, "info", "exclude")),
		fmt.Sprintf("large=%d", MostFile), "format_of_patches=" + shellWord(strings.Join(patchFormat, " "))}
	return Look{Shell: strings.Join(values, "\n") + "\n" + look, Reads: append(borrowed, index, filepath.Join(r.place.CommonDir, "info"))}, nil
}

// look compares in a git folder of its own: neither the configuration of the repository nor that of the run names a program
// there. The index is a copy of the run's, in which unchanged files are known; one that cannot be used is made from the base.
const look = `
private=$(mktemp -d "${TMPDIR:-/tmp}/liza-look.XXXXXX") || exit 1
trap 'rm -rf "$private"' EXIT
trap 'exit 1' TERM
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_CONFIG_PARAMETERS
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=0 GIT_ATTR_SOURCE=$base GIT_LITERAL_PATHSPECS=1
compare() {
	git init --quiet --bare --template= --object-format=$format "$private/git" || return
	printf '%s\n' "$borrowed" >"$private/git/objects/info/alternates" || return
	export GIT_DIR="$private/git" GIT_WORK_TREE="$worktree"
	cp "$index"/index "$index"/sharedindex.* "$GIT_DIR"
	if ! git ls-files --unmerged >"$private/unmerged" || test -s "$private/unmerged"; then
		rm -f "$GIT_DIR/index"
		git read-tree $base || return
	fi
	git -c core.excludesFile="$exclude" add --intent-to-add --ignore-errors . # what it refuses is not shown
	git -c core.bigFileThreshold=$large -c core.quotePath=false diff --ignore-submodules=dirty $format_of_patches $base -- >&3
}
cd "$worktree" && compare 3>&1 >"$private/said" 2>&1 || { code=$?; head -c 1000 "$private/said"; exit $code; }
`

// shellWord is a text as one word of a shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
