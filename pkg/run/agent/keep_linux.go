package agent

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// adoptWait is how long a reaper may take to answer.
const adoptWait = 5 * time.Second

// Adopt takes over the run whose reaper listens at socket. The process that has it is the only one that may go on with it or end it: that is a lock, which
// ends with this process. The error is ErrNotKept, ErrHeld, ErrSettling, or what the system says.
func Adopt(socket string) (*Adopted, error) {
	dialed, err := net.DialTimeout("unix", socket, adoptWait)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotKept, err)
	}
	conn := dialed.(*net.UnixConn)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(adoptWait))
	if err := json.NewEncoder(conn).Encode(order{Adopt: true}); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotKept, err)
	}
	one, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*maxKept))
	n, oob, _, _, err := conn.ReadMsgUnix(one, rights)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%w: it does not answer: %v", ErrNotKept, err)
	}
	files, err := received(rights[:oob])
	if err == nil && len(files) < 2 {
		var n note
		if _ = json.NewDecoder(conn).Decode(&n); n.Settling {
			return nil, ErrSettling
		} else if n.Held {
			return nil, ErrHeld
		}
		err = ErrNotKept
	}
	if err != nil {
		closeAll(files...)
		return nil, err
	}
	a := &Adopted{streams: [2]*os.File(files), Files: files[2:]}
	if a.control, err = conn.File(); err == nil {
		a.notes = json.NewDecoder(a.control)
		err = a.notes.Decode(&a.first)
	}
	if err != nil {
		closeAll(append(files, a.control)...)
		return nil, fmt.Errorf("%w: it does not answer: %v", ErrNotKept, err)
	}
	a.Facts, a.Began = a.first.Facts, a.first.Began
	return a, nil
}

// Dial connects to a port of the loopback device inside the sandbox of the run whose reaper listens at socket. The error is ErrNotKept
// when no reaper answers, and ErrRefused when nothing listens.
func Dial(socket string, port int) (net.Conn, error) {
	_, files, err := askAtDoor(socket, port)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, ErrRefused
	}
	defer closeAll(files...)
	return net.FileConn(files[0])
}

// Listening returns the ports on which servers of that run listen, in order.
func Listening(socket string) (ports []int, err error) {
	answer, files, err := askAtDoor(socket, 0)
	closeAll(files...)
	for _, word := range strings.Fields(answer) {
		if port, err := strconv.Atoi(word); err == nil {
			ports = append(ports, port)
		}
	}
	return ports, err
}

func askAtDoor(socket string, port int) (answer string, files []*os.File, err error) {
	dialed, err := net.DialTimeout("unix", socket, adoptWait)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %v", ErrNotKept, err)
	}
	conn := dialed.(*net.UnixConn)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * adoptWait))
	text, rights := make([]byte, 1<<10), make([]byte, unix.CmsgSpace(4))
	if err = json.NewEncoder(conn).Encode(order{Port: &port}); err == nil {
		var n, with int
		if n, with, _, _, err = conn.ReadMsgUnix(text, rights); err == nil {
			files, err = received(rights[:with])
			return string(text[:n]), files, err
		}
	}
	return "", nil, fmt.Errorf("%w: it does not answer: %v", ErrNotKept, err)
}

// maxKept is how many files a reaper may hand over.
const maxKept = 16

// received are the files that came with a message.
func received(rights []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	for _, m := range messages {
		fds, _ := unix.ParseUnixRights(&m)
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			_ = unix.SetNonblock(fd, true) // so that a deadline ends a read
			files = append(files, os.NewFile(uintptr(fd), "kept"))
		}
	}
	return files, err
}
