package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
	"liza/pkg/run/agent"
)

// Command is one command of a check, run by sh -c in a folder.
type Command struct {
	Shell   string
	Dir     string
	Log     string // file to which its output is appended; unused with Output
	Timeout time.Duration
	Hide    []string // names of variables that it does not get; it never gets LIZA_*
	Environ []string // nil: that of this process
	Also    []string // variables besides those, but not besides Env

	// Mask masks secrets in the written log; nil: nothing is masked. Its result is closed before Run returns.
	Mask func(log io.Writer) io.WriteCloser

	ReadOnly bool        // Dir is the main checkout, which it only reads; it is not started without a sandbox that prevents writes
	Reads    []string    // further paths that it may read
	Writes   []string    // further folders that it may write
	Git      *git.Folder // its own git folder, in which it may commit; nil: it may only read git
	Project  string      // root of its project, for JobVariable: its calls of Liza act for no agent and no person

	Services string // name under which what the project's services print is kept; they run beside the command. "": they do not
	Fills    string // the service whose data it makes, in the folder Data, which is among Writes: names in Argv are resolved. "": none
	Data     string
	DataOf   string // commit at which the data of services is made; "": the head of the integration branch

	Name    string        // name of its sandbox, unique among the running commands; "": that of Dir
	Argv    []string      // the program and its arguments, instead of sh -c Shell
	Env     []string      // exactly its environment; nil: that of this process without hidden variables
	Stdin   string        // "": stdin is closed
	Stdout  io.Writer     // gets its stdout, besides the log; may be nil
	Output  io.Writer     // gets all its output, unmasked, instead of the log, for commands that only read; nil: the log does
	Most    int           // most bytes of output, after which it is killed; 0: no limit
	Holds   *os.File      // inherited, so that a lock on it lasts as long as any of its processes; may be nil
	Started func(pid int) // called once; may be nil

	// Reaper, Spawn and Contain are as for an agent program (agent.Spec): with them it runs below a reaper, which ends
	// detached processes, and in a sandbox.
	Reaper  []string
	Spawn   string
	Contain func(path string, argv, env []string) (agent.Contained, error)

	// Refused returns what the sandbox refused, a line each; called at its end, may be nil.
	Refused func() []Refused
	// Watch checks, until ctx ends, whether the command has to be stopped, and then calls over with the reason; may be nil.
	Watch func(ctx context.Context, over func(error))
}

// Ran is the result of a command.
type Ran struct {
	ExitCode int // -1 if it was killed or never started
	TimedOut bool
	TooMuch  bool // it was killed for the size of its output
	Seconds  int
	Waited   time.Duration // until it could be started
	Refused  []Refused     // resources that it could not reach, or why it was stopped
	Err      error         // it could not be started, or ctx ended it
}

// Unreached returns the end of a sentence about the resources that it could not reach, a frequent cause of its failure, or
// "".
func (r Ran) Unreached() string {
	if len(r.Refused) == 0 {
		return ""
	}
	return "; it " + r.Refused[0].String()
}

// Refusals are all that it was refused, a line each.
func (r Ran) Refusals() (lines []string) {
	for _, one := range r.Refused {
		lines = append(lines, one.String())
	}
	return lines
}

// A Refused is what a command was not allowed to do, and the setting that allows it.
type Refused struct{ What, Next string }

func (r Refused) String() string { return r.What + prose.After("; next: ", r.Next) }

// Failed reports whether the command failed.
func (r Ran) Failed() bool { return r.Err != nil || r.TimedOut || r.TooMuch || r.ExitCode != 0 }

const (
	commandGrace = 5 * time.Second
	maxLog       = 20 << 20 // most bytes of output that are kept of one command
)

// Run runs the command in its own process group, with an empty stdin. At the time limit, or when ctx ends, the group and its
// descendants get TERM and, after a grace, KILL. Remaining processes are killed after a normal end too.
func (c Command) Run(ctx context.Context) Ran {
	if c.Output != nil {
		return c.run(ctx, c.Output)
	}
	log, err := c.open()
	if err != nil {
		return Ran{ExitCode: -1, Err: err}
	}
	defer log.Close()
	var to io.Writer = log
	if c.Mask != nil {
		masked := c.Mask(log)
		defer masked.Close()
		to = masked
	}
	shown := c.Shell
	if c.Argv != nil {
		shown = strings.Join(c.Argv, " ")
	}
	if _, err := fmt.Fprintf(to, "$ %s\n", shown); err != nil {
		return Ran{ExitCode: -1, Err: fmt.Errorf("cannot write the log of %q: %v", c.Shell, err)}
	}
	began := time.Now()
	r := c.run(ctx, to)
	r.Seconds = int(time.Since(began).Seconds())
	if c.Refused != nil {
		r.Refused = append(r.Refused, c.Refused()...)
	}
	for _, line := range r.Refused {
		fmt.Fprintf(to, "liza: the command %s\n", line)
	}
	if r.TimedOut {
		fmt.Fprintf(to, "\nstopped: the time limit of %s is over\n", c.Timeout)
	}
	if r.TooMuch {
		fmt.Fprintf(to, "\n[… stopped: more than %d bytes of output]\n", c.Most)
	}
	return r
}

