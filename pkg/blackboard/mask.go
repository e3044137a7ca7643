package blackboard

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Mask replaces every text of a change by what mask makes of it: those of the tasks that are
// not before's too, and of all other sections (specs/roles-and-knowledge.md#9.6). before is the state
// that s was forked from, nil when s shares nothing. Names by which things find each other
// stay: one that holds a secret is refused instead (V62). So does the configuration, which is
// a person's own.
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

// OwnHolding makes the tasks of a fork its own that have a text which mask changes, so that
// Mask gets to them.
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

// EachText calls visit with every text below value, keys of open maps included, and
// the path by which state.yaml names it.
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

// KeyOf is the key of a field in state.yaml, "" when it has none.
func KeyOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if !field.IsExported() || name == "-" {
		return ""
	}
	return name
}
