package blackboard

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Clone makes a copy that shares nothing with s.
func (s *State) Clone() *State {
	if s == nil {
		return nil
	}
	c := *s
	c.owned, c.index = nil, nil
	c.entries = slices.Clone(s.entries)
	for i := range c.entries {
		entryCopier().own(reflect.ValueOf(&c.entries[i]).Elem())
	}
	stateCopier().own(reflect.ValueOf(&c).Elem())
	c.tasks = slices.Clone(s.tasks)
	for i, t := range s.tasks {
		c.tasks[i] = t.Clone()
	}
	return &c
}

// Clone makes a copy that shares nothing with t.
func (t *Task) Clone() *Task {
	c := *t
	taskCopier().own(reflect.ValueOf(&c).Elem())
	return &c
}

// Fork returns a copy for one change. It shares the tasks with s until Task returns one of them, so it costs only the changed
// part. s must not be changed any more.
func (s *State) Fork() *State {
	if s == nil {
		return nil
	}
	c := *s
	c.entries = nil
	stateCopier().own(reflect.ValueOf(&c).Elem())
	c.tasks = slices.Clone(s.tasks)
	c.owned = map[*Task]bool{}
	return &c
}

// Join takes over what was changed in a fork of s, with its entries after those of s. The fork must not be used any more.
func (s *State) Join(fork *State) {
	owned, entries := s.owned, append(s.entries, fork.entries...)
	*s = *fork
	maps.Copy(s.owned, owned)
	s.entries = entries
}

// stateCopier is made with the first copy: most commands only read.
var (
	stateCopier = sync.OnceValue(func() *copier { return newCopiers().of(reflect.TypeFor[State]()) })
	taskCopier  = sync.OnceValue(func() *copier { return newCopiers().of(reflect.TypeFor[Task]()) })
	entryCopier = sync.OnceValue(func() *copier { return newCopiers().of(reflect.TypeFor[Entry]()) })
)

// A copier makes values of one type own all that they refer to. It is made once, because each write copies a state and most
// fields refer to nothing.
type copier struct {
	kind   reflect.Kind
	elem   *copier // of a pointer, slice or map; nil when its elements refer to nothing
	fields []fieldCopier
	block  reflect.Type // of a slice of pointers: a slice of their targets
}

// maxBlock is how many elements of a list are copied into one piece of memory. Who keeps
// one of them keeps them all, so the tasks of a large state are copied one by one.
const maxBlock = 64

type fieldCopier struct {
	index  int
	copier *copier
}

type copiers map[reflect.Type]*copier

func newCopiers() copiers { return copiers{} }

// of returns the copier of a type, nil when its values refer to nothing.
func (m copiers) of(t reflect.Type) *copier {
	if c, known := m[t]; known {
		return c
	}
	c := &copier{kind: t.Kind()}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		m[t] = c
		c.elem = m.of(t.Elem())
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Pointer {
			c.block = reflect.SliceOf(t.Elem().Elem())
		}
	case reflect.Interface:
	case reflect.Struct:
		m[t] = c
		for i := range t.NumField() {
			if f := m.of(t.Field(i).Type); f != nil && t.Field(i).IsExported() {
				c.fields = append(c.fields, fieldCopier{i, f})
			}
		}
	default:
		return nil
	}
	return c
}

// own puts copies in the place of everything that v refers to.
func (c *copier) own(v reflect.Value) {
	if c == nil {
		return
	}
	switch c.kind {
	case reflect.Struct:
		for _, f := range c.fields {
			f.copier.own(v.Field(f.index))
		}
		return
	}
	if v.IsNil() {
		return
	}
	switch c.kind {
	case reflect.Pointer:
		twin := reflect.New(v.Type().Elem())
		twin.Elem().Set(v.Elem())
		c.elem.own(twin.Elem())
		v.Set(twin)
	case reflect.Slice:
		twin := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(twin, v)
		if c.block != nil && v.Len() <= maxBlock {
			c.ownBlock(twin)
		} else if c.elem != nil {
			for i := range twin.Len() {
				c.elem.own(twin.Index(i))
			}
		}
		v.Set(twin)
	case reflect.Map:
		twin := reflect.MakeMapWithSize(v.Type(), v.Len())
		for keys := v.MapRange(); keys.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(keys.Value())
			c.elem.own(value)
			twin.SetMapIndex(keys.Key(), value)
		}
		v.Set(twin)
	case reflect.Interface:
		// What an open value holds is known only now: maps and lists of scalars, as YAML has.
		value := reflect.New(v.Elem().Type()).Elem()
		value.Set(v.Elem())
		newCopiers().of(value.Type()).own(value)
		v.Set(value)
	}
}

