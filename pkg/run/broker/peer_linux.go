package broker

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer is the process that has connected, as it is numbered here. One that is not known is -1, which belongs to no run.
func peer(conn net.Conn) int {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return -1
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return -1
	}
	pid := -1
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && cred.Pid > 0 {
			pid = int(cred.Pid)
		}
	})
	return pid
}
