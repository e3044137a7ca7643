package git

import (
	"errors"
	"path/filepath"

	"liza/pkg/safefile"
)

// incoming is one taking over: commits on their way from a folder into the repository.
type incoming struct {
	folder  *Folder
	from    private
	commit  string
	own     string // the tip of the task's branch
	known   []string
	dir     string
	last    bool // the folder is removed after this: what may not be on the branch is saved
	checked bool // git has named the objects by their content
	sound   bool // the objects are in the repository; what speaks against them is their history
}

func (in *incoming) remove() { _ = safefile.RemoveTree(in.dir) }

// borrowed lets a git command see what comes in, copied or checked, besides the repository's objects.
func (in *incoming) borrowed() []string {
	return []string{mostMemory, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(in.objects())}
}

func (in *incoming) objects() string {
	if in.checked {
		return in.store("checked")
	}
	return in.store("copied")
}

func (in *incoming) store(name string) string { return filepath.Join(in.dir, name) }

// An oddError says what is wrong with the objects in a folder.
type oddError struct{ text string }

func (e oddError) Error() string { return e.text }

// oddOr tells what is wrong with the objects from an error of the machine.
func oddOr(err error) (why string, _ error) {
	if odd, ok := errors.AsType[oddError](err); ok {
		return odd.text, nil
	}
	return "", err
}
