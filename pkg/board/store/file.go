package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/seal"
)

// Options are the settings of a File. Path, GitDir and Now are required.
type Options struct {
	Path   string           // .liza/state.yaml
	GitDir string           // git's common folder, for liza/committed and liza/snapshots
	Now    func() time.Time // for journal entries and snapshots

	LockTimeout time.Duration // longest wait for the lock; 0 is 10 s
	Host        string        // name of the host, for processes that wait for the lock
	PIDStart    int64         // kernel start time of this process, likewise

	// Validate returns the violations of after that matter to writers (specs/protocol.md#9, column W). before is the state
	// before the change, or before a person's edit. The rules about single tasks need not be checked again for tasks that
	// both states share.
	Validate func(after, before *blackboard.State) []blackboard.Violation

	Mask func(string) string // masks secrets in the written state and journal; may be nil
	At   func(point string)  // failpoints W1 to W10, for tests

	// Seals makes and checks the seals of approvals; nil: there are none.
	Seals *Seals

	// Strict makes each write verify, for tests, that shared tasks were not changed (blackboard.State.Own), and that the
	// validation of the changed parts alone finds all violations.
	Strict bool

	// Alert reports a finding of the store. It is called under the lock, so it must not wait and must not use the store.
	Alert func(kind blackboard.AlertKind, text string)
}

const (
	lockTimeout = 10 * time.Second
	settleTime  = 2 * time.Second       // wait for an unparsable file to become valid (B03)
	settleStep  = 20 * time.Millisecond // pause between two reads of it
	maxMoves    = 5                     // moves of the file during one write (W8)
)

var _ Project = (*File)(nil)

// File is a Store in a file.
type File struct {
	past *yamldoc.Reader // reader of earlier states
	kept snapshots
	rules
	journal history.Journal

	last   *version // version that was read or written last
	coming *version // version that this process is writing to the file
	proven [4]known // versions of the last writes by their records
	merged *merged  // result for the old copy that was read last
	syntax broken   // text that was read last and cannot be parsed

	watcher  *Watcher
	recorded struct { // the record that was read last
		stamp  safefile.Stamp
		record record
	}
	fitting record            // last record with a valid seal
	told    *yamldoc.Document // forged document that was reported
}

// known is a version that Liza wrote, with the hash that the record of it has.
type known struct {
	sha256  string
	version *version
}

// broken is why a text cannot be parsed, and its stamp; a zero one is of none. Everybody in a team asks for it again and again.
type broken struct {
	stamp safefile.Stamp
	err   error
}

// judgement is the result of the search for forged approvals in one version.
type judgement struct {
	of       keyState
	doc      *yamldoc.Document
	rec      record
	previous *version
	edited   bool
	found    []blackboard.Violation
}

// Open returns the store of a project. It reads no file yet.
func Open(o Options) (*File, error) {
	if o.Path == "" || o.GitDir == "" || o.Now == nil {
		return nil, errors.New("cannot open the store: path, git dir and clock are needed")
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = lockTimeout
	}
	f := &File{rules: rulesOf(o), past: newReader(), kept: snapshots{filepath.Join(o.GitDir, "liza", "snapshots"), o.Now}, journal: history.Journal{Path: journalPath(o.Path), Mask: o.Mask, Seen: new(history.Seen)}}
	f.watcher = NewWatcher(o.Path, f.o.Alert)
	return f, nil
}

func journalPath(statePath string) string {
	return filepath.Join(filepath.Dir(statePath), "log.yaml")
}

// read reads the file and decodes the parts that changed since the last read.
func (f *File) read() (*version, error) {
	last := f.latest()
	if last != nil && last.still {
		if now, err := safefile.StampOf(f.o.Path); err == nil && now == last.stamp {
			return last, nil
		}
	}
	f.mu.Lock()
	was := f.syntax
	f.mu.Unlock()
	if was.err != nil {
		if now, err := safefile.StampOf(f.o.Path); err == nil && now == was.stamp {
			return nil, was.err
		}
	}
	v, err := f.load(f.o.Path, f.reader, last, f.putting())
	if err != nil {
		err = f.unreadable(err)
		if v != nil && v.still {
			f.mu.Lock()
			f.syntax = broken{v.stamp, err}
			f.mu.Unlock()
		}
		return nil, err
	}
	if v.base.Version != "1" {
		return nil, &VersionError{Path: f.o.Path, Version: string(v.base.Version)}
	}
	f.keep(v)
	return v, nil
}

// load reads the file at path, or takes the content of one of others with identical bytes.
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

