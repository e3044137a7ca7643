package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/seal"
)

// A Content is a board at one revision: its text with comments, and its state. It never changes.
type Content struct{ v *version }

// Revision returns the revision of the content.
func (c *Content) Revision() int { return c.v.base.Revision }

// State returns a copy of the state, which the caller may change.
func (c *Content) State() *blackboard.State {
	s := c.v.base.Fork()
	s.TakeEntries(0)
	return s
}

// Doc returns the text.
func (c *Content) Doc() *yamldoc.Document { return c.v.doc }

// Engine prepares a change for every store: it runs the change, masks secrets, seals approvals, checks the rules, and makes
// the next text. Stores other than File keep the contents that an Engine makes.
type Engine struct{ rules }

// NewEngine returns an Engine. It uses the options Path, for messages, Now, Validate, Mask, At, Seals and Strict.
func NewEngine(o Options) *Engine { return &Engine{rulesOf(o)} }

// Parse parses the text of a board.
func (e *Engine) Parse(text []byte) (*Content, error) {
	v := &version{}
	if err := v.parse(text, newReader()); err != nil {
		return nil, e.unreadable(err)
	}
	return e.current(v)
}

// Join parses a text that is stored in parts. It shares equal parts with like, unless nil.
func (e *Engine) Join(parts []yamldoc.Part, tail string, like *Content) (*Content, error) {
	var before version
	if like != nil {
		before = version{doc: like.v.doc, base: like.v.base}
	}
	doc, err := e.reader.Join(parts, tail, before.doc)
	if err != nil {
		return nil, e.unreadable(err)
	}
	return e.current(&version{doc: doc, base: state(doc, before.base)})
}

func (e *Engine) current(v *version) (*Content, error) {
	if v.base.Version != "1" {
		return nil, &VersionError{Path: e.o.Path, Version: string(v.base.Version)}
	}
	return &Content{v}, nil
}

// First returns the content of a new board with the state s, and the first entries of its journal.
func (e *Engine) First(s *blackboard.State, comments ...Comment) (*Content, []blackboard.Entry, error) {
	v, err := e.first(s, comments)
	if err != nil {
		return nil, nil, err
	}
	return &Content{v}, e.complete(Op{Name: "init", Agent: blackboard.Human}, s.Entries()), nil
}

// Change returns the content after a change, with the entries for the journal, or nil if nothing changed.
func (e *Engine) Change(ctx context.Context, op Op, before *Content, change func(*blackboard.State) error) (*Content, []blackboard.Entry, error) {
	after := before.v.base.Fork()
	changes, entries, err := e.applied(ctx, op, before.v, after, record{}, false, change)
	if changes == nil || err != nil {
		return nil, nil, err
	}
	next, err := e.validated(before.v, nil, after, changes)
	if err != nil {
		return nil, nil, err
	}
	if err := op.runAhead(before.v.doc, before.v.base, after); err != nil {
		return nil, nil, err
	}
	return &Content{next}, entries, nil
}

// Edit returns the content after a person's edit of base to text, or nil if nothing changed; see File.Edit.
func (e *Engine) Edit(op Op, before *Content, base, text []byte) (*Content, Edited, []blackboard.Entry, error) {
	next, done, entries, err := e.edited(op, before.v, before.v, record{SHA256: "kept"}, base, text, false)
	if next == nil || err != nil {
		return nil, done, nil, err
	}
	return &Content{next}, done, entries, nil
}

// HandEdit is Edit for an edit of state.yaml: it restores statuses whose edit matches no verb.
func (e *Engine) HandEdit(op Op, before *Content, base, text []byte) (*Content, Edited, []blackboard.Entry, error) {
	next, done, entries, err := e.edited(op, before.v, before.v, record{SHA256: "kept"}, base, text, true)
	if next == nil || err != nil {
		return nil, done, nil, err
	}
	return &Content{next}, done, entries, nil
}

// PutBack returns the content with the text old as the revision after before.
func (e *Engine) PutBack(op Op, before *Content, old []byte) (*Content, []blackboard.Entry, error) {
	was, err := e.Parse(old)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot restore: %w", err)
	}
	if forged := e.forgeries(was.v, before.v, record{}, false); len(forged) > 0 {
		return nil, nil, fmt.Errorf("cannot restore revision %d: %w", was.Revision(), &InvalidError{Path: e.o.Path, Violations: forged})
	}
	now := before.Revision() + 1
	edit := was.v.doc.Edit()
	edit.Patch("revision", was.Revision(), now)
	doc, err := edit.Apply()
	if err != nil {
		return nil, nil, err
	}
	entries := e.complete(op, []blackboard.Entry{{Action: blackboard.ActionRestored, Detail: fmt.Sprintf("revision %d was put back as revision %d", was.Revision(), now)}})
	return &Content{&version{doc: doc, base: state(doc, nil)}}, entries, nil
}

// Inspect returns the state of a content, with the problems of its text.
func (e *Engine) Inspect(c *Content) *Inspection {
	i := &Inspection{State: c.v.base.Clone(), Decode: decoding(c.v.doc, true), Missing: missing(c.v.doc), doc: c.v.doc}
	i.Decode = append(i.Decode, e.inspectSealed(c.v, record{}, nil, true)...)
	return i
}

