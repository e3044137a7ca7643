package agent

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TCGETS, unix.TCSETSW

// cldStopped is the reason that the kernel gives for a child that was stopped.
const cldStopped = 5

// waitChange waits until a child has ended, which leaves it to be reaped, or was stopped, which
// is told once. ok is false when this cannot be told here.
func waitChange(pid int) (stopped, ok bool) {
	var what unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &what, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || what.Code != cldStopped {
			return false, err == nil
		}
		// It is told until it is taken; meanwhile the program may go on, or have ended.
		_ = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOHANG, nil)
		return true, true
	}
}
