package verb

// Mark remembers what the board said of an agent's work when its run began.
type Mark struct {
	Agent    string
	ClaimSeq int
	History  int // length of the task's history
	Writes   int // history entries, plans and tasks by this agent, all over the board
}
