package agent

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a program that runs.
type child struct {
	cmd     *exec.Cmd
	began   time.Time
	family  *family
	out     *output        // nil when it has a terminal
	asks    *Question      // what it was stopped for
	prompt  io.WriteCloser // its stdin; nil when it gets none
	given   bool           // the program has its prompt
	own     bool           // it ended by itself, before anything stopped it
	talk    *speaker       // says texts over it; nil: it takes the prompt only
	reaper  *reaper        // what it runs below; nil when it is our own child
	exited  chan struct{}  // closed when it has ended
	stopped chan struct{}  // gets a value when its terminal has stopped it
	reap    func()         // waits for it; to be called once it has ended
}

// begin reports the process and then hands over the prompt, in this order: the program must not
// act before it is known who acts.
func (c *child) begin(s Spec) (Outcome, string) {
	if s.Started != nil {
		if err := s.Started(c.family.leader); err != nil {
			return Killed, err.Error()
		}
	}
	if c.talk != nil {
		c.talk.begin(c.prompt, s.Prompt, c.given)
		if s.Spoken != nil {
			s.Spoken(c.talk.say)
		}
		return "", ""
	}
	if c.prompt != nil {
		go func() {
			// A program may end, or close its input, without reading all of the prompt.
			_, _ = io.WriteString(c.prompt, s.Prompt)
			c.prompt.Close()
		}()
	}
	return "", ""
}

// watch waits until the program ends or has to be stopped. It returns the outcome if that is
// settled by the stop; an empty one leaves it to the reader.
func (c *child) watch(ctx context.Context, cmd Command, s Spec) (Outcome, string) {
	timeout, stall, end := timer(s.Timeout-time.Since(c.began), s.Timeout > 0), timer(s.Stall, s.Stall > 0), timer(0, false)
	ask := timer(askSilence, true)
	defer ask.Stop()
	defer timeout.Stop()
	defer stall.Stop()
	defer end.Stop()
	life := signs{activity: s.Activity}
	for {
		var cause Outcome
		var why string
		select {
		case <-c.exited:
			c.own = true
			return c.tooMany()
		case <-c.out.change:
			end.Stop()
			if c.out.ended.Load() && cmd.EndGrace > 0 {
				end.Reset(cmd.EndGrace)
			}
			continue
		case <-end.C:
			if !c.out.ended.Load() {
				continue
			}
			return "", "" // it has said its last word and hangs: what it said counts
		case <-ask.C:
			quiet := c.out.silence()
			if quiet < askSilence {
				ask.Reset(askSilence - quiet)
				continue
			}
			if c.asks = c.out.question(); c.asks == nil {
				ask.Reset(askSilence)
				continue
			}
			cause, why = Asked, "asks on its terminal, where nobody is: "+c.asks.Text
		case <-stall.C:
			quiet := c.out.silence()
			if quiet >= s.Stall {
				quiet = min(quiet, life.idle(time.Now(), c.began))
			}
			if quiet < s.Stall {
				stall.Reset(s.Stall - quiet)
				continue
			}
			cause, why = Stalled, "no output and no change for "+s.Stall.String()
		case <-timeout.C:
			cause, why = TimedOut, "still running after "+s.Timeout.String()
		case <-ctx.Done():
			cause, why = Killed, "stopped: "+context.Cause(ctx).Error()
		}
		select {
		case <-c.exited: // by itself, in the same moment
			c.own = true
			return c.tooMany()
		default:
			if c.out.ended.Load() {
				return "", ""
			}
			return cause, why
		}
	}
}

// tooMany is the outcome of a run that was ended because of the number of its processes; nothing otherwise.
func (c *child) tooMany() (Outcome, string) {
	if c.reaper == nil || c.reaper.tooMany == 0 {
		return "", ""
	}
	return Crashed, fmt.Sprintf("stopped: it ran %d processes and threads at a time, more than sandbox.limits.processes allows", c.reaper.tooMany)
}

// timer returns a timer that fires after d, or one that is stopped.
func timer(d time.Duration, on bool) *time.Timer {
	t := time.NewTimer(max(d, 0))
	if !on {
		t.Stop()
	}
	return t
}

// signs judges the times that Spec.Activity gives. A file may bear a time of the future; it is
// a sign of life when it appears, not for as long as that time has not come.
type signs struct {
	activity func() time.Time
	seen     time.Time // the last answer
	life     time.Time // the last sign of life
}

// idle is the time since the last sign of life, or since the beginning.
func (l *signs) idle(now, began time.Time) time.Duration {
	if l.activity != nil {
		if at := l.activity(); !at.Equal(l.seen) {
			l.seen, l.life = at, at
			if at.After(now) {
				l.life = now
			}
		}
	}
	if l.life.Before(began) {
		return now.Sub(began)
	}
	return now.Sub(l.life)
}