// ownBlock copies the targets of a slice of pointers.
func (c *copier) ownBlock(twin reflect.Value) {
	block := reflect.MakeSlice(c.block, twin.Len(), twin.Len())
	for i := range twin.Len() {
		if p := twin.Index(i); !p.IsNil() {
			copied := block.Index(i)
			copied.Set(p.Elem())
			c.elem.elem.own(copied)
			p.Set(copied.Addr())
		}
	}
}

// Record adds journal entries to the present change. The store writes them with the change and sets their revision.
func (s *State) Record(entries ...Entry) { s.entries = append(s.entries, entries...) }

// Entries returns the journal entries recorded since the state was read.
func (s *State) Entries() []Entry { return s.entries }

// TakeEntries removes the recorded entries from index from on, and returns them.
func (s *State) TakeEntries(from int) []Entry {
	taken := s.entries[from:]
	s.entries = append([]Entry(nil), s.entries[:from]...)
	return taken
}

// Same reports whether two entries are equal; an empty list or map equals none. It is written out because every writer
// compares every entry.
func Same(a *HistoryEntry, b *HistoryEntry) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.Time == b.Time && a.Event == b.Event && a.Agent == b.Agent && a.Via == b.Via &&
		a.Iteration == b.Iteration && a.ClaimSeq == b.ClaimSeq &&
		a.BaseCommit == b.BaseCommit && a.Commit == b.Commit && a.MergeCommit == b.MergeCommit &&
		a.PreviousAssignee == b.PreviousAssignee && a.Attic == b.Attic &&
		a.Holder == b.Holder && a.Lease == b.Lease && a.Cause == b.Cause &&
		a.Kind == b.Kind && a.What == b.What && a.Reason == b.Reason &&
		slices.Equal(a.By, b.By) && slices.Equal(a.Files, b.Files) && a.Log == b.Log &&
		a.DriftCommits == b.DriftCommits && a.Checks == b.Checks && SamePointed(a.Recovered, b.Recovered) &&
		a.Auto == b.Auto && a.Merge == b.Merge && a.NoTests == b.NoTests &&
		SamePointed(a.Halt, b.Halt) && SameIntent(a.Checkpoint, b.Checkpoint) &&
		(len(a.Extra) == 0 && len(b.Extra) == 0 || reflect.DeepEqual(a.Extra, b.Extra))
}

// SamePointed reports whether two pointers have equal targets, or are both nil.
func SamePointed[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SameIntent reports whether two intents are equal; an empty list equals none.
func SameIntent(a, b *Intent) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Intent == b.Intent && a.Validation == b.Validation && slices.Equal(a.Assumptions, b.Assumptions) &&
		slices.Equal(a.Risks, b.Risks) && slices.Equal(a.FilesToModify, b.FilesToModify)
}

// Mask applies mask to every text of a change: the tasks that s does not share with before, the state that it was forked from
// (nil: none), and all other sections (specs/roles-and-knowledge.md#9.6). Ids stay: one that holds a secret is refused
// instead (V62). The configuration stays too, because it is a person's own.
func (s *State) Mask(before *State, mask func(string) string) {
	for _, t := range s.changedSince(before) {
		maskTexts(reflect.ValueOf(t), mask)
	}
	state := reflect.ValueOf(s).Elem()
	for i := range state.NumField() {
		switch section := KeyOf(state.Type().Field(i)); section {
		case "", "version", "revision", "tasks", "secrets", "config":
		default:
			maskTexts(state.Field(i), mask)
		}
	}
}

// changedSince are the tasks that s does not share with before.
func (s *State) changedSince(before *State) []*Task {
	if before == nil {
		return s.tasks
	}
	var changed []*Task
	var shared map[*Task]bool
	for i, t := range s.tasks {
		if i < len(before.tasks) && before.tasks[i] == t {
			continue
		}
		if shared == nil {
			shared = map[*Task]bool{}
			for t := range before.Tasks() {
				shared[t] = true
			}
		}
		if !shared[t] {
			changed = append(changed, t)
		}
	}
	return changed
}

// OwnHolding makes the tasks of a fork that have a text which mask changes its own, so that Mask reaches them.
func (s *State) OwnHolding(mask func(string) string) {
	for t := range s.Tasks() {
		holds := false
		EachText(reflect.ValueOf(t), "", func(_, text string) { holds = holds || mask(text) != text })
		if holds {
			s.Writable(t)
		}
	}
}

