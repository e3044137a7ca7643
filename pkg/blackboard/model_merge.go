package blackboard

// Host is one clone of the repository in which agents of this board work. Two clones on one machine are two hosts: each has
// worktrees and processes of its own.
// Written by: join, register, heartbeat.
type Host struct {
	ID          string `yaml:"id"`                     // of the clone, random
	Seen        Time   `yaml:"seen"`                   // last contact
	ClockOffset int    `yaml:"clock_offset,omitempty"` // how far its clock is ahead of the board's, in seconds
	Version     string `yaml:"version,omitempty"`      // of liza there
	Load        string `yaml:"load,omitempty"`         // processes that want to run, per processor |  | the system does not tell
}

// MergeTurn is a lease on the integration branch: one host moves it at a time. Each turn has a higher term than the one
// before, so that what comes late from an old one is known.
// Written by: merges.
type MergeTurn struct {
	Term  int    `yaml:"term"`           // number of the turn
	Host  string `yaml:"host,omitempty"` // who has it |  | nobody
	By    string `yaml:"by,omitempty"`   // agent id, human or system
	Until Time   `yaml:"until"`          // when others may take it
}

// Import is an issue of a tracker, or an item of a file, of which a task was made (specs/protocol.md#8.9).
// Written by: import.
type Import struct {
	Source string `yaml:"source"`           // where it is: github:OWNER/NAME#12, jira:KEY-12, specs/001/tasks.md#T001; never two of one source
	URL    string `yaml:"url,omitempty"`    // its page | import | it is in a file
	Task   string `yaml:"task"`             // task that was made of it; the ones in its place count instead
	Title  string `yaml:"title"`            // title outside when it was looked at last
	Text   string `yaml:"text"`             // hash of the text outside when it was looked at last
	Status string `yaml:"status"`           // open, done (told and closed by Liza) or closed (by somebody else)
	Asks   string `yaml:"asks,omitempty"`   // what was changed both here and outside | import | nothing
	Teller string `yaml:"teller,omitempty"` // host that tells it outside; others leave it alone for five minutes after at | import | none does, or the board has one host
	At     Time   `yaml:"at"`               // last change
}

// Integration is what Liza remembers of the integration branch. A branch that is elsewhere
// was moved by somebody else: merges wait until a person decides.
// Written by: init, merges, integration, sync.
type Integration struct {
	Tip    string      `yaml:"tip"`              // where Liza, or a person's decision, left the branch
	By     string      `yaml:"by,omitempty"`     // what left it there: init, merge task-1, sync main, accept …
	At     Time        `yaml:"at,omitempty"`     // when
	Base   string      `yaml:"base,omitempty"`   // commit of the base branch that the branch was cut from or synced with last
	Intent *MoveIntent `yaml:"intent,omitempty"` // move that is not the merge of an approved task | sync, merge --again; cleared when it is made | none is under way
	Moved  *Moved      `yaml:"moved,omitempty"`  // a tip that Liza did not make, and was told of | every look at git; accept, restore clear it | the branch is where Liza left it
	Turn   *MergeTurn  `yaml:"turn,omitempty"`   // which host may move the branch | merges | nobody has, or the board is a file of one host
	Seal   *TipSeal    `yaml:"seal,omitempty"`   // proof that a verb left the branch there | the store
}

// A TipSeal proves that a verb left the branch there: an HMAC over the other fields, but for moved and turn.
// Written by: the store.
type TipSeal struct {
	Key string `yaml:"key"` // names the key
	MAC string `yaml:"mac"` // HMAC over the other fields but moved and turn
}

// MoveIntent is recorded before the branch moves for anything but the merge of an approved
// task, which has an intent of its own. Kind is sync or again.
// Written by: sync, merge --again.
type MoveIntent struct {
	Kind   string `yaml:"kind"`           // sync or again
	Commit string `yaml:"commit"`         // the candidate
	Old    string `yaml:"old"`            // head of the branch before
	Base   string `yaml:"base,omitempty"` // of a sync: the commit that is merged
	From   string `yaml:"from,omitempty"` // of a sync: what it was named
	Task   string `yaml:"task,omitempty"` // whose work is merged again
	At     Time   `yaml:"at"`             // when
	By     string `yaml:"by"`             // agent id, human or system
}

// Quorum is how many reviewers the change of a task needs (review.quorum), and which rules ask for them.
// Written by: an approval that is not the last one; merge, when the rules ask for more than there is.
type Quorum struct {
	Reviewers int    `yaml:"reviewers"`          // how many have to approve
	Programs  string `yaml:"programs,omitempty"` // any, or different: each with another agent program
	Paths     List   `yaml:"paths,omitempty"`    // globs of the rules that ask for it
}

