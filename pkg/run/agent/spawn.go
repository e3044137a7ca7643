package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// start spawns the program. When that fails the child is nil and the result says why.
func start(r Reader, cmd Command, s Spec) (*child, Result) {
	name := cmd.Argv[0]
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return nil, notStarted(Crashed, fmt.Errorf("cannot start %s: its working folder %s is missing", name, s.Dir))
		}
	}
	keeps := s.Keep != nil && canReap && len(s.Reaper) > 0 // then the reaper has the program's ends
	pipes, err := openPipes(cmd.Stdin && !keeps)
	if err != nil {
		return nil, notStarted(Crashed, fmt.Errorf("cannot start %s: %v", name, err))
	}
	run := rand.Text()
	x := exec.Command(name, cmd.Argv[1:]...)
	x.Dir = s.Dir
	x.Env = environment(os.Environ(), cmd, s, run)
	// A session of its own is a group of its own without a terminal: what asks for a password
	// there fails at once instead of being halted by the terminal until the stall limit.
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	x.Stdout, x.Stderr = pipes.out[1], pipes.err[1]
	if pipes.in[0] != nil {
		x.Stdin = pipes.in[0]
	}
	c, err := launch(x, s, run)
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeOurEnds()
		return nil, notStarted(startOutcome(err, s.Contain != nil), fmt.Errorf("cannot start %s: %v", name, plainStartError(err)))
	}
	if pipes.in[1] != nil {
		c.prompt = pipes.in[1]
	} else if cmd.Stdin {
		c.prompt = &input{reaper: c.reaper}
	}
	c.out = &output{reader: r, to: s.Output, began: c.began, from: [2]*os.File{pipes.out[0], pipes.err[0]}, event: s.Event}
	c.out.start()
	return c, Result{}
}

// launch starts a program, below a reaper if there is one.
func launch(x *exec.Cmd, s Spec, run string) (*child, error) {
	c := &child{cmd: x, began: time.Now()}
	var marks map[string]string
	if run != "" {
		marks = map[string]string{runVariable: run}
	}
	wall, err := contain(x, s)
	if err != nil {
		return nil, err
	}
	if s.run = run; canReap && len(s.Reaper) > 0 {
		r, leader, err := startReaper(x, s, wall)
		if err != nil {
			return nil, err
		}
		c.reaper, c.exited, c.stopped, c.reap = r, r.exited, r.stopped, sync.OnceFunc(r.wait)
		c.family = newFamily(leader, marks)
		c.family.above = r.process.Pid
		return c, nil
	}
	if s.Terminal != nil {
		quietly(func() { err = x.Start() })
	} else {
		err = x.Start()
	}
	if err != nil {
		return nil, err
	}
	c.exited, c.stopped, c.reap = make(chan struct{}), make(chan struct{}, 1), sync.OnceFunc(func() { _ = x.Wait() })
	pid := x.Process.Pid
	start, _ := ProcessStart(pid)
	c.family = newFamily(Process{Pid: pid, Start: start, Pgid: pid}, marks)
	c.family.held = true
	go c.follow(s.Terminal != nil)
	return c, nil
}

// contain puts what is to be started behind its wall.
func contain(x *exec.Cmd, s Spec) (Contained, error) {
	if s.Contain == nil || x.Err != nil {
		return Contained{}, nil
	}
	c, err := s.Contain(x.Path, x.Args, x.Env)
	if err == nil && (c.Wrapper || len(c.Groups) > 0) && (!canReap || len(s.Reaper) == 0) {
		err = errors.New("what keeps it inside needs a reaper")
	}
	if err == nil {
		x.Path, x.Args, x.Env = c.Path, c.Argv, c.Env
	}
	return c, err
}

// follow closes exited when the program has ended, and tells each time that a terminal has
// stopped it.
func (c *child) follow(terminal bool) {
	defer close(c.exited)
	for {
		halted, ok := false, false
		if terminal {
			halted, ok = waitChange(c.cmd.Process.Pid)
		} else {
			ok = waitExit(c.cmd.Process.Pid)
		}
		if !ok {
			c.reap()
		}
		if !halted {
			return
		}
		tell(c.stopped)
	}
}

// startOutcome tells a program that cannot be run from a machine that cannot run it now. The program itself has been found
// when a wall is made: what is missing then is of the wall, and is made again for the next run.
func startOutcome(err error, contained bool) Outcome {
	if contained && errors.Is(err, syscall.ENOENT) {
		return Crashed
	}
	for _, passing := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ETXTBSY} {
		if errors.Is(err, passing) {
			return Crashed
		}
	}
	return Unusable
}

// plainStartError drops what os/exec puts before the cause: the name is in our sentence already. Of what another step
// failed at, the path stays.
func plainStartError(err error) error {
	switch e := err.(type) {
	case *exec.Error:
		return e.Err
	case *os.PathError:
		return e.Err
	}
	return err
}

// pipes are the three streams: in each the read end first.
type pipes struct{ in, out, err [2]*os.File }

func openPipes(withStdin bool) (p pipes, err error) {
	streams := []*[2]*os.File{&p.out, &p.err}
	if withStdin {
		streams = append(streams, &p.in)
	}
	for _, s := range streams {
		if s[0], s[1], err = os.Pipe(); err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
			return p, err
		}
	}
	return p, nil
}

func (p pipes) closeChildEnds() { closeAll(p.in[0], p.out[1], p.err[1]) }
func (p pipes) closeOurEnds()   { closeAll(p.in[1], p.out[0], p.err[0]) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// runVariable marks everything that belongs to one run.
const runVariable = "LIZA_RUN_ID"

// foreign are the inherited variables that no run gets: Liza's, of which it has its own
// (specs/roles-and-knowledge.md#10.2), what would make its git work on somebody else's index or objects,
// and the folders of the shell in which the supervisor was started.
var foreign = []string{
	"LIZA_*",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE",
	"PWD", "OLDPWD", "INIT_CWD",
}

// environment is the child's: inherited, then the adapter's, then the run's own. PWD is the
// folder in which it starts: opencode believes that variable more than its working folder, and
// would commit in the person's checkout.
func environment(inherited []string, cmd Command, s Spec, run string) []string {
	drop := slices.Concat(foreign, cmd.Unset, s.Unset)
	var env []string
	for _, pair := range inherited {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.ContainsFunc(drop, func(d string) bool { return matches(d, name) }) {
			env = append(env, pair)
		}
	}
	env = slices.Concat(env, cmd.Env, s.Env, []string{runVariable + "=" + run})
	if s.Dir != "" {
		env = append(env, "PWD="+s.Dir)
	}
	return env
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

func notStarted(o Outcome, err error) Result {
	return Result{Outcome: o, ExitCode: -1, Error: err.Error()}
}

func quietly(do func()) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	do()
}
