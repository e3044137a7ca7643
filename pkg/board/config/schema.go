package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema returns the JSON Schema of the file, for editors that complete and check it. It is made from the types that read the
// file.
func Schema() map[string]any {
	s := objectSchema(reflect.ValueOf(Default()).Elem(), "")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Configuration of Liza (.liza/config.yaml)"
	return s
}

// objectSchema is that of a struct with its default values.
func objectSchema(v reflect.Value, key string) map[string]any {
	properties := map[string]any{}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	describe(out, key)
	for f := range v.Type().Fields() {
		name := f.Tag.Get("key")
		if name == "" {
			continue
		}
		k := kindOf(f)
		if name == "*" {
			elem := k.of(k.typ.Elem())
			out["additionalProperties"] = schemaOf(reflect.New(elem.typ).Elem(), elem, join(key, "*"), false)
			continue
		}
		properties[name] = schemaOf(v.FieldByIndex(f.Index), k, join(key, name), true)
	}
	return out
}

func describe(s map[string]any, key string) {
	if text := Describe(key); text != "" {
		s["description"] = text
	}
}

// schemaOf is that of one value; preset reports whether v is a default.
func schemaOf(v reflect.Value, k kind, key string, preset bool) map[string]any {
	switch {
	case k.typ == fallbackType:
		s := map[string]any{"oneOf": []any{namesSchema(), map[string]any{"type": "object", "additionalProperties": namesSchema()}}}
		describe(s, key)
		return s
	case k.typ == modelType:
		s := map[string]any{"oneOf": []any{map[string]any{"type": "string"}, itemSchema(k.typ)}}
		if describe(s, key); preset {
			s["default"] = shownValue(v, k)
		}
		return s
	case k.typ.Kind() == reflect.Struct:
		return objectSchema(v, key)
	case k.typ.Kind() == reflect.Map:
		s := mapSchema(v, k, key)
		if preset && v.Len() == 0 {
			s["default"] = map[string]any{}
		}
		return s
	}
	s := valueSchema(k)
	describe(s, key)
	if unit := map[string]string{"s": "Seconds", "m": "Minutes"}[k.unit]; unit != "" {
		s["description"] = strings.TrimSpace(fmt.Sprint(s["description"], " ", unit, "."))
	}
	if preset {
		s["default"] = shownValue(v, k)
	}
	return s
}

func namesSchema() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "string", "minLength": 1}}
}

func mapSchema(v reflect.Value, k kind, key string) map[string]any {
	elem := k.of(k.typ.Elem())
	properties := map[string]any{}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	describe(s, key)
	for _, name := range mapKeys(v) {
		e := reflect.New(elem.typ).Elem()
		e.Set(v.MapIndex(reflect.ValueOf(name)))
		properties[name] = schemaOf(e, elem, join(key, name), true)
	}
	if !k.closed {
		s["additionalProperties"] = schemaOf(reflect.New(elem.typ).Elem(), elem, join(key, "*"), false)
	}
	return s
}

// valueSchema returns the schema of a single value or a list.
func valueSchema(k kind) map[string]any {
	switch {
	case k.typ.Kind() == reflect.Struct:
		return itemSchema(k.typ)
	case k.typ.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": valueSchema(k.of(k.typ.Elem()))}
	case k.typ.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case k.typ.Kind() == reflect.Float64:
		return map[string]any{"type": "number", "minimum": 0}
	case k.typ.Kind() == reflect.String:
		s := map[string]any{"type": "string"}
		switch {
		case k.is == "name" || k.is == "branch":
			s["minLength"] = 1
		case k.is == "url":
			s["format"] = "uri"
		case k.is == "regexp":
			s["format"] = "regex"
		case strings.Contains(k.is, "|"):
			s["enum"] = strings.Split(k.is, "|")
		}
		return s
	}
	low, high := bounds(k.is)
	s := map[string]any{"type": "integer", "minimum": low}
	if high != anyLarge {
		s["maximum"] = high
	}
	return s
}

// itemSchema is that of a map in a list.
func itemSchema(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for f := range t.Fields() {
		if f.Tag.Get("key") == "" {
			continue
		}
		properties[f.Tag.Get("key")] = valueSchema(kindOf(f))
		if f.Tag.Get("required") != "" {
			required = append(required, f.Tag.Get("key"))
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// shownItems are the maps of a list, without the keys that say nothing.
func shownItems(list reflect.Value) []any {
	out := []any{}
	for i := range list.Len() {
		m := map[string]any{}
		for f := range list.Index(i).Type().Fields() {
			if x := list.Index(i).FieldByIndex(f.Index); !x.IsZero() {
				m[f.Tag.Get("key")] = shownValue(x, kindOf(f))
			}
		}
		out = append(out, m)
	}
	return out
}

// shownValue is a value as the file has it.
func shownValue(v reflect.Value, k kind) any {
	if k.typ == durationType {
		return int(v.Interface().(time.Duration) / unitOf(k.unit))
	}
	if f, ok := v.Interface().(Fallback); ok {
		if f.ByRole != nil {
			return f.ByRole
		}
		return append([]string{}, f.All...)
	}
	if m, ok := v.Interface().(Model); ok {
		if m.Ladder == nil {
			return m.Name
		}
		shown := map[string]any{"ladder": m.Ladder}
		if m.AfterRejections > 0 {
			shown["after_rejections"] = m.AfterRejections
		}
		if m.FromBottom {
			shown["from_bottom"] = true
		}
		return shown
	}
	if k.typ.Kind() == reflect.Slice && k.typ.Elem().Kind() == reflect.Struct {
		return shownItems(v)
	}
	if k.typ.Kind() == reflect.Slice {
		return append([]string{}, v.Interface().([]string)...)
	}
	if k.typ.Kind() == reflect.Map && v.Len() == 0 {
		return map[string]any{}
	}
	return v.Interface()
}

// Value is one effective setting for people.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`          // default, .liza/config.yaml:3, LIZA_REVIEW_MODE
	Alias  string `json:"alias,omitempty"` // name in the section config of state.yaml that sets it
	About  string `json:"about,omitempty"`
}

// Values returns every effective setting, in the order of the file's sections; a map without entries is one value.
func (c *Config) Values() []Value {
	var list []Value
	for _, l := range allOf(c) {
		list = append(list, Value{Key: l.key, Value: shownValue(l.get(), l.kind), Origin: c.origins[l.key].String(), About: Describe(l.key)})
	}
	return list
}

// Setting returns the name of a key in state.yaml's section config, or "".
func Setting(key string) string {
	for _, r := range renamed {
		if r.key == key {
			return r.setting
		}
	}
	if name, ok := strings.CutPrefix(key, "protocol."); ok && slices.ContainsFunc(leaves(Default()), func(l leaf) bool { return l.key == key }) {
		return name
	}
	return ""
}

// Translate converts a value of state.yaml's section config, where durations are seconds, to the unit of the key in the file.
func (c *Config) Translate(key string, raw any) any {
	seconds, whole := raw.(int)
	for _, l := range leaves(c) {
		if l.key == key && whole && l.kind.typ == durationType && l.kind.unit == "m" && !strings.HasSuffix(Setting(key), "_minutes") {
			if seconds%60 == 0 {
				return seconds / 60
			}
			return float64(seconds) / 60
		}
	}
	return raw
}