// putting returns the version that this process is writing, or nil. Readers can meet it before the write is over, because the
// new file wakes them.
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

// unreadable returns an *InvalidError (V01) with err as its cause.
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

// rules makes a change ready to be stored, wherever that is.
type rules struct {
	o      Options
	reader *yamldoc.Reader

	mu     sync.Mutex
	key    *seal.Key
	judged judgement // judgement of the hand edit that was read last
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
	Stamp    safefile.Stamp  `json:"stamp"`              // stamp of the file after the write
	Chain    chainEnd        `json:"chain"`              // its place in the snapshots
	Journal  history.Link    `json:"journal,omitempty"`  // link of the last journal entry
	Scrubbed history.Link    `json:"scrubbed,omitempty"` // that link after the masking of secrets
	Key      string          `json:"key,omitempty"`      // key that signed the record
	MAC      string          `json:"mac,omitempty"`
}

func (f *File) lizaDir() string { return filepath.Join(f.o.GitDir, "liza") }

func (f *File) committedPath() string { return filepath.Join(f.lizaDir(), "committed") }

// chainEnd says where the state that was written last is: at the end of a chain.
type chainEnd struct {
	Copy  string    `json:"copy"` // name of the copy, without its extension
	Size  int64     `json:"size"` // bytes of the chain
	Links int       `json:"links"`
	Since time.Time `json:"since"`
}

// merged is the result for an old copy of the state that a person edited and saved over a newer one (B06).
type merged struct {
	of     *version // the file
	rec    record   // the newer state
	theirs *version // the newer state, if it is known
	result *version // all changes of both, as if the person had edited the newer state
	err    *WentBackError
}

// Seals holds the keys with which a store seals approvals.
type Seals struct {
	Ring   seal.Ring
	TreeOf func(commit string) (string, error) // returns the tree of a commit in git
}

// A keyState is the meaning of a project's seals to this process.
type keyState int

const (
	sealsOff keyState = iota // no seals are made, as for a file outside of a project
	ours                     // this host has the key
	before                   // the project is older than seals: its first write makes the key
	foreign                  // the key that sealed the project is not on this host
)

// A board that goes from its file to another place leaves a mark in the git dir. While it is there nobody writes the file: a process that
// had opened it before, or that waits for its lock, would write what no other host sees.

// A MovedError is returned for the file of a board that is being moved, or was moved, to another place.
type MovedError struct{ Path, To string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("cannot write %s: a move of the board (liza store move %s) is not complete, or the board has moved", short(e.Path), e.To)
}

// Next returns the next command for a person.
func (e *MovedError) Next() string { return "liza store move " + e.To }

func awayPath(o Options) string { return filepath.Join(o.GitDir, "liza", "moved") }

// MarkAway begins a move of the board to another place. The caller holds the lock of the file.
func MarkAway(o Options, to string) error {
	if err := os.MkdirAll(filepath.Dir(awayPath(o)), 0o755); err != nil {
		return fmt.Errorf("cannot move the board: %w", err)
	}
	return safefile.Replace(awayPath(o), []byte(to+"\n"), 0o644)
}

// MarkHere ends a move: the board is in the file. The caller holds the lock of the file.
func MarkHere(o Options) error {
	if err := os.Remove(awayPath(o)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot take the board back: %w", err)
	}
	return nil
}

// IsAway reports whether a move of the board to another place was begun or made.
func IsAway(o Options) bool {
	_, err := os.Lstat(awayPath(o))
	return err == nil
}

// away is why the file must not be written, nil when it is the board.
func (f *File) away() error {
	to, err := safefile.Read(awayPath(f.o))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", short(f.o.Path), err)
	}
	return &MovedError{Path: f.o.Path, To: string(to[:max(0, len(to)-1)])}
}

// errMoved says that an editor changed the file under a write (W8).
var errMoved = errors.New("the file was changed meanwhile")

// underLock takes the lock (W1) for attempts to write.
func (f *File) underLock(ctx context.Context, op Op, attempt func() error) (err error) {
	wait, cancel := context.WithTimeout(ctx, f.o.LockTimeout)
	defer cancel()
	unlock, err := safefile.Lock(wait, f.o.Path+".lock", safefile.Holder{
		PID: os.Getpid(), PIDStart: f.o.PIDStart, Host: f.o.Host, Agent: op.Agent, Op: op.Name,
	})
	var held *safefile.HeldError
	if errors.As(err, &held) {
		return &LockedError{Held: held}
	}
	if err != nil {
		return err
	}
	defer func() {
		if e := unlock(); err == nil && e != nil {
			err = fmt.Errorf("cannot unlock %s: %w", short(f.o.Path), e)
		}
	}()
	if err := f.away(); err != nil {
		return err
	}
	f.o.At("W1")
	for range maxMoves {
		if err = attempt(); !errors.Is(err, errMoved) {
			return err
		}
	}
	return fmt.Errorf("cannot write %s: it was changed %d times during the write", short(f.o.Path), maxMoves)
}

