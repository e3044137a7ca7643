// Package sandbox describes the files, hosts and resources that one command may use, and makes the operating system enforce
// that (specs/security.md). It knows paths, hosts and limits, but no tasks and boards.
//
// A Spec is complete: anything that it does not name is absent. The levels differ in how much of it the system can enforce,
// never in its meaning.
package sandbox

import "context"

// A Level is the strength of the containment of a command.
type Level string

const (
	Closed  Level = "closed"  // bubblewrap: namespaces of its own; inside them Landlock and seccomp
	Partial Level = "partial" // Landlock and seccomp only: files and system calls, no processes, no network
	Wrapped Level = "wrap"    // a command of the person's own is put before it
	Open    Level = "open"    // nothing
)

// Spec has everything that one command may read, write and reach. Paths are absolute and clean. Other paths are not visible
// at closed, and not accessible at partial.
type Spec struct {
	Level Level
	Wrap  []string // at wrap: the person's command, which is put before
	Liza  string   // the program liza; it is shown read-only

	Launcher string `json:",omitempty"` // the program that enters the sandbox (Enter); "": Liza

	Place Place `json:",omitempty"` // at closed: what is at other paths inside. All other paths of a Spec are those of the machine

	Dir   string   // working folder
	Read  []string // files and folders, read-only; a missing one is skipped
	Write []string // folders (and files), writable; a missing one is an error
	Hide  []string // folders within Read that are shown as empty
	Over  []Mount  // folders mounted at another path, writable; closed only
	Files []Mount  `json:",omitempty"` // files mounted over others, read-only; closed only
	Tools []string // folders of programs (PATH) with their dependencies, read-only

	// Home is a private folder of the run that HOME names inside. HomeRead and HomeWrite are files and
	// folders of the person's own home that are shown in it at the same relative path.
	Home                string
	Person              string // the person's own home folder
	HomeRead, HomeWrite []string

	Tmp      string // a private folder for temporary files of the run
	Proxy    string // Unix socket of the proxy; "": no network at all. At closed HTTP_PROXY and similar variables name it
	Local    []int  // ports of the machine's loopback device that the proxy allows: at closed the sandbox's own device has them too
	Limits   Limits
	Traces   bool `json:",omitempty"` // at closed: its processes may trace and schedule each other, and write their own files in /proc
	Terminal bool // a person works with it in a terminal
	User     int  `json:",omitempty"` // at closed: the user and group that it sees itself as; 0: those that it has outside
}

// A Mount shows the folder Source at the path Target.
type Mount struct{ Source, Target string }

// Limits bound one run; 0 means none.
type Limits struct {
	Processes int   // processes and threads at one time
	Memory    int64 // bytes
	Disk      int64 // bytes of each private folder
	File      int64 // bytes of one file
	Files     int   // open files of one process
}

// Capabilities are the abilities of this machine, found by trying.
type Capabilities struct {
	Bwrap          string // path of bubblewrap; "": it is not installed
	Namespaces     bool   // it can make namespaces here
	DisablesUserns bool   // it knows --disable-userns
	BwrapError     string // its message if it could not
	Hint           string // the setting of the system that forbids namespaces, as a command; may be ""

	Landlock int  // version of its interface; 0: none
	Seccomp  bool // filters of system calls

	LimitsOwn bool    // a limit of the number of processes binds this user, which it does not for root
	Cgroups   Cgroups // folders where control groups can be made
}

// minLandlock is the first version that guards files against being emptied.
const minLandlock = 3

// Machine has the functions that find facts. A test replaces those whose facts it wants to be missing.
type Machine struct {
	Find     func(program string) (path string, err error)
	Try      func(ctx context.Context, bwrap string, args ...string) error // runs it; the error has its output
	Hint     func() string
	Landlock func() int
	Seccomp  func() bool
	Root     func() bool
	Cgroups  func() Cgroups
}

// Cgroups are the folders of the kernel's control groups in which this process can make groups; "": none. With version 2 both
// are the same.
type Cgroups struct{ Pids, Memory string }

// Contained is the command to start instead of a program. It has the fields of agent.Contained, so that one converts to the
// other.
type Contained struct {
	Path string
	Argv []string
	Env  []string

	Wrapper   bool     // the command keeps the program and would end it at once when asked to end itself
	Groups    []string // control groups that were made for it; its starter puts it into them and removes them
	Processes int      // limit of processes that only a count can enforce; 0: it is enforced otherwise, or there is no limit
}

// launch has the arguments of the launcher inside the sandbox (Enter).
type launch struct {
	Spec
	Path string // path of the program
	Data int64  // bytes of memory of one process, if no control group counts those of all
}