// end stops what still runs, reaps the child, and takes in the rest of the output. It returns
// what could not be stopped.
func (c *child) end(grace time.Duration) []Process {
	if c.reaper != nil {
		grace = c.reaper.end(grace)
	} else {
		grace = c.term(grace)
	}
	left, err := c.family.clear(context.Background(), grace)
	if err != nil && left == nil { // the process table cannot be read; the group is ours all the same
		_ = c.family.signal(syscall.SIGKILL, nil)
	}
	reap := c.reap
	if c.reaper != nil {
		if c.reaper.holding() {
			reap = func() {} // Result.Recorded does
		}
		reap()
		left = c.reaper.add(left)
	}
	select {
	case <-c.exited:
		reap()
	case <-time.After(killWait):
		if !slices.Contains(left, c.family.leader) {
			left = append(left, c.family.leader)
		}
		go func() { <-c.exited; c.reap() }() // whenever that may be
	}
	if c.talk != nil {
		c.talk.end()
	}
	if c.prompt != nil {
		c.prompt.Close()
	}
	if c.out != nil {
		c.out.finish(drainWait)
	}
	return left
}

// term asks the program to end, and returns how much time to leave to what remains.
func (c *child) term(grace time.Duration) time.Duration {
	select {
	case <-c.exited:
		return min(grace, sweepGrace)
	default:
	}
	members, _ := c.family.members()
	_ = c.family.signal(syscall.SIGTERM, members)
	select {
	case <-c.exited:
		return min(grace, sweepGrace)
	case <-time.After(grace):
		return 0
	}
}

// status is how the program ended, once it has been reaped.
func (c *child) status() (syscall.WaitStatus, bool) {
	if c.reaper != nil {
		return c.reaper.status()
	}
	return statusOf(c.cmd)
}

// exit is the same in the words of a judge.
func (c *child) exit() Exit {
	e := Exit{Code: -1}
	if status, ok := c.status(); ok {
		e.Code = status.ExitStatus()
		if status.Signaled() {
			e.Signal = unix.SignalName(status.Signal())
		}
	}
	return e
}

// result puts together what the reader says and what Run knows.
func (c *child) result(cmd Command, cause Outcome, why string, left []Process) Result {
	e := c.exit()
	e.Stdout, e.Stderr, e.After, e.At = c.out.kept[stdout].bytes(), c.out.kept[stderr].bytes(), c.out.after.bytes(), time.Now()
	res := c.out.reader.End(e)
	res.ExitCode, res.Signal = e.Code, e.Signal
	res.Tail, res.OutputError, res.Left = c.out.lastLines(), c.out.failed, left
	res.Seconds = time.Since(c.began).Seconds()
	if cut := len(res.Final) - MaxFinal; cut > 0 {
		res.Final = strings.ToValidUTF8(res.Final[cut:], "")
	}
	refused := res.Outcome.Transient() || res.Outcome == QuotaWindow
	switch {
	case cause == Stalled && refused:
		// It waits for its provider and says nothing: what the provider said counts.
		res.Error = strings.TrimSuffix(why+"; "+res.Error, "; ")
	case cause != "":
		if cause == Asked {
			res.Question = c.asks
		}
		res.Outcome, res.Error = cause, why
		res.RetryAfter, res.ResetAt = 0, time.Time{}
	case c.own && e.killed() && (res.Outcome == Finished || res.Outcome == Reask || res.Outcome == Stopped):
		res.Outcome, res.Error = Crashed, howEnded(e)+": what it said last is not its own, perhaps"
	case cmd.RestartCode != 0 && e.Code == cmd.RestartCode:
		res.Outcome, res.Restart = Crashed, true
		res.Error = fmt.Sprintf("exit code %d: start me again", e.Code)
	}
	return res
}

// drainWait is how long the output is read on after the last known process has ended.
const drainWait = time.Second

// A Job is a command that is not an agent program: a check, a hook, a setup. It runs below a reaper and behind a wall
// like one, and unlike one it ends with this process.
type Job struct{ c *child }

// StartJob starts it. Of the Spec only Reaper, Contain and KillGrace count; the command has everything else, and
// WaitDelay bounds how long its streams are waited for when they are not files.
func StartJob(x *exec.Cmd, s Spec) (*Job, error) {
	s.tied = true
	c, err := launch(x, s, "")
	if err != nil {
		return nil, err
	}
	return &Job{c}, nil
}

// Pid is that of the command, which leads a group of its own.
func (j *Job) Pid() int { return j.c.family.leader.Pid }

// Ended is closed when the command has ended; what it started may still run.
func (j *Job) Ended() <-chan struct{} { return j.c.exited }

// End ends what still runs: TERM, after grace KILL. It returns how the command ended, and a sentence if that was because it ran too
// many processes.
func (j *Job) End(grace time.Duration) (e Exit, why string) {
	j.c.end(grace)
	_, why = j.c.tooMany()
	return j.c.exit(), why
}
