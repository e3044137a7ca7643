package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/safefile"
	"liza/pkg/seal"
	"liza/pkg/yamldoc"
)

// Options say where a File is and what it needs from outside. Path, GitDir and Now are
// required.
type Options struct {
	Path   string           // .liza/state.yaml
	GitDir string           // git's common dir: liza/committed and liza/snapshots are in it
	Now    func() time.Time // for journal entries and snapshots

	LockTimeout time.Duration // how long to wait for the lock; 0 is 10 s. lock_timeout of the board wins
	LockFixed   bool          // the board's does not win: LockTimeout comes from the environment
	Host        string        // for those who wait for the lock
	PIDStart    int64         // kernel start time of this process, likewise

	// Validate returns the violations of after that concern writers (specs/protocol.md#9, column
	// W). before is the state as it was before the change, or before a person's edit.
	// changed are the ids of tasks and agents that differ: what has nothing to do with
	// them need not be looked at. nil: everything.
	Validate func(after, before *blackboard.State, changed map[string]bool) []blackboard.Violation

	Mask func(string) string // hides secrets in what is written, state and journal; may be nil
	At   func(point string)  // failpoints W1 to W10, for tests

	// Seals makes and checks the seals of approvals; nil: there are none.
	Seals *Seals

	// Strict proves at each write, for tests, that nobody changed a task that a state
	// shares with others (blackboard.State.Own), and that looking only at what changed
	// finds all violations.
	Strict bool

	// Alert is told what was noticed. It is called under the lock, so it must not
	// wait for anything and must not use the store.
	Alert func(kind blackboard.AlertKind, text string)
}

const (
	lockTimeout = 10 * time.Second
	settleTime  = 2 * time.Second       // for unparsable content (B03)
	settleStep  = 20 * time.Millisecond // between looks at it
	maxMoves    = 5                     // of the file under one write (W8)
)

var _ Project = (*File)(nil)

// File is a Store in a file.
type File struct {
	past *yamldoc.Reader // of states that were
	rules
	journal history.Journal

	last   *version // what was read or written last
	coming *version // what this process is putting in the place of the file
	proven [2]known // by the record of the last writes, the newest first
	merged *merged  // what became of the old copy that was read last

	watching  watching
	unwatched sync.Once // people know that changes are only polled for
	recorded  struct {  // the record that was read last
		stamp  safefile.Stamp
		record record
	}
	fitting record            // the last one that the key had signed
	told    *yamldoc.Document // the forgery that was alerted
}

// known is a version that Liza wrote, with the hash that the record of it has.
type known struct {
	sha256  string
	version *version
}

// judgement is what became of looking for forged approvals in one version.
type judgement struct {
	of       keyState
	doc      *yamldoc.Document
	rec      record
	previous *version
	edited   bool
	found    []blackboard.Violation
}

// Open gives the store of a project. It reads nothing yet.
func Open(o Options) (*File, error) {
	if o.Path == "" || o.GitDir == "" || o.Now == nil {
		return nil, errors.New("cannot open the store: path, git dir and clock are needed")
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = lockTimeout
	}
	return &File{rules: rulesOf(o), past: newReader(), journal: history.Journal{Path: journalPath(o.Path), Mask: o.Mask}}, nil
}

func journalPath(statePath string) string {
	return filepath.Join(filepath.Dir(statePath), "log.yaml")
}

// read reads the file and decodes what changed since the last time.
func (f *File) read() (*version, error) {
	last := f.latest()
	if last != nil && last.still {
		if now, err := safefile.StampOf(f.o.Path); err == nil && now == last.stamp {
			return last, nil
		}
	}
	v, err := f.load(f.o.Path, f.reader, last, f.putting())
	if err != nil {
		return nil, f.unreadable(err)
	}
	if v.base.Version != "1" {
		return nil, &VersionError{Path: f.o.Path, Version: string(v.base.Version)}
	}
	f.keep(v)
	return v, nil
}

