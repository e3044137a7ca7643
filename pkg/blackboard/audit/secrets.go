package blackboard

import (
	"reflect"
	"slices"
	"strings"
)

// checkSecrets looks for values of registered secrets in every text of the state
// (V62). A writer looks only at the tasks that it changes.
func checkSecrets(v *validation) {
	if v.facts.Secrets == nil {
		return
	}
	for _, t := range v.tasks {
		if v.facts.Write && reflect.DeepEqual(v.old(t.ID), t) {
			continue
		}
		v.secretsIn(reflect.ValueOf(t), func(field, name string) {
			v.task(t, field, "contains the value of secret '%s'", name)
		})
	}
	for _, id := range v.agents {
		v.secretsIn(reflect.ValueOf(v.s.Agents[id]), func(field, name string) {
			v.agent(id, field, "contains the value of secret '%s'", name)
		})
	}
	state := reflect.ValueOf(v.s).Elem()
	for i := range state.NumField() {
		section := keyOf(state.Type().Field(i))
		if section == "" || section == "tasks" || section == "agents" {
			continue
		}
		v.secretsIn(state.Field(i), func(field, name string) {
			if field != "" && field[0] != '[' {
				field = "." + field
			}
			v.section(section, field, "%s: contains the value of secret '%s'", section, name)
		})
	}
}

// secretsIn reports each secret that occurs below value, once, at its first place.
func (v *validation) secretsIn(value reflect.Value, found func(field, name string)) {
	var names List
	eachText(value, "", func(field, text string) {
		if name, is := v.facts.Secrets(text); is && !names.Has(name) {
			names = append(names, name)
			found(field, name)
		}
	})
}

// eachText calls visit with every text below value, keys of open maps included, and
// the path by which state.yaml names it.
func eachText(value reflect.Value, at string, visit func(field, text string)) {
	below := func(name string) string {
		if at == "" {
			return name
		}
		return at + "." + name
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			eachText(value.Elem(), at, visit)
		}
	case reflect.String:
		if text := value.String(); text != "" {
			visit(at, text)
		}
	case reflect.Slice:
		for i := range value.Len() {
			eachText(value.Index(i), at+"["+position(i)+"]", visit)
		}
	case reflect.Map:
		keys := value.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			visit(at, key.String())
			eachText(value.MapIndex(key), below(key.String()), visit)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			field := value.Type().Field(i)
			switch name := keyOf(field); {
			case name != "":
				eachText(value.Field(i), below(name), visit)
			case strings.Contains(field.Tag.Get("yaml"), "inline"):
				eachText(value.Field(i), at, visit)
			}
		}
	}
}

// keyOf is the key of a field in state.yaml, "" when it has none.
func keyOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if !field.IsExported() || name == "-" {
		return ""
	}
	return name
}
