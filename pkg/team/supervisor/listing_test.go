package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/code/git"
)

// A run that has ended can have left a link in the place of a folder that git tracks. A prompt has nothing of what it leads to.
func TestAPromptHasNoFileBehindALinkOfAWorktree(t *testing.T) {
	t.Parallel()
	private, worktree := t.TempDir(), t.TempDir()
	err := errors.Join(os.WriteFile(filepath.Join(private, "README.md"), []byte("a key of the person\n"), 0o600), os.WriteFile(filepath.Join(worktree, "README.md"), []byte("of the project\n"), 0o600),
		os.Symlink(private, filepath.Join(worktree, "docs")), os.Link(filepath.Join(private, "README.md"), filepath.Join(worktree, "other.md")))
	if err != nil {
		t.Fatal(err)
	}
	l := &listing{dir: worktree, files: map[string]git.Listed{}}
	for _, path := range []string{"README.md", "docs/README.md", "other.md"} {
		l.files[path] = git.Listed{Path: path, Regular: true}
	}
	read := l.read(t.Context())
	if text, ok := read("README.md"); !ok || text != "of the project\n" {
		t.Errorf("a file of the project is %q", text)
	}
	for _, path := range []string{"docs/README.md", "other.md"} {
		if text, ok := read(path); ok || text != "" {
			t.Errorf("%s is %q", path, text)
		}
	}
}
