// Package gittest gives tests copies of a repository that was made once.
package gittest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing/fstest"
)

// Template returns what copies a repository into an empty folder: files, put there by commands of git.
// It is made at the first use and kept in memory; a copy costs some files instead of a process for
// each command. Git's own upkeep is off in it, which would start a process after each commit of a test.
func Template(files map[string]string, commands ...[]string) func(dir string) error {
	start := sync.OnceValues(func() (fs.FS, error) {
		dir, err := os.MkdirTemp("", "liza-start-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				return nil, err
			}
		}
		begin := [][]string{{"init", "-q", "-b", "main", "--template="}, {"config", "maintenance.auto", "false"}}
		for _, args := range append(begin, commands...) {
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("git %s: %v: %s", args[0], err, out)
			}
		}
		return inMemory(dir)
	})
	return func(dir string) error {
		repository, err := start()
		if err != nil {
			return err
		}
		return os.CopyFS(dir, repository)
	}
}

// inMemory reads a folder as a whole.
func inMemory(dir string) (fs.FS, error) {
	all := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode(), ModTime: info.ModTime()}
		if !entry.IsDir() {
			file.Data, err = os.ReadFile(filepath.Join(dir, path))
		}
		all[path] = file
		return err
	})
	return all, err
}
