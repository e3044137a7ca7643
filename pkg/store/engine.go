package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// A Content is what a board says at one revision: a text, with its comments, and the state that it is of. It never changes.
type Content struct{ v *version }

// Revision is the content's own.
func (c *Content) Revision() int { return c.v.base.Revision }

// State is a copy for who may change it.
func (c *Content) State() *blackboard.State {
	s := c.v.base.Fork()
	s.ClearEntries()
	return s
}

// Doc is the text.
func (c *Content) Doc() *yamldoc.Document { return c.v.doc }

// Engine is what every store does with a change before it makes it durable: run it, mask secrets, seal approvals, check the
// rules, and write the next text. A store that is not a File keeps contents its own way and has an Engine make them.
type Engine struct{ rules }

// NewEngine needs of the options Path, for messages, Now, and what the rules need.
func NewEngine(o Options) *Engine { return &Engine{rulesOf(o)} }

// Parse reads a text, such as that of a file.
func (e *Engine) Parse(text []byte) (*Content, error) {
	v := &version{}
	if err := v.parse(text, newReader()); err != nil {
		return nil, e.unreadable(err)
	}
	return e.current(v)
}

// Join reads a text that is kept in parts; like is the content before, or nil.
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

// First is the content of a new board with this state, and what its journal begins with.
func (e *Engine) First(s *blackboard.State, comments ...Comment) (*Content, []blackboard.Entry, error) {
	v, err := e.first(s, comments)
	if err != nil {
		return nil, nil, err
	}
	return &Content{v}, e.complete(Op{Name: "init", Agent: blackboard.Human}, s.Entries()), nil
}

// Change is the content after a change, with the entries for the journal; nil when there is nothing to write.
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

// Edit is the content after a person's edit of base, see File.Edit; nil when there is nothing to write.
func (e *Engine) Edit(op Op, before *Content, base, text []byte) (*Content, Edited, []blackboard.Entry, error) {
	next, done, entries, err := e.edited(op, before.v, before.v, record{SHA256: "kept"}, base, text, false)
	if next == nil || err != nil {
		return nil, done, nil, err
	}
	return &Content{next}, done, entries, nil
}

// HandEdit is the content after a person's edit of a copy of base, with the meaning that the same edit of state.yaml has.
func (e *Engine) HandEdit(op Op, before *Content, base, text []byte) (*Content, Edited, []blackboard.Entry, error) {
	next, done, entries, err := e.edited(op, before.v, before.v, record{SHA256: "kept"}, base, text, true)
	if next == nil || err != nil {
		return nil, done, nil, err
	}
	return &Content{next}, done, entries, nil
}

// PutBack is the content that has the text of an old one as the revision after before.
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
	edit.PatchBehind("version", "revision", was.Revision(), now)
	doc, err := edit.Apply()
	if err != nil {
		return nil, nil, err
	}
	entries := e.complete(op, []blackboard.Entry{{Action: blackboard.ActionRestored, Detail: fmt.Sprintf("revision %d was put back as revision %d", was.Revision(), now)}})
	return &Content{&version{doc: doc, base: state(doc, nil)}}, entries, nil
}

// Inspect is a content with what reading it found.
func (e *Engine) Inspect(c *Content) *Inspection {
	i := &Inspection{State: c.v.base.Clone(), Decode: decoding(c.v.doc, true), Missing: missing(c.v.doc), doc: c.v.doc}
	i.Decode = append(i.Decode, e.inspectSealed(c.v, record{}, nil, true)...)
	return i
}

// Whole says of a text how many tasks it has, and what is wrong with it; "" when it is valid.
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
		for _, x := range r.o.Validate(v.base, nil, nil) {
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

// CheckSeal is File.CheckSeal.
func (e *Engine) CheckSeal(t *blackboard.Task, tree string) error {
	return e.checkSeal(record{}, t, tree)
}

// ErrNotJSON is why a value is kept as text only.
var ErrNotJSON = errors.New("the value cannot be JSON")

// JSON is what an entry, or a section without entries, says, for people's queries. read is what Entry.Value or
// Document.Section gave.
func JSON(read any) ([]byte, error) {
	p, ok := read.(*piece)
	if !ok || !p.norm.IsValid() || p.norm.Kind() == reflect.Pointer && p.norm.IsNil() {
		return nil, ErrNotJSON
	}
	var value any
	if err := yamldoc.Encode(p.norm.Interface()).Decode(&value); err != nil {
		return nil, errors.Join(ErrNotJSON, err)
	}
	return json.Marshal(value)
}

// ID is the id of an entry of a list, "" when it has none. read is what Entry.Value gave.
func ID(read any) string {
	p, ok := read.(*piece)
	if !ok || !p.norm.IsValid() || p.norm.Kind() != reflect.Pointer || p.norm.IsNil() {
		return ""
	}
	return idField(p.norm.Type().Elem())(p.norm)
}
