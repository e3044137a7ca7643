package blackboard

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

// Moved is a tip that Liza did not make, and was told of. Tip is "" for a branch that is gone.
// Written by: every look at git.
type Moved struct {
	Tip string `yaml:"tip"` // where the branch is; empty: it is gone
	At  Time   `yaml:"at"`  // when that was seen
}

// MoveKinds are the kinds of MoveIntent.
const (
	MoveSync  = "sync"
	MoveAgain = "again"
)

// Tip is where Liza left the integration branch, "" when that is not known: the board is older
// than this record.
func (s *State) Tip() string {
	if s.Integration == nil {
		return ""
	}
	return s.Integration.Tip
}

// ForeignTip reports whether the integration branch is where Liza did not put it; tip is ""
// when the branch does not exist. A tip that is the intent of an interrupted merge is Liza's.
func (s *State) ForeignTip(tip string) bool {
	known := s.Tip()
	if known == "" || tip == known {
		return false
	}
	if i := s.Integration.Intent; i != nil && i.Commit == tip && i.Old == known {
		return false
	}
	for t := range s.Tasks() {
		if i := t.MergeIntent; i != nil && t.Status == Approved && i.Commit == tip && i.Old == known {
			return false
		}
	}
	return true
}

// MovedText says in one line where the branch is instead of where Liza left it.
func MovedText(s *State, tip string) string {
	branch, known := s.IntegrationBranch(), ShortCommit(s.Tip())
	if tip == "" {
		return branch + " does not exist any more; Liza left it at " + known
	}
	return branch + " is at " + ShortCommit(tip) + ", which Liza did not make; Liza left it at " + known
}

// DecideTip is the command for a branch that was moved.
func DecideTip(tip string) string {
	if tip == "" {
		return "liza integration restore"
	}
	return "liza integration accept, or liza integration restore"
}