// Whole returns the number of tasks in a text, and its problem, or "" if it is valid.
func (r *rules) Whole(text []byte) (tasks int, problem string) {
	v := &version{}
	if err := v.parse(text, newReader()); err != nil {
		return 0, "it does not parse"
	}
	if keys := missing(v.doc); len(keys) > 0 {
		return v.base.TaskCount(), "it has no " + strings.Join(keys, ", ")
	}
	n := 0
	if r.o.Validate != nil {
		for _, x := range r.o.Validate(v.base, nil) {
			if x.Severity == blackboard.SeverityError {
				n++
			}
		}
	}
	if n > 0 {
		return v.base.TaskCount(), fmt.Sprintf("it breaks %d rules", n)
	}
	return v.base.TaskCount(), ""
}

// CheckSeal returns why the approval of t is not valid, or nil; see File.CheckSeal.
func (e *Engine) CheckSeal(t *blackboard.Task, tree string) error {
	return e.checkSeal(record{}, t, tree)
}

// errNotJSON says that a value has no JSON form.
var errNotJSON = errors.New("the value cannot be JSON")

// JSON returns the JSON of an entry, or of a section without entries, for people's queries. read is the result of
// Entry.Value or Document.Section.
func JSON(read any) ([]byte, error) {
	p, ok := read.(*piece)
	if !ok || !p.norm.IsValid() || p.norm.Kind() == reflect.Pointer && p.norm.IsNil() {
		return nil, errNotJSON
	}
	var value any
	if err := yamldoc.Encode(p.norm.Interface()).Decode(&value); err != nil {
		return nil, errors.Join(errNotJSON, err)
	}
	return json.Marshal(value)
}

// ID returns the id of an entry of a list, or "". read is the result of Entry.Value.
func ID(read any) string {
	p, ok := read.(*piece)
	if !ok || !p.norm.IsValid() || p.norm.Kind() != reflect.Pointer || p.norm.IsNil() {
		return ""
	}
	return idField(p.norm.Type().Elem())(p.norm)
}

// version is one content of the file, read. It never changes.
type version struct {
	doc   *yamldoc.Document
	stamp safefile.Stamp
	mode  fs.FileMode
	still bool              // as long as the stamp holds, the file has this content
	made  bool              // made by this process: there is no file of it yet to link
	base  *blackboard.State // shared: to be forked before any change

	once   sync.Once
	digest [sha256.Size]byte
	same   *version // version read before, with the same content: it may have the digest
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

func newReader() *yamldoc.Reader {
	return &yamldoc.Reader{Split: splitKeys(), Order: keysInOrder(), Decode: decode, Fast: decodeFast}
}

// keyOf returns the key of the project and its state. rec is the record of the last write, proven or not.
func (r *rules) keyOf(rec record, s *blackboard.State) (*seal.Key, keyState, error) {
	if r.o.Seals == nil {
		return nil, sealsOff, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key != nil {
		return r.key, ours, nil
	}
	sealedWith := rec.Key
	if sealedWith == "" && s != nil {
		for t := range s.Tasks() {
			if t.Seal != nil && t.Seal.Verdict != blackboard.SealHistory {
				sealedWith = t.Seal.Key
				break
			}
		}
	}
	k, err := r.o.Seals.Ring.Key()
	copied := false
	if err == nil && k == nil && sealedWith != "" {
		k, copied, err = r.o.Seals.Ring.Moved(sealedWith)
	}
	switch {
	case copied: // seals of this key mean nothing where it came from
		return nil, before, err
	case k != nil:
		r.key = k
		return k, ours, nil
	case sealedWith != "":
		return nil, foreign, errors.Join(err, &seal.NoKeyError{ID: sealedWith, Folder: r.o.Seals.Ring.Folder})
	}
	return nil, before, err
}

// signed are the parts of a record that nobody may change.
func (r record) signed() []string {
	parts := []string{"record", fmt.Sprint(r.Revision), r.SHA256, string(r.At), fmt.Sprintf("%+v", r.Stamp)}
	if r.Journal != "" { // records from before the journal was chained have none
		parts = append(parts, "journal", string(r.Journal), string(r.Scrubbed))
	}
	return parts
}

func (r *rules) makeKey() (*seal.Key, error) {
	k, err := r.o.Seals.Ring.Make()
	if err == nil {
		r.mu.Lock()
		r.key = k
		r.mu.Unlock()
	}
	return k, err
}

// Shared is the store of a team on several hosts.
type Shared interface {
	Project

	// Latest returns the text that this process read or wrote last.
	Latest() Latest
	// Since returns the lines of the journal and the files that were written after these numbers.
	Since(ctx context.Context, journal, file int64) (News, error)
	// HandEdit writes a person's edit of a copy of a revision, with the meaning of an edit of state.yaml.
	HandEdit(ctx context.Context, op Op, revision int, text []byte) (Edited, error)
	// PutFiles writes files of the board.
	PutFiles(ctx context.Context, files ...BoardFile) error
	// SealKey returns the id of the key that seals approvals, or "". Only the hosts have the key.
	SealKey(ctx context.Context) (string, error)

	// Now returns the time of the board's clock.
	Now() time.Time
	// ClockOffset returns how far the clock of this host is ahead of Now.
	ClockOffset() time.Duration
	Close()
}

// Latest is the text of a board that a process read or wrote last.
type Latest struct {
	Board    string // id of the board, different from that of a removed board with the same name
	Revision int
	Text     []byte
}

// News holds the latest journal lines and files of a board.
type News struct {
	Lines   string // of the journal
	Journal int64  // number of the last line
	Files   []BoardFile
}

// BoardFile is a file below .liza that the hosts of a board share.
type BoardFile struct {
	Path, Text string
	Number     int64 // grows each time that a file is written
}
