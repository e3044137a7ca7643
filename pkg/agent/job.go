package agent

import (
	"os/exec"
	"time"
)

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
