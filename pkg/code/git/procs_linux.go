package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"liza/pkg/base/safefile"
)

// ownerGone returns nil if no git process works in one of the folders. A process that cannot be examined counts as one.
func ownerGone(_ fs.FileInfo, folders []string) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("cannot see which processes live: %v", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		works, err := gitWorksIn(filepath.Join("/proc", entry.Name()), folders)
		if err != nil {
			return fmt.Errorf("cannot see where git process %d works: %v", pid, err)
		}
		if works {
			return fmt.Errorf("git process %d works in this repository", pid)
		}
	}
	return nil
}

// gitWorksIn reports whether the process is a git whose folder, arguments or variables name one of the folders. A process
// that ends meanwhile does not.
func gitWorksIn(proc string, folders []string) (bool, error) {
	name, err := safefile.Read(filepath.Join(proc, "comm"))
	if ended(err) || errors.Is(err, fs.ErrPermission) { // somebody else's, where people do not see each other's (hidepid)
		return false, nil
	}
	if err != nil { // no file descriptor is left, for instance
		return false, err
	}
	if !isGitName(strings.TrimSpace(string(name))) {
		return false, nil
	}
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if ended(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	cwd = strings.TrimSuffix(cwd, " (deleted)")
	paths := []string{cwd}
	arguments, err := safefile.Read(filepath.Join(proc, "cmdline"))
	if err == nil {
		paths = append(paths, argumentPaths(cwd, string(arguments))...)
	}
	variables, err2 := safefile.Read(filepath.Join(proc, "environ"))
	if err2 == nil {
		paths = append(paths, variablePaths(cwd, string(variables))...)
	}
	for _, path := range paths {
		for _, folder := range folders {
			if safefile.Within(path, folder) {
				return true, nil
			}
		}
	}
	if err := errors.Join(err, err2); err != nil && !ended(err) {
		return false, err
	}
	return false, nil
}

func isGitName(name string) bool { return name == "git" || strings.HasPrefix(name, "git-") }

// ended reports whether reading from /proc failed because the process is gone. A zombie has no cwd either.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// argumentPaths are the arguments that are paths, with or without an option before them.
func argumentPaths(cwd, arguments string) []string {
	var paths []string
	for argument := range strings.SplitSeq(arguments, "\x00") {
		if strings.HasPrefix(argument, "-") {
			_, argument, _ = strings.Cut(argument, "=")
		}
		if argument != "" {
			paths = append(paths, absolute(cwd, argument))
		}
	}
	return paths
}

// variablePaths are the folders that git takes from its environment.
func variablePaths(cwd, variables string) []string {
	var paths []string
	for variable := range strings.SplitSeq(variables, "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY":
			if value != "" {
				paths = append(paths, absolute(cwd, value))
			}
		}
	}
	return paths
}

// changeTime is when a file was last changed in any way; ok is false where the system does not say.
func changeTime(info fs.FileInfo) (at time.Time, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		at = time.Unix(stat.Ctim.Unix())
	}
	return at, ok
}
