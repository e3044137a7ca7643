package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"liza/pkg/agent"
	"liza/pkg/broker"
)

// openBroker opens the way on which commands come out of a run, in a folder of the run. It is open before
// the program starts; done is called, once or more, when everything of the run has ended.
func (s *Supervisor) openBroker(spec *agent.Spec, r *run, task, token string) (done func(), err error) {
	if s.Commands == nil {
		return func() {}, nil
	}
	root := s.Service.Project.Root
	folder, err := broker.MakeFolder(s.RunBase, root, s.ID)
	if err != nil {
		return nil, err
	}
	r.folder = folder.Path
	spec.Env = append(spec.Env, "LIZA_BROKER="+filepath.Join(folder.Path, broker.Socket))
	r.started = make(chan struct{})
	server := broker.Serve(folder.Listener, s.Commands(InRun{Agent: s.ID, Token: token, Mark: r.mark, Task: task, Root: root}), r.holds)
	return sync.OnceFunc(func() {
		if !server.Close() {
			s.warn(task, "a command of the run has not ended yet; it ends by itself")
		}
		if err := folder.Remove(); err != nil {
			s.warn(task, "cannot remove the folder of the run: %v", err)
		}
	}), nil
}

// begun notes below which process everything of the run is: the reaper of its program.
func (r *run) begun(p agent.Process) {
	r.top = p
	if above := agent.Ancestors(p.Pid); len(above) > 0 && above[0].Pid != os.Getpid() {
		r.top = above[0]
	}
}

// noted lets the commands of the run come. Before, the board does not know the run: a command of a program that calls one at once
// would be taken for that of an earlier run, and what it hands in would not be pushed.
func (r *run) noted() {
	if r.started != nil {
		close(r.started)
	}
}

// holds reports whether a process is one of the run. A command may come before the program's start is noted.
func (r *run) holds(pid int) bool {
	select {
	case <-r.started:
	case <-time.After(startNoted):
		return false
	}
	return pid == r.top.Pid || slices.ContainsFunc(agent.Ancestors(pid), func(a agent.Process) bool { return a.Pid == r.top.Pid && a.Start == r.top.Start })
}

// startNoted is how long a command waits for that: as long as the board may be locked, or its database away.
const startNoted = 2 * time.Minute