// A Comment is written into the first state: above the section Path ("config"), or behind a key of a section
// ("config.lease_duration").
type Comment struct{ Path, Text string }

// Create writes the first state of a project, with revision 1 and all sections of s, and the journal with the entries that s
// recorded. The folder must exist and must not have a state.
func Create(ctx context.Context, o Options, s *blackboard.State, comments ...Comment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(o.Path); err == nil {
		return fmt.Errorf("cannot create %s: it exists", short(o.Path))
	}
	f, err := Open(o)
	if err != nil {
		return err
	}
	v, err := f.first(s, comments)
	if err != nil {
		return err
	}
	v.made = true
	if err := safefile.Replace(o.Path+".lock", nil, 0o644); err != nil {
		return err
	}
	journal := history.Journal{Path: journalPath(o.Path), Mask: o.Mask}
	if err := safefile.Replace(journal.Path, nil, 0o644); err != nil {
		return err
	}
	end, err := journal.Append(1, history.Begins, f.complete(Op{Name: "init", Agent: blackboard.Human}, s.Entries()))
	if err != nil {
		return err
	}
	staged, err := safefile.Stage(o.Path, v.doc.Bytes(), 0o644)
	if err != nil {
		return err
	}
	if v.stamp, err = staged.CommitStamp(); err != nil {
		return err
	}
	f.settle(v, f.kept.begin(v, o.Path), "", end)
	return MarkHere(o)
}

// Place writes text and journal of a board from another place to the file. It may be repeated.
func Place(ctx context.Context, o Options, text []byte, journal string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := Open(o)
	if err != nil {
		return err
	}
	v := &version{made: true}
	if err := v.parse(text, f.reader); err != nil {
		return f.unreadable(err)
	}
	end := history.Begins
	for _, line := range history.Split(journal) {
		end = line.Link
	}
	if err := safefile.Replace(journalPath(o.Path), []byte(journal), 0o644); err != nil {
		return err
	}
	staged, err := safefile.Stage(o.Path, text, 0o644)
	if err != nil {
		return err
	}
	if v.stamp, err = staged.CommitStamp(); err != nil {
		return err
	}
	f.settle(v, f.kept.begin(v, o.Path), "", end)
	return nil
}

// first is the version with revision 1 of a state.
func (r *rules) first(s *blackboard.State, comments []Comment) (*version, error) {
	first := s.Clone()
	if r.o.Mask != nil {
		first.Mask(nil, r.o.Mask)
	}
	if r.o.Seals != nil {
		k, err := r.makeKey()
		if err != nil {
			return nil, err
		}
		first.Integration.SealAs(nil, k, true)
	}
	first.Version, first.Revision = "1", 1
	text := render(first, comments)
	doc, err := r.reader.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", short(r.o.Path), err)
	}
	v := &version{doc: doc, base: state(doc, nil)}
	for _, sec := range sections() {
		if !yamldoc.Alike(sec.of(v.base).Interface(), sec.of(first).Interface()) {
			return nil, fmt.Errorf("cannot create %s: the file would not say what section %s is", short(r.o.Path), sec.key)
		}
	}
	return v, nil
}

// isEmpty reports whether a section says nothing.
func isEmpty(value reflect.Value) bool {
	if k := value.Kind(); k == reflect.Slice || k == reflect.Map {
		return value.Len() == 0
	}
	return value.IsZero()
}

// render writes the sections that a state must have, and those that have a value.
func render(s *blackboard.State, comments []Comment) string {
	var b strings.Builder
	for i, sec := range sections() {
		value := sec.of(s)
		if isEmpty(value) && !slices.Contains(required, sec.key) {
			continue
		}
		above, behind := "", map[string]string{}
		for _, c := range comments {
			if c.Path == sec.key {
				above = c.Text
			} else if key, ok := strings.CutPrefix(c.Path, sec.key+"."); ok {
				behind[key] = c.Text
			}
		}
		if i > 1 {
			b.WriteByte('\n')
		}
		b.WriteString(yamldoc.Section(sec.key, value.Interface(), above, behind, sec.key == "tasks" || sec.key == "agents"))
	}
	return b.String()
}
