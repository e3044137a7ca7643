package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// A Wall is the sandbox of one program, with the reason for its level.
type Wall struct {
	Spec   Spec
	Reason string   // why the level is below closed, or ""; "" also if a person chose it
	Hosts  []string // hosts that the proxy allows
	Env    []string // NAME=value: the whole environment of the program
}

// Targets are the objects that a sandbox has to protect. Prove tries each, and changes none even if that succeeds.
type Targets struct {
	Board   string   // a file that a run must not write
	Folders []string // folders in which a run must not make a file
	Mark    string   // the name of that file
	Private string   // a file or folder that a run must not read
	Address string   // HOST:PORT of a listener outside of the sandbox
	Host    string   // HOST:PORT that the proxy must refuse
	Pid     int      // id of a process outside

	Database string // address, without a password, of the database of the board
}

// An Attempt is one act that a sandbox has to refuse.
type Attempt struct {
	Act     string `json:"act"`
	Target  string `json:"target"`
	Refused bool   `json:"refused"`
	How     string `json:"how"` // message of the system
}

// The acts that Prove tries.
const (
	ActWrite   = "write to the board"
	ActMake    = "make a file outside of its worktree"
	ActRead    = "read a file that is not for it"
	ActConnect = "connect to a port of this machine"
	ActReach   = "reach a host that is not allowed"
	ActSignal  = "signal a process outside"
	ActOpen    = "open the board's database without a password"
)

// attemptCommand is the hidden command of liza that makes the attempts inside a wall.
const attemptCommand = "attempt"

// Prove tries, in a sandbox, the acts that it has to refuse.
func Prove(ctx context.Context, s Spec, f Capabilities, t Targets) ([]Attempt, error) {
	t.Mark = fmt.Sprintf(".liza-doctor-%d", os.Getpid())
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	s.Limits.Processes, s.Limits.Memory = 0, 0 // they need somebody who removes what they leave
	c, err := s.Command(f, s.Liza, []string{"liza", attemptCommand, string(text)}, []string{"PATH=/usr/bin:/bin"})
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread() // the wall dies with the thread that has started it
	defer runtime.UnlockOSThread()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Argv, c.Env, s.Dir, &out, &errs, time.Second
	err = cmd.Run()
	var list []Attempt
	if bad := json.Unmarshal(out.Bytes(), &list); bad != nil {
		return nil, fmt.Errorf("cannot try the wall: %v: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	for i, a := range list {
		if made := filepath.Join(a.Target, t.Mark); a.Act == ActMake && !a.Refused {
			// A folder of the same name in the private /tmp of the wall is another folder.
			if err := os.Remove(made); errors.Is(err, fs.ErrNotExist) {
				list[i].Refused, list[i].How = true, "it was made elsewhere"
			}
		}
	}
	return list, nil
}

// Attempted makes the attempts if the command line requests them; it runs inside the sandbox. open connects to a database.
func Attempted(args []string, stdout io.Writer, open func(address string) error) bool {
	var t Targets
	if len(args) != 2 || args[0] != attemptCommand || json.Unmarshal([]byte(args[1]), &t) != nil {
		return false
	}
	_ = json.NewEncoder(stdout).Encode(t.attempts(open))
	return true
}

func (t Targets) attempts(database func(address string) error) []Attempt {
	var list []Attempt
	try := func(act, target string, do func() error) {
		if target == "" {
			return
		}
		a := Attempt{Act: act, Target: target}
		if err := do(); err != nil {
			a.Refused, a.How = true, err.Error()
		}
		list = append(list, a)
	}
	open := func(path string, flag int) func() error {
		return func() error {
			file, err := os.OpenFile(path, flag, 0o600)
			if err != nil {
				return err
			}
			return file.Close()
		}
	}
	try(ActWrite, t.Board, open(t.Board, os.O_WRONLY)) // not emptied, and nothing is written
	for _, folder := range t.Folders {
		try(ActMake, folder, open(filepath.Join(folder, t.Mark), os.O_CREATE|os.O_EXCL|os.O_WRONLY))
	}
	try(ActRead, t.Private, open(t.Private, os.O_RDONLY))
	try(ActConnect, t.Address, func() error {
		c, err := net.DialTimeout("tcp", t.Address, 2*time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	})
	try(ActReach, t.Host, func() error { return t.reach() })
	try(ActOpen, t.Database, func() error { return database(t.Database) })
	if t.Pid > 0 {
		try(ActSignal, fmt.Sprint(t.Pid), func() error { return syscall.Kill(t.Pid, 0) })
	}
	return list
}

// reach asks the proxy of the wall for a tunnel, as any program would.
func (t Targets) reach() error {
	proxy, err := net.DialTimeout("tcp", ForwardAddress, 5*time.Second)
	if err != nil {
		return err
	}
	defer proxy.Close()
	if err := proxy.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	_, err = askFor(proxy, t.Host)
	return err
}

// Covers reports whether a level promises to refuse an act.
func (l Level) Covers(act string) bool {
	return l == Closed || l == Partial && !slices.Contains([]string{ActConnect, ActReach, ActOpen}, act)
}
