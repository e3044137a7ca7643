package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/safefile"
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

	// Alert is told of one of the kinds below. It is called under the lock, so it must not
	// wait for anything and must not use the store.
	Alert func(kind, text string)
}

// Kinds of what Options.Alert is told.
const (
	AlertJournalRepaired = "JOURNAL_REPAIRED"
	AlertStateWentBack   = "STATE_WENT_BACK"
	AlertHandEdit        = "HAND_EDIT"
	AlertNoEvents        = "NO_EVENTS"
	AlertMirror          = "MIRROR"
)

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

// version is one content of the file, read. It never changes.
type version struct {
	doc   *yamldoc.Document
	stamp safefile.Stamp
	mode  fs.FileMode
	still bool              // the content is this as long as the stamp is
	made  bool              // by this process: no file to link has this content
	base  *blackboard.State // shared: fork it before anybody may change it

	once   sync.Once
	digest [sha256.Size]byte
	same   *version // read before, with the same content: it may know the digest
}

// sum is the hash of the content.
func (v *version) sum() [sha256.Size]byte {
	v.once.Do(func() {
		if v.same != nil {
			v.digest = v.same.sum()
			return
		}
		h := sha256.New()
		_, _ = v.doc.WriteTo(h)
		v.digest = [sha256.Size]byte(h.Sum(nil))
	})
	return v.digest
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

// View returns a copy of the state as it is now. It takes no lock. An unreadable file is
// an *InvalidError; LastValid then has a state to look at. When somebody put an old copy
// over a newer state, it is what the next write will make of both, or else the newer one. An
// edit that forges an approval does not count: the state is then the one before it.
func (f *File) View(ctx context.Context) (*blackboard.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, rec, err := f.readBoth()
	if err != nil {
		return nil, err
	}
	if rec.Revision > v.base.Revision {
		if err := f.noBoard(v, f.written(rec)); err != nil {
			return nil, err
		}
		if m := f.mergeOld(v, rec); m.err == nil {
			v = m.result
		} else if m.theirs != nil {
			v = m.theirs
		}
	}
	previous, found := f.judge(v, rec)
	if v.base.Revision <= rec.Revision { // else a writer has come further than its record
		if err := f.cutOff(v, previous); err != nil {
			return nil, err
		}
	}
	if len(found) > 0 && previous == nil {
		return nil, &InvalidError{Path: f.o.Path, Violations: found}
	}
	if len(found) > 0 {
		v, previous = previous, nil
	}
	if v.base.Revision > rec.Revision {
		previous = nil
	}
	s, _ := f.taken(v, previous)
	s.ClearEntries()
	return s, nil
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

// parse decodes the bytes.
func (v *version) parse(data []byte, reader *yamldoc.Reader) (err error) {
	if v.doc, err = reader.Parse(data); err != nil {
		return err
	}
	v.base = state(v.doc, nil)
	return nil
}

// state is the version's state, nil if there is no version.
func (v *version) state() *blackboard.State {
	if v == nil {
		return nil
	}
	return v.base
}

func (f *File) keep(v *version) {
	f.mu.Lock()
	f.last = v
	f.mu.Unlock()
}

// prove remembers a version that the record of the last write is of.
func (f *File) prove(rec record, v *version) {
	f.mu.Lock()
	if f.proven[0].sha256 != rec.SHA256 {
		f.proven = [2]known{{rec.SHA256, v}, f.proven[0]}
	}
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

// readBytes reads a file with the stamp by which a later change of it is recognised.
func (v *version) readBytes(path string) ([]byte, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if v.stamp, err = safefile.StampOfFile(file); err != nil {
		return nil, err
	}
	if info.Size() > yamldoc.MaxSize {
		return nil, &yamldoc.SyntaxError{Reason: fmt.Sprintf("the file has %d MB, more than %d", info.Size()>>20, yamldoc.MaxSize>>20)}
	}
	data := make([]byte, info.Size(), info.Size()+1)
	n, err := io.ReadFull(file, data)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	rest, err := io.ReadAll(file) // it may have grown meanwhile
	data, v.mode = append(data[:n], rest...), info.Mode()
	v.still = len(data) == int(v.stamp.Size) && v.stamp.Settled(time.Now())
	return data, err
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

// Inspection is a state with what reading it found, for `liza validate`.
type Inspection struct {
	State    *blackboard.State
	Decode   []blackboard.Violation // V03, V04 and V61, with their lines
	Missing  []string               // required sections that are missing
	Previous *blackboard.State      // the last state that Liza wrote, if a person changed it since; else nil
	doc      *yamldoc.Document
}

// Inspect reads the state for validation.
func (f *File) Inspect(ctx context.Context) (*Inspection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, rec, err := f.readBoth()
	if err != nil {
		return nil, err
	}
	i := &Inspection{State: v.base.Clone(), Decode: decoding(v.doc, true), Missing: missing(v.doc), doc: v.doc}
	if rec.SHA256 != "" && !rec.of(v) {
		if rec.Revision == v.base.Revision {
			if err := f.cutOff(v, f.written(rec)); err != nil {
				return nil, err
			}
		} else if err := f.noBoard(v, f.written(rec)); err != nil && rec.Revision > v.base.Revision {
			return nil, err
		}
		i.Previous = f.written(rec).state().Clone()
	}
	seals := f.inspectSeals(v, rec)
	i.Decode = append(i.Decode, seals...)
	forged := slices.ContainsFunc(seals, func(v blackboard.Violation) bool { return v.Severity == blackboard.SeverityError })
	if i.Previous != nil && rec.Revision == v.base.Revision && !forged {
		s, refused := f.taken(v, f.written(rec))
		s.ClearEntries()
		i.State, i.Decode = s.Clone(), append(i.Decode, locate(v.doc, refused)...)
	}
	return i, nil
}

// readBoth reads the file and the record of the last write, without the lock. A record
// that is newer than the file because somebody wrote between the two is read again.
func (f *File) readBoth() (v *version, rec record, err error) {
	for range maxMoves {
		if v, err = f.read(); err != nil {
			return nil, record{}, err
		}
		rec, _ = f.committed()
		if rec.Revision <= v.base.Revision || rec.of(v) {
			return v, rec, nil
		}
		now, err := f.read()
		if err != nil || now.doc == v.doc {
			return v, rec, err
		}
	}
	return v, record{}, nil
}

// Line is the place of a violation's path in the file, 0 if it is not known.
func (i *Inspection) Line(path string) (line, column int) { return i.doc.Line(path) }

// Locate fills in the lines and columns of violations.
func (i *Inspection) Locate(violations []blackboard.Violation) []blackboard.Violation {
	return locate(i.doc, violations)
}
