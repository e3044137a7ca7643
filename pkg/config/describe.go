package config

import (
	"reflect"
	"strings"
)

// modelOf describes the entries of the map models that there always are.
var modelOf = map[string]string{
	"default": "all that name no other", "planner": "planners", "coder": "coders", "code_reviewer": "code reviewers",
	"messenger": "messengers", "summarizer": "summarizers",
}

// Describe is one sentence about a key, "" when there is none: what the tag about of its
// field says, and of an entry of a map of names what that of the map says.
func Describe(key string) string {
	if name, ok := strings.CutPrefix(key, "models."); ok && modelOf[name] != "" {
		return "Model of " + modelOf[name] + "."
	}
	t, about := reflect.TypeFor[Config](), ""
	parts := strings.Split(key, ".")
	for i, part := range parts {
		if t.Kind() == reflect.Map {
			if t = t.Elem(); t.Kind() == reflect.String && i == len(parts)-1 {
				return about
			}
			about = ""
			continue
		}
		if t.Kind() != reflect.Struct {
			return ""
		}
		f, ok := fieldOf(t, part)
		if !ok {
			if f, ok = fieldOf(t, "*"); !ok {
				return ""
			}
			t, about = f.Type.Elem(), f.Tag.Get("about")
			continue
		}
		t, about = f.Type, f.Tag.Get("about")
	}
	return about
}