// load reads a version. Of the others that there are, the one that has the same bytes is used again.
func (f *File) load(path string, reader *yamldoc.Reader, others ...*version) (*version, error) {
	v := &version{}
	data, err := v.readBytes(path)
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		if o != nil && o.doc.Is(data) {
			v.doc, v.base, v.same = o.doc, o.base, o
			if o.same != nil {
				v.same = o.same // the first that was read
			}
			return v, nil
		}
	}
	return v, v.parse(data, reader)
}

func (f *File) keep(v *version) {
	f.mu.Lock()
	f.last = v
	f.mu.Unlock()
}

// putting is the version that this process writes at the moment. Readers meet it in the file
// before the write is over: the new file is what wakes them.
func (f *File) putting() *version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.coming
}

func (f *File) latest() *version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// unreadable makes an *InvalidError (V01) of what keeps the file from being read.
func (r *rules) unreadable(err error) error {
	v := blackboard.Violation{Rule: "V01", Severity: blackboard.SeverityError, OnWrite: true, Subjects: []string{"file"}}
	var syntax *yamldoc.SyntaxError
	switch {
	case errors.As(err, &syntax):
		v.Line, v.Column, v.Message = syntax.Line, syntax.Column, syntax.Error()
	case errors.Is(err, fs.ErrNotExist):
		v.Message = "cannot parse: the file is missing"
	default:
		return fmt.Errorf("cannot read %s: %w", short(r.o.Path), err)
	}
	return &InvalidError{Path: r.o.Path, Violations: []blackboard.Violation{v}, Err: err}
}

// rules is what happens to a change before it is made durable, wherever that is.
type rules struct {
	o      Options
	reader *yamldoc.Reader

	mu     sync.Mutex
	key    *seal.Key
	judged judgement // what was found in the edit that was read last
}

func rulesOf(o Options) rules {
	if o.At == nil {
		o.At = func(string) {}
	}
	if o.Alert == nil {
		o.Alert = func(blackboard.AlertKind, string) {}
	}
	return rules{o: o, reader: newReader()}
}

// record is the file liza/committed in the git dir: the last state that Liza wrote.
type record struct {
	Revision int             `json:"revision"`
	SHA256   string          `json:"sha256"`
	At       blackboard.Time `json:"at"`
	Stamp    safefile.Stamp  `json:"stamp"`              // of the file as it was written
	Chain    chainEnd        `json:"chain"`              // where the snapshots have it
	Journal  history.Link    `json:"journal,omitempty"`  // the last entry
	Scrubbed history.Link    `json:"scrubbed,omitempty"` // what that becomes, or has become, when secrets are masked
	Key      string          `json:"key,omitempty"`      // that signed the record
	MAC      string          `json:"mac,omitempty"`
}

func (f *File) lizaDir() string { return filepath.Join(f.o.GitDir, "liza") }

func (f *File) committedPath() string { return filepath.Join(f.lizaDir(), "committed") }

// chainEnd says where the state that was written last is: at the end of a chain.
type chainEnd struct {
	Copy  string    `json:"copy"` // name of the copy, without its ending
	Size  int64     `json:"size"` // of the chain
	Links int       `json:"links"`
	Since time.Time `json:"since"`
}

// merged is what becomes of an old copy of the state that a person edited and saved over
// a newer one (B06).
type merged struct {
	of     *version // the file
	rec    record   // the newer state
	theirs *version // the newer state, if it is known
	result *version // all changes of both, as if the person had edited the newer state
	err    *WentBackError
}

// watching are those who watch a File. The last one to leave ends what they share.
type watching struct {
	mu      sync.Mutex
	signals map[chan struct{}]bool
	stop    context.CancelFunc // nil: nobody watches
}

// Seals is what a store needs to seal approvals.
type Seals struct {
	Ring   seal.Ring
	TreeOf func(commit string) (string, error) // asks git
}

// A keyState says what the seals of a project mean to this process.
type keyState int

const (
	sealsOff keyState = iota // no seals are made, as for a file outside of a project
	ours                     // the key is here
	before                   // the project is from before there were seals: the first write makes the key
	foreign                  // the project was sealed with a key that is not here
)
