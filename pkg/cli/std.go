package cli

import (
	"cmp"
	"os"
	"os/signal"
	"os/user"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"liza/pkg/agent"
	"liza/pkg/review"
	"liza/pkg/verb"
)

// Std is the environment of a real process.
func Std() *Env {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	e := &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir, Now: time.Now,
		Executable: os.Executable, Terminal: isTerminal(os.Stdout), StdinTerminal: isTerminal(os.Stdin),
		Signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 4)
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			return c, func() { signal.Stop(c) }
		},
		home: homeOfUser, away: new(atomic.Pointer[func() bool]),
	}
	e.ancestors, e.spawn = sync.OnceValue(e.ancestry), e.spawner()
	return e
}

// homeOfUser is the home folder that the system knows, for when HOME is not set.
func homeOfUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// ancestry are this process and those that it descends from now.
func (e *Env) ancestry() []verb.Ancestor {
	up := []verb.Ancestor{ancestorOf(agent.Process{Pid: os.Getpid()}, e.Environ)}
	for _, p := range agent.Ancestors(os.Getpid()) {
		up = append(up, ancestorOf(p, agent.Environ(p.Pid)))
	}
	return up
}

func ancestorOf(p agent.Process, environ []string) verb.Ancestor {
	own := Env{Environ: environ}
	a := verb.Ancestor{PID: p.Pid, Start: p.Start, Root: own.Get("LIZA_ROOT"), Run: own.Get("LIZA_RUN"), Name: own.Get("LIZA_AGENT_ID"),
		Folders: []string{own.Get("LIZA_WORKTREE"), own.Get("PWD"), cmp.Or(own.Get("TMPDIR"), "/tmp")}}
	if job := own.Get(review.JobVariable); job != "" && a.Run == "" {
		a.Root, a.Run, a.Name = job, "job", ""
	}
	return a
}