func (c Command) run(ctx context.Context, log io.Writer) Ran {
	work := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		work, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	work, tooMuch := context.WithCancelCause(work)
	defer tooMuch(nil)
	if ctx.Err() != nil {
		return Ran{ExitCode: -1, Err: context.Cause(ctx)}
	}
	sink := io.Writer(&capped{out: log, left: maxLog})
	if c.Most > 0 {
		sink = &bounded{out: sink, left: c.Most, over: func() { tooMuch(errTooMuch) }}
	}
	out, err := newOutput(sink)
	if err != nil {
		return Ran{ExitCode: -1, Err: err}
	}
	argv := c.Argv
	if argv == nil {
		argv = []string{"sh", "-c", c.Shell}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.environment(), out.write, out.write
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	if c.Stdout != nil {
		cmd.Stdout = io.MultiWriter(out.write, c.Stdout)
	}
	if c.Holds != nil {
		cmd.ExtraFiles = []*os.File{c.Holds}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = commandGrace
	job, err := agent.StartJob(cmd, agent.Spec{Reaper: c.Reaper, Spawn: c.Spawn, Contain: c.Contain, KillGrace: commandGrace})
	if err != nil {
		out.close()
		return Ran{ExitCode: -1, Err: err}
	}
	if c.Started != nil {
		c.Started(job.Pid())
	}
	if c.Watch != nil {
		go c.Watch(work, func(err error) { tooMuch(&overError{err}) })
	}
	grace, stopped := time.Duration(0), false // by itself: nothing that it left gets any time
	select {
	case <-job.Ended():
	case <-work.Done():
		grace, stopped = commandGrace, true
	}
	exit, why := job.End(grace)
	out.close()

	r, over := Ran{ExitCode: exit.Code}, (*overError)(nil)
	switch {
	case why != "":
		r.Err = errors.New(why)
	case stopped && ctx.Err() != nil:
		r.Err = context.Cause(ctx)
	case stopped && errors.Is(context.Cause(work), errTooMuch):
		r.TooMuch = true
	case stopped && errors.As(context.Cause(work), &over):
		r.ExitCode, r.Refused = -1, []Refused{{What: "was stopped: " + over.Error()}}
	case stopped:
		r.TimedOut = true
	}
	return r
}

// output is a pipe whose content goes to the log. The command's end closes it, unless a
// process that left the group holds it open: that one is not waited for.
type output struct {
	read, write *os.File
	done        chan struct{}
}

func newOutput(to io.Writer) (*output, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %v", err)
	}
	o := &output{read: read, write: write, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		_, _ = io.Copy(to, o.read)
	}()
	return o, nil
}

func (o *output) close() {
	_ = o.write.Close()
	_ = o.read.SetReadDeadline(time.Now().Add(time.Second))
	<-o.done
	_ = o.read.Close()
}

func (c Command) open() (*safefile.Log, error) {
	log, err := safefile.OpenLog(c.Log, 0o644, safefile.MaxLog)
	if err != nil {
		return nil, fmt.Errorf("cannot log the output of %q: %v", c.Shell, err)
	}
	return log, nil
}

// ofElsewhere are variables that would point a command at another repository or folder.
var ofElsewhere = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE",
	"PWD", "OLDPWD", "INIT_CWD",
}

// JobVariable marks a command that is not an agent's, and its children, with the root of its project: a person who merges or
// claims starts checks, hooks and setups, which run code of agents.
const JobVariable = "LIZA_JOB"

// environment returns the environment of this process without identity, tokens and secrets of Liza, and without variables
// that would point at another repository or folder: PWD is the command's own.
func (c Command) environment() []string {
	environ := slices.Clone(c.Env)
	switch {
	case c.Env != nil:
	case c.Environ != nil:
		environ = append(c.visible(slices.Clone(c.Environ)), c.Also...)
	default:
		environ = append(c.visible(os.Environ()), c.Also...)
	}
	if c.Dir != "" {
		environ = append(environ, "PWD="+c.Dir)
	}
	if c.Project != "" && c.Env == nil { // a task's own command has its exact environment, and a supervisor above it
		environ = append(environ, JobVariable+"="+c.Project)
	}
	return environ
}

func (c Command) visible(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "LIZA_") || slices.Contains(ofElsewhere, name) || slices.Contains(c.Hide, name)
	})
}

var errTooMuch = errors.New("too much output")

// overError is why Watch stopped a command.
type overError struct{ error }

// bounded passes so many bytes on; with the first one more it says so, once, and drops the rest.
type bounded struct {
	out  io.Writer
	left int
	over func()
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.left)]
	b.left -= len(keep)
	if len(keep) < len(p) && b.over != nil {
		b.over()
		b.over = nil
	}
	if _, err := b.out.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}

// capped passes so many bytes on and drops the rest, so that no output fills the disk. It
// never fails: a command must not stand still because its log cannot be written.
type capped struct {
	out  io.Writer
	left int
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	keep := p[:min(len(p), c.left)]
	c.left -= len(keep)
	if _, err := c.out.Write(keep); err != nil {
		c.left, c.over = 0, true
	}
	if len(keep) < len(p) && !c.over {
		c.over = true
		fmt.Fprintf(c.out, "\n[… the rest of the output is left out]\n")
	}
	return len(p), nil
}
