package verbtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
)

// WithRemote gives the project a bare repository as its remote origin, over which work travels, and returns its folder.
func (p *Place) WithRemote() string {
	p.TB.Helper()
	dir := filepath.Join(p.TB.TempDir(), "origin.git")
	p.Git(p.Dir, "init", "-q", "--bare", "-b", "main", "--template=", dir)
	p.Git(p.Dir, "remote", "add", "origin", dir)
	p.Git(p.Dir, "push", "-q", "origin", "main")
	p.Config.Git.Remote = "origin"
	return dir
}

// TwoHosts is a board with a remote that two hosts have, and with task-1.
func TwoHosts(tb testing.TB) (one, two *Place, remote string) {
	tb.Helper()
	one = New(tb)
	remote = one.WithRemote()
	one.Shared, one.Host = true, "one"
	one.AddTask("task-1")
	one.Must(nil, one.Service("").Integration.FollowRemote(context.Background(), one.State()))
	return one, one.OnHost("two"), remote
}

// OnHost is the same board on another host: a clone of the remote, with a merge lock and a process table of its own.
func (p *Place) OnHost(name string) *Place {
	p.TB.Helper()
	other := *p
	other.Dir, other.Host, other.Shared = filepath.Join(p.TB.TempDir(), name), name, true
	p.Git(p.Dir, "clone", "-q", "--template=", p.Git(p.Dir, "remote", "get-url", "origin"), other.Dir)
	p.Git(other.Dir, "config", "maintenance.auto", "false")
	p.Must(nil, os.MkdirAll(filepath.Join(other.Dir, ".liza"), 0o755))
	p.Must(nil, os.Symlink(p.Project.State(), filepath.Join(other.Dir, ".liza", "state.yaml")))
	var err error
	other.Project, err = project.Find(context.Background(), other.Dir, "")
	p.Must(nil, err)
	other.Repo, err = git.Open(context.Background(), other.Dir)
	p.Must(nil, err)
	p.Must(nil, other.Repo.AddExclude(context.Background(), "/.worktrees/"))
	other.TaskArchive = &history.Archive{Dir: p.Project.ArchiveDir()}
	return &other
}

// Hook puts a hook into the remote in dir; "" takes it away.
func (p *Place) Hook(dir, name, script string) {
	p.TB.Helper()
	path := filepath.Join(dir, "hooks", name)
	if script == "" {
		p.Must(nil, os.Remove(path))
		return
	}
	Write(p.TB, path, "#!/bin/sh\n"+script+"\n")
	p.Must(nil, os.Chmod(path, 0o755))
}
