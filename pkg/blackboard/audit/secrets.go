package audit

import (
	"reflect"

	"liza/pkg/blackboard"
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
		section := blackboard.KeyOf(state.Type().Field(i))
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
	var names blackboard.List
	blackboard.EachText(value, "", func(field, text string) {
		if name, is := v.facts.Secrets(text); is && !names.Has(name) {
			names = append(names, name)
			found(field, name)
		}
	})
}
