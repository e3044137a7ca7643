package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

const canReap = true

// errInterrupted is the error of a reaper that a Ctrl-C in the terminal met before it had left this process group.
var errInterrupted = errors.New("its reaper was interrupted")

// startReaper starts a program below a reaper and returns that of the program. It takes a
// command that is ready to be started, and leaves it so. A reaper that was interrupted has started nothing, and is started again.
func startReaper(x *exec.Cmd, s Spec, c Contained) (*reaper, Process, error) {
	_, file := x.Stdin.(*os.File)
	for again := 2; ; again-- {
		r, p, err := startReaperOnce(x, s, c)
		if err == nil {
			return r, p, nil
		}
		if !errors.Is(err, errInterrupted) || again == 0 || x.Stdin != nil && !file {
			leaveNoGroups(c.Groups)
			return nil, Process{}, err
		}
	}
}

func startReaperOnce(x *exec.Cmd, s Spec, c Contained) (*reaper, Process, error) {
	if x.Err != nil {
		return nil, Process{}, x.Err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, Process{}, err
	}
	defer theirs.Close()
	r := &reaper{control: ours, exited: make(chan struct{}), stopped: make(chan struct{}, 1), gone: make(chan struct{}), leave: func() { leaveNoGroups(c.Groups) }}
	r.cmd = &exec.Cmd{Path: cmp.Or(s.Spawn, "/proc/self/exe"), Args: s.Reaper, Dir: x.Dir, Env: x.Env,
		Stdin: x.Stdin, Stdout: x.Stdout, Stderr: x.Stderr, ExtraFiles: append([]*os.File{theirs}, x.ExtraFiles...)}
	kept := 0
	if s.Keep != nil {
		r.cmd.ExtraFiles = slices.Concat(r.cmd.ExtraFiles, []*os.File{s.Keep.Socket}, s.Keep.Files)
		kept = 1 + len(s.Keep.Files)
	}
	if s.Door != nil {
		r.cmd.ExtraFiles = append(r.cmd.ExtraFiles, s.Door)
	}
	r.cmd.WaitDelay = x.WaitDelay
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: s.Terminal == nil, Setpgid: s.Terminal != nil}
	if err := r.cmd.Start(); err != nil {
		ours.Close()
		return nil, Process{}, err
	}
	start, _ := ProcessStart(r.cmd.Process.Pid)
	r.process = Process{Pid: r.cmd.Process.Pid, Start: start}
	theirs.Close()
	first := order{Path: x.Path, Argv: x.Args, Terminal: s.Terminal != nil, Grace: s.KillGrace, Tied: s.tied, Files: len(x.ExtraFiles),
		Wrapper: c.Wrapper, Groups: c.Groups, Processes: c.Processes, Kept: kept, Door: s.Door != nil}
	if s.Keep != nil {
		first.Stdin, first.Run, first.Facts, first.Wait = s.prompted, s.run, s.Keep.Facts, s.Keep.Wait
	}
	notes := json.NewDecoder(ours)
	var n note
	if err = json.NewEncoder(ours).Encode(first); err == nil {
		err = notes.Decode(&n)
	}
	switch {
	case err == nil && n.Step != "":
		err = fmt.Errorf("%s: %w", n.Step, n.Errno)
	case err == nil && n.Errno != 0 && s.Contain != nil: // it is not the program that is started
		err = fmt.Errorf("%s: %w", x.Path, n.Errno)
	case err == nil && n.Errno != 0:
		err = n.Errno
	case err == io.EOF || err == nil && n.Pid == 0:
		err = fmt.Errorf("its reaper has ended")
	}
	if err != nil {
		close(r.gone)       // nobody listens
		r.leave = func() {} // startReaper leaves the groups: the next try enters them again
		r.cmd.Process.Kill()
		r.wait()
		status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ok && slices.Contains([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP}, status.Signal()) {
			err = errInterrupted
		}
		return nil, Process{}, err
	}
	go r.listen(notes, false)
	start, _ = ProcessStart(n.Pid)
	return r, Process{Pid: n.Pid, Start: start, Pgid: n.Pid}, nil
}

// socketPair returns two ends that no program inherits by chance.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	_ = unix.SetNonblock(pair[0], true) // so that closing it ends a read
	return os.NewFile(uintptr(pair[0]), "reaper"), os.NewFile(uintptr(pair[1]), "supervisor"), nil
}
