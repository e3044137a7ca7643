//go:build !linux

package agent

import (
	"errors"
	"net"
	"os/exec"
)

const canReap = false

// Reap is known on Linux only.
func Reap() int { return 2 }

func startReaper(*exec.Cmd, Spec, Contained) (*reaper, Process, error) {
	return nil, Process{}, errors.ErrUnsupported
}

func leaveNoGroups([]string) {}

// Adopt is known on Linux only.
func Adopt(string) (*Adopted, error) { return nil, ErrNotKept }

// Dial and Listening are known on Linux only.
func Dial(string, int) (net.Conn, error) { return nil, ErrNotKept }

func Listening(string) ([]int, error) { return nil, ErrNotKept }
