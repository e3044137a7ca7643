package agent

// A Process is named by its pid together with its start time, because pids are used again.
type Process struct {
	Pid   int
	Start int64 // the kernel's own unit; compared for equality only. 0 = not known
	Pgid  int
}

// entry is one line of the process table.
type entry struct {
	Process
	parent int
	zombie bool // ended, but not yet waited for
}
