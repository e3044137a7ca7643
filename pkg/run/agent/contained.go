package agent

// Contained is a program behind a wall.
type Contained struct {
	Path string   // of what is started
	Argv []string // its name first
	Env  []string // all of it

	// Wrapper says that what is started is not the program but what keeps it: asked to end, it would end
	// at once and take the program with it. It is started with those signals ignored, so that TERM ends what is
	// inside. How the program ended it tells on its file descriptor 3, if it can.
	Wrapper bool

	// Groups are control groups that exist. The program starts in them, and they are removed after its end.
	Groups []string

	// Processes is the most that may run below the reaper, which ends them all when there are more; 0: any number.
	Processes int
}
