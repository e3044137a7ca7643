package agent

// Contained is a program behind a wall.
type Contained struct {
	Path string   // of what is started
	Argv []string // its name first
	Env  []string // all of it

	// Wrapper says that what is started is not the program but what keeps it: asked to end, it would end
	// at once and take the program with it. TERM goes to those inside it.
	Wrapper bool
}
