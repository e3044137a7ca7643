package assembly

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/service"
)

// reaper is how the reaper of a run is started: liza-spawn where it can be had, else this program once more.
func (e *Environment) Reaper() (argv []string, program string) {
	if program = e.spawned(); program != "" {
		return []string{program, agent.ReapCommand}, program
	}
	path, err := e.Executable()
	if err != nil {
		return nil, ""
	}
	return []string{path, agent.ReapCommand}, ""
}

func (e *Environment) spawned() string {
	if e.spawn == nil {
		return ""
	}
	return e.spawn()
}

// spawner finds the program liza-spawn beside this one. It has to be of the same build, and once it was found it has to
// stay the same file: an installation while a team runs does not change what contains the team.
func (e *Environment) spawner() func() string {
	type found struct {
		path string
		info os.FileInfo
	}
	find := sync.OnceValue(func() found {
		liza, err := e.Liza()
		if err != nil {
			return found{}
		}
		if real, err := filepath.EvalSymlinks(liza); err == nil {
			liza = real
		}
		path := filepath.Join(filepath.Dir(liza), "liza-spawn")
		info, err := os.Stat(path)
		if err != nil {
			return found{}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, path, sandbox.BuildCommand).Output()
		if err != nil || strings.TrimSuffix(string(out), "\n") != sandbox.Build(agent.Source, service.Source) {
			return found{}
		}
		return found{path, info}
	})
	return func() string {
		f := find()
		now, err := os.Stat(f.path)
		if err != nil || !os.SameFile(f.info, now) || !now.ModTime().Equal(f.info.ModTime()) || now.Size() != f.info.Size() {
			return ""
		}
		return f.path
	}
}

// liza is the absolute path of the liza program: this one, or the one beside liza-agent.
func (e *Environment) Liza() (string, error) {
	path, err := e.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		beside := filepath.Join(filepath.Dir(real), "liza")
		if filepath.Base(real) == "liza-agent" {
			path = beside
		}
	}
	if beside := filepath.Join(filepath.Dir(path), "liza"); filepath.Base(path) != "liza" {
		if _, err := os.Stat(beside); err == nil {
			path = beside
		}
	}
	return filepath.Abs(path)
}
