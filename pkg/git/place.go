package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"

	"liza/pkg/safefile"
)

// Place says where a repository is.
type Place struct {
	Root      string // the main checkout
	CommonDir string // git's common dir: .git of the main checkout
	Checkout  string // the checkout that the folder lies in: Root, or a linked worktree
}

// Locate finds the repository that dir belongs to, from any folder of the main checkout, of a linked worktree, or below
// them. It starts no process, so reading commands find their project when git is missing (specs/protocol.md#14, B16).
// Both paths are free of symbolic links. Errors: ErrNoRepository, ErrBare.
func Locate(dir string) (Place, error) {
	start, err := filepath.Abs(dir)
	if err == nil {
		start, err = filepath.EvalSymlinks(start)
	}
	if err != nil {
		return Place{}, fmt.Errorf("cannot look for a repository: %v", err)
	}
	for at := start; ; at = filepath.Dir(at) {
		gitDir, err := gitDirAt(at)
		if err != nil {
			return Place{}, err
		}
		if gitDir != "" {
			place, err := placeOf(at, gitDir)
			if place.Checkout = place.Root; gitDir != place.CommonDir && gitDir != at {
				place.Checkout = at
			}
			return place, err
		}
		if at == filepath.Dir(at) {
			return Place{}, fmt.Errorf("cannot open %s: %w", start, ErrNoRepository)
		}
	}
}

// gitDirAt is the git dir of the checkout at folder, folder itself when it is a git dir, or "".
func gitDirAt(folder string) (string, error) {
	entry := filepath.Join(folder, ".git")
	info, err := os.Stat(entry)
	switch {
	case err == nil && info.IsDir() && isGitDir(entry):
		return filepath.EvalSymlinks(entry)
	case err == nil && info.Mode().IsRegular():
		target, err := readGitFile(entry)
		if err == nil && !isGitDir(target) {
			err = fmt.Errorf("it names %s, which is not a git dir", target)
		}
		if err != nil {
			return "", fmt.Errorf("cannot use %s: %v: %w", entry, err, ErrNoRepository)
		}
		return filepath.EvalSymlinks(target)
	case isGitDir(folder):
		return folder, nil
	}
	return "", nil
}

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	return exists("commondir") || exists("objects") && exists("refs")
}

// readGitFile reads the path in a .git file ("gitdir: PATH"), made absolute.
func readGitFile(path string) (string, error) {
	data, err := safefile.Read(path)
	if err != nil {
		return "", err
	}
	target, found := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !found {
		return "", errors.New("it does not begin with \"gitdir: \"")
	}
	return absolute(filepath.Dir(path), target), nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// placeOf finds common dir and main checkout of a git dir that was found at folder.
func placeOf(folder, gitDir string) (Place, error) {
	common := gitDir
	if isFolder(gitDir) { // of a run in a worktree
		common = filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(gitDir))))
	} else if data, err := safefile.Read(filepath.Join(gitDir, "commondir")); err == nil {
		common = absolute(gitDir, strings.TrimRight(string(data), "\r\n"))
	}
	common, err := filepath.EvalSymlinks(common)
	if err != nil {
		return Place{}, fmt.Errorf("cannot open %s: %v: %w", folder, err, ErrNoRepository)
	}
	core := readCore(common)
	if core.bare {
		return Place{}, fmt.Errorf("cannot use %s: %w", common, ErrBare)
	}
	switch {
	case core.worktree != "": // a submodule keeps its git dir in that of the repository around it
		root, err := filepath.EvalSymlinks(absolute(common, core.worktree))
		if err != nil {
			return Place{}, fmt.Errorf("cannot find the checkout of %s: %v: %w", common, err, ErrNoRepository)
		}
		return Place{Root: root, CommonDir: common}, nil
	case filepath.Base(common) == ".git":
		return Place{Root: filepath.Dir(common), CommonDir: common}, nil
	case gitDir == common && folder != gitDir: // made with --separate-git-dir
		return Place{Root: folder, CommonDir: common}, nil
	}
	return Place{}, fmt.Errorf("cannot find the main checkout of %s: %w", common, ErrBare)
}

type coreConfig struct {
	bare     bool
	worktree string
}

// readCore reads core.bare and core.worktree of a common dir. A file that cannot be parsed counts as empty: Open lets
// git have the last word.
func readCore(common string) coreConfig {
	var core coreConfig
	for _, name := range []string{"config", "config.worktree"} {
		data, err := safefile.Read(filepath.Join(common, name))
		if err != nil {
			continue
		}
		parsed := config.New()
		if err := config.NewDecoder(bytes.NewReader(data)).Decode(parsed); err != nil {
			continue
		}
		section := parsed.Section("core")
		switch strings.ToLower(section.Option("bare")) {
		case "true", "yes", "on", "1":
			core.bare = true
		case "false", "no", "off", "0":
			core.bare = false
		}
		if worktree := section.Option("worktree"); worktree != "" {
			core.worktree = worktree
		}
	}
	return core
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	path, dir = filepath.Clean(path), filepath.Clean(dir)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// isFolder reports whether a path has the form of the git folder of a run, in any repository.
func isFolder(path string) bool {
	return filepath.Base(path) == "git" && strings.HasSuffix(filepath.Dir(filepath.Dir(path)), "/"+foldersDir)
}

// foldersDir has the git folders of runs: folders/<task>@<agent>/ with lock, record.json, and git/, which the run sees.
const foldersDir = "liza/folders"

// ValidBranchName reports whether a branch can have this name.
func ValidBranchName(name string) bool {
	return name != "HEAD" && plumbing.NewBranchReferenceName(name).Validate() == nil
}