// maskTexts masks the texts below a value that nobody else refers to.
func maskTexts(v reflect.Value, mask func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			maskTexts(v.Elem(), mask)
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			open := reflect.New(v.Elem().Type()).Elem()
			open.Set(v.Elem())
			maskTexts(open, mask)
			v.Set(open)
		}
	case reflect.String:
		if old := v.String(); v.Type() == textType && old != "" {
			if now := mask(old); now != old {
				v.SetString(now)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			maskTexts(v.Index(i), mask)
		}
	case reflect.Map:
		for keys := v.MapRange(); keys.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(keys.Value())
			maskTexts(value, mask)
			v.SetMapIndex(keys.Key(), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if name := KeyOf(field); name != "" && !isName(name) || field.IsExported() && field.Tag.Get("yaml") == ",inline" {
				maskTexts(v.Field(i), mask)
			}
		}
	}
}

var textType = reflect.TypeFor[string]()

// isName reports whether the values of a key are not texts: others refer to them, or rules read
// them. Statuses, roles and times have types of their own.
func isName(key string) bool {
	switch key {
	case "id", "status", "event", "kind", "type", "role", "rule", "name", "hash", "spec_hash", "review_spec_hash", "token_hash", "fingerprint", "watermark",
		"plan", "plan_id", "parent", "root", "goal_ref", "planned", "stretch", "tasks", "task", "task_id", "current_task", "depends_on", "supersedes", "superseded_by", "converted_to_task",
		"assigned_to", "agent", "previous_assignee", "reviewing_by", "approved_by", "decided_by", "consumed_by", "holder", "via", "reporter", "logged_by", "failed_by", "seen_by", "by", "from",
		"claim_generation", "reviewing_generation", "generation", "host", "boot_id", "run_id", "terminal", "cli", "model", "skill", "model_role", "secrets",
		"worktree", "base_commit", "restart_from", "fix_onto", "review_commit", "approved_commit", "merge_commit", "commit", "old", "attic", "severity", "urgency", "result", "pattern", "patterns":
		return true
	}
	return false
}

// EachText calls visit with every text below value, keys of open maps included, and with its path in state.yaml, which begins
// with at.
func EachText(value reflect.Value, at string, visit func(field, text string)) {
	below := func(name string) string {
		if at == "" {
			return name
		}
		return at + "." + name
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			EachText(value.Elem(), at, visit)
		}
	case reflect.String:
		if text := value.String(); text != "" {
			visit(at, text)
		}
	case reflect.Slice:
		for i := range value.Len() {
			EachText(value.Index(i), at+"[#"+strconv.Itoa(i+1)+"]", visit)
		}
	case reflect.Map:
		keys := value.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			visit(at, key.String())
			EachText(value.MapIndex(key), below(key.String()), visit)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			field := value.Type().Field(i)
			switch name := KeyOf(field); {
			case name != "":
				EachText(value.Field(i), below(name), visit)
			case strings.Contains(field.Tag.Get("yaml"), "inline"):
				EachText(value.Field(i), at, visit)
			}
		}
	}
}

// KeyOf returns the key of a field in state.yaml, or "" if it has none.
func KeyOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if !field.IsExported() || name == "-" {
		return ""
	}
	return name
}

// Normalize replaces older spellings, by hand or by Liza v1, with the present ones (specs/protocol.md#2).
func (s *State) Normalize() {
	if !Normal(s.Version) {
		s.Version = "1"
	}
	if !Normal(s.Goal) {
		s.Goal.Status = InProgress
	}
	for _, a := range s.Agents {
		if !Normal(a) {
			a.normalize()
		}
	}
	for _, a := range s.Anomalies {
		if !Normal(a) {
			a.normalize()
		}
	}
}

// Normal reports whether Normalize would not change a section, or an entry of one.
func Normal(part any) bool {
	switch p := part.(type) {
	case Raw:
		return p != "1.0"
	case *Goal:
		return p == nil || p.Status != "PLANNING"
	case *Agent:
		return p == nil || p.Task == ""
	case *Anomaly:
		return p == nil || p.TaskID == "" && p.LoggedBy == ""
	}
	return true
}

func (a *Agent) normalize() {
	if a.CurrentTask == "" {
		a.CurrentTask = a.Task
	}
	a.Task = ""
}

func (a *Anomaly) normalize() {
	if a.Task == "" {
		a.Task = a.TaskID
	}
	if a.Reporter == "" {
		a.Reporter = a.LoggedBy
	}
	a.TaskID, a.LoggedBy = "", ""
}
