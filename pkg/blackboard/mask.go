package blackboard

import "reflect"

// Mask replaces every text of the change by what mask makes of it: those of the tasks that a
// fork owns, and of all other sections (roles-and-knowledge 9.6). Names by which things find
// each other stay: one that holds a secret is refused instead (V62). So does the
// configuration, which is a person's own.
func (s *State) Mask(mask func(string) string) {
	for _, t := range s.Tasks {
		if s.owned == nil || s.owned[t] {
			maskTexts(reflect.ValueOf(t), mask)
		}
	}
	state := reflect.ValueOf(s).Elem()
	for i := range state.NumField() {
		switch section := keyOf(state.Type().Field(i)); section {
		case "", "version", "revision", "tasks", "secrets", "config":
		default:
			maskTexts(state.Field(i), mask)
		}
	}
}

// MaskAll is Mask for the whole state: tasks that nothing else changes are masked too.
func (s *State) MaskAll(mask func(string) string) {
	for _, t := range s.Tasks {
		holds := false
		eachText(reflect.ValueOf(t), "", func(_, text string) { holds = holds || mask(text) != text })
		if holds {
			s.Own(t)
		}
	}
	s.Mask(mask)
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
			if name := keyOf(field); name != "" && !isName(name) || field.IsExported() && field.Tag.Get("yaml") == ",inline" {
				maskTexts(v.Field(i), mask)
			}
		}
	}
}

var textType = reflect.TypeFor[string]()

// isName tells whether the values of a key are no texts: others refer to them, or rules read
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
