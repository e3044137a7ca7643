package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/proxy"
	"liza/pkg/run/role"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/wall"
)

// An enclosure contains a member's runs: their walls, and the broker on which commands come out.
type enclosure struct {
	*member
	Walls    *wall.Maker                // nil: nothing is contained
	Commands func(InRun) broker.Handler // nil: nothing carries commands out
	RunBase  string
}

// level is how strongly the runs of a program are contained now.
func (e *enclosure) level(ctx context.Context, program string) (sandbox.Level, error) {
	if e.Walls == nil {
		return sandbox.Open, nil
	}
	level, _, err := e.Walls.Level(ctx, program)
	return level, err
}

// place is where a run that works in a folder has the files of the machine.
func (e *enclosure) place(level sandbox.Level, dir string) sandbox.Place {
	if e.Walls == nil {
		return nil
	}
	return e.Walls.Place(level, wall.Use{Name: e.ID, Dir: dir})
}

// openWall puts the program of a run behind its wall (specs/security.md). done is called when everything of the run
// has ended.
func (e *enclosure) openWall(ctx context.Context, spec *agent.Spec, r *run, task string) (done func(), err error) {
	if e.Walls == nil {
		return func() {}, nil
	}
	var state []string
	if r.program() == agent.Scripted {
		state = []string{e.Service.Board.Project.Scripted()}
		spec.Env = append(spec.Env, "LIZA_SCRIPTED="+state[0])
	}
	use := wall.Use{Also: state, Name: e.ID, Program: r.program(), For: string(r.brief.role.Role.Kind) + "+" + task, Dir: spec.Dir, Write: spec.Dir != e.Service.Board.Project.Root, Sockets: r.folder, Git: r.git, Codes: r.brief.role.Role.Kind == role.Coder,
		Read: e.readable(ctx, spec, task), Terminal: spec.Terminal != nil,
		Services: spec.Dir != e.Service.Board.Project.Root, Printed: func(service string, end []byte) { e.printed(r, task, service, end) }, Refused: func(x proxy.Refusal) { e.hostRefused(ctx, r, task, x) }}
	var w *wall.Wall
	if a := spec.Adopted; a != nil {
		w, err = e.Walls.Adopt(ctx, use, a.Files[1:])
	} else {
		w, err = e.Walls.Open(ctx, use)
	}
	if err != nil {
		return nil, err
	}
	if w.Spec.Level != r.sandbox && spec.Adopted == nil { // the settings changed since the git folder was made for the other one
		return nil, errors.Join(transition.Refuse(transition.ExitFailure, "liza config", "the sandbox level changed from %s to %s while the run began", r.sandbox, w.Spec.Level), w.Close())
	}
	r.wall, spec.Env = w, append(spec.Env, w.Variables()...)
	if w.Starts() {
		spec.Contain = w.Contain
	}
	return func() {
		if err := w.Close(); err != nil {
			e.warn(task, "cannot remove the private folders of the run: %v", err)
		}
	}, nil
}

// printed keeps what a service of a run has printed, and tells when it ended before the program.
func (e *enclosure) printed(r *run, task, service string, end []byte) {
	for line := range strings.Lines(string(end)) {
		if told, ok := strings.CutPrefix(line, "liza: the service "+service+" has ended"); ok {
			e.warn(task, "the service %s has ended%s; next: liza output %s --service %s", service, strings.TrimRight(e.Service.Board.Mask(told), "\n"), task, service)
		}
	}
	e.Service.Board.KeepPrinted(task, service, e.ID+" "+r.mark, end)
}

// readable is what of .liza is meant for a run: its prompt, and the logs of its own task, which a prompt may name.
func (e *enclosure) readable(ctx context.Context, spec *agent.Spec, task string) []string {
	files := []string{spec.PromptFile}
	for _, schema := range []string{spec.SchemaFile, spec.StrictSchemaFile} {
		if schema != "" {
			files = append(files, schema)
		}
	}
	if task != "" {
		logs, _ := filepath.Glob(filepath.Join(filepath.Dir(e.Service.Board.Project.Output(task)), task+".*"))
		files = append(files, ownLogs(logs, task, e.Service.Board.LastState(ctx))...)
	}
	return files
}

// ownLogs leaves out the logs of other tasks: those of a.b begin as those of a do.
func ownLogs(logs []string, task string, st *blackboard.State) []string {
	return slices.DeleteFunc(logs, func(log string) bool {
		for other := range st.Tasks() {
			if strings.HasPrefix(other.ID, task+".") && strings.HasPrefix(filepath.Base(log), other.ID+".") {
				return true
			}
		}
		return false
	})
}

// hostRefused tells that a run could not reach a host: once for each host and task, with the setting that allows it.
func (e *enclosure) hostRefused(ctx context.Context, r *run, task string, x proxy.Refusal) {
	what := fmt.Sprintf("%s could not reach %s: %s; next: %s", r.program(), x.Host, x.Why, x.Next)
	r.record.unreached(x.Host)
	e.warn(task, "%s", what)
	e.Service.HostRefused(context.WithoutCancel(ctx), task, what)
}

// openBroker opens the way on which commands come out of a run, in a folder of the run. It is open before
// the program starts; done is called, once or more, when everything of the run has ended.
func (e *enclosure) openBroker(spec *agent.Spec, r *run, task, token string) (done func(), err error) {
	if e.Commands == nil {
		return func() {}, nil
	}
	root := e.Service.Board.Project.Root
	var folder *broker.Folder
	if a := spec.Adopted; a != nil {
		folder, err = broker.Adopt(broker.PathOf(e.RunBase, root, e.ID), a.Files[0])
	} else {
		folder, err = broker.MakeFolder(e.RunBase, root, e.ID)
	}
	if err != nil {
		return nil, err
	}
	r.folder, r.socket = folder.Path, folder.Listener
	spec.Env = append(spec.Env, "LIZA_BROKER="+filepath.Join(folder.Path, broker.Socket))
	r.started = make(chan struct{})
	server := broker.Serve(folder.Listener, e.Commands(InRun{Agent: e.ID, Token: token, Mark: r.mark, Task: task, Root: root, Place: r.place}), r.holds)
	return sync.OnceFunc(func() {
		if !server.Close() {
			e.warn(task, "a command of the run has not ended yet; it ends by itself")
		}
		if err := folder.Remove(); err != nil {
			e.warn(task, "cannot remove the folder of the run: %v", err)
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
