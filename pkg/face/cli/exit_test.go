package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/team/supervisor"
)

// The command that helps is a value of the error. The text of an error, which may be that of a program, names none.
func TestTheNextCommandIsAValueOfTheError(t *testing.T) {
	t.Parallel()
	invalid := &store.InvalidError{Path: "state.yaml", Violations: []blackboard.Violation{{Rule: "V67", Message: "refused", Next: "liza a"}, {Rule: "V67", Message: "task-1 was changed", Next: "liza submit task-1"}}}
	for name, x := range map[string]struct {
		err           error
		message, next string
	}{
		"the text of a program":   {errors.New("sh: broken; next: rm -rf ."), "sh: broken; next: rm -rf .", "liza status"},
		"a refusal":               {fmt.Errorf("cannot go on: %w", transition.Refuse(transition.ExitFailure, "liza doctor", "it ended: %w", errors.New("x; next: y"))), "cannot go on: it ended: x; next: y", "liza doctor"},
		"a refused edit":          {invalid, "state.yaml would not be valid: V67 refused; next: liza a\nV67 task-1 was changed", "liza submit task-1"},
		"a team":                  {errors.Join(fmt.Errorf("coder-1: %w", &supervisor.GaveUp{Why: "no key", Next: "liza show task-1"}), errors.New("coder-2: away")), "coder-1: gave up: no key\ncoder-2: away", "liza show task-1"},
		"a full file system":      {errors.Join(&supervisor.GaveUp{Why: "a", Next: "liza a"}, fmt.Errorf("cannot write: %w", &safefile.DiskFullError{FileSystem: "/srv", Need: 4096, Err: syscall.ENOSPC})), "gave up: a\ncannot write: the file system of /srv is full: 4096 bytes needed, 0 bytes free", "df -h /srv"},
		"no inode":                {&safefile.DiskFullError{FileSystem: "/srv", Inodes: true, Err: syscall.ENOSPC}, "the file system of /srv has no inode left for another file", "df -i /srv"},
		"git on one that is full": {transition.Refuse(transition.ExitFailure, "liza status", "no worktree: %w", &git.Error{Args: []string{"add"}, Dir: "/", Stderr: "fatal: cannot write: No space left on device\n"}), "no worktree: git add: cannot write: No space left on device (exit 0)", "df -h /"},
		"a read-only file system": {&fs.PathError{Op: "open", Path: "/srv/x", Err: syscall.EROFS}, "open /srv/x: read-only file system", "mount"},
	} {
		if r := explain(x.err); r.message != x.message || r.next != x.next {
			t.Errorf("%s: %q, next %q; want %q, next %q", name, r.message, r.next, x.message, x.next)
		}
	}
}