// Approval is one approval of a change that needs several.
// Written by: approve, approve-merge; the store seals it. A new submission and a rejection remove all.
type Approval struct {
	Reviewer string     `yaml:"reviewer"`           // agent id, or name of the person
	Person   bool       `yaml:"person,omitempty"`   // a person decided, also with --as
	Program  string     `yaml:"program,omitempty"`  // agent program of the reviewer's run |  | a person, or unknown
	Commit   string     `yaml:"commit"`             // what was approved; no other commit is
	Tree     string     `yaml:"tree,omitempty"`     // of that commit
	At       Time       `yaml:"at"`                 // when
	Findings []*Finding `yaml:"findings,omitempty"` // of that reviewer; none is an error
	Key      string     `yaml:"key,omitempty"`      // names the key of the seal
	MAC      string     `yaml:"mac,omitempty"`      // HMAC over the task and everything above but the findings
}

// Request is a pull or merge request with which work lands on a forge (specs/protocol.md#8.8).
// Written by: land.
type Request struct {
	ID     string `yaml:"id"`               // goal or task that lands; with -2, -3 … when more landed after a merge
	Branch string `yaml:"branch"`           // pushed to the remote
	Base   string `yaml:"base"`             // branch of the remote that it is to be merged into
	Status string `yaml:"status"`           // opening, open, merged or closed
	Number int    `yaml:"number,omitempty"` // of the forge | land | it was not opened yet
	URL    string `yaml:"url,omitempty"`    // its page | land | it was not opened yet
	Commit string `yaml:"commit"`           // what the branch is to have
	Pushed string `yaml:"pushed,omitempty"` // what the branch was left at | land | nothing was pushed yet
	Onto   string `yaml:"onto,omitempty"`   // commit of the base branch that the commits of tasks are on | land | the branch is the integration branch
	Picked List   `yaml:"picked,omitempty"` // tasks whose work is in it, one commit each | land | the branch is the integration branch
	Checks string `yaml:"checks,omitempty"` // pending, passed, failed or none | land | nobody looked yet
	Fixes  List   `yaml:"fixes,omitempty"`  // tasks that red CI and reviews made | land | there are none
	Seen   List   `yaml:"seen,omitempty"`   // failed checks and comments that were acted upon | land | there are none
	Waits  string `yaml:"waits,omitempty"`  // what a person has to decide, or why it is not merged | land | it waits for nobody
	Merge  string `yaml:"merge,omitempty"`  // commit on the base branch | land | it is not merged
	At     Time   `yaml:"at"`               // last change
}

// A Seal proves that a verb brought its task into APPROVED or MERGED: an HMAC over what was
// approved, by whom and when, with a key that is not in the repository.
// Written by: the store, in the write of the verb.
type Seal struct {
	Verdict    string `yaml:"verdict"`              // approved, merged, or history: the task came onto the board MERGED
	Generation string `yaml:"generation,omitempty"` // of the reviewer's registration |  | a person's decision, or history
	Tree       string `yaml:"tree,omitempty"`       // of the review commit |  | no files are changed
	At         Time   `yaml:"at"`                   // when
	Key        string `yaml:"key"`                  // names the key
	MAC        string `yaml:"mac"`                  // HMAC over task, approval, commits, tree and time
}

// Finding is one point of a review or check. Severity is error, warning or info.
// Written by: checks, reviewer.
type Finding struct {
	Severity string `yaml:"severity,omitempty" json:"severity,omitempty"` // error, warning or info |  | read as warning
	Check    string `yaml:"check,omitempty" json:"check,omitempty"`       // the check that it belongs to
	File     string `yaml:"file,omitempty" json:"file,omitempty"`         // path in the worktree
	Line     int    `yaml:"line,omitempty" json:"line,omitempty"`         // from 1 |  | the whole file
	Message  string `yaml:"message" json:"message"`                       // what is wrong
	Fix      string `yaml:"fix,omitempty" json:"fix,omitempty"`           // what would mend it
	SpecRef  string `yaml:"spec_ref,omitempty" json:"spec_ref,omitempty"` // what the spec says about it
	Output   string `yaml:"output,omitempty" json:"-"`                    // last lines of the check that found it
}

// Moved is a tip that Liza did not make, and was told of. Tip is "" for a branch that is gone.
// Written by: every look at git.
type Moved struct {
	Tip string `yaml:"tip"` // where the branch is; empty: it is gone
	At  Time   `yaml:"at"`  // when that was seen
}
