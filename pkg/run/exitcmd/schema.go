package exitcmd

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// AnswerSchema returns the JSON Schema, as one line of JSON, of the exit command that an agent of kind ends with: the
// keys of its kind and no others (specs/roles-and-knowledge.md#4.1). A strict schema has the form that providers
// demand who hold a model to it: each key of each object is required, an optional one may be null, and limits of
// texts are left to the reader. A kind without an exit command has none: the answer is nil.
func AnswerSchema(kind string, strict bool) []byte {
	if !slices.Contains([]string{"planner", "coder", "code_reviewer"}, kind) {
		return nil
	}
	defs := map[string]any{}
	schema := structSchema(reflect.TypeFor[Exit](), defs)
	properties := schema["properties"].(map[string]any)
	maps.DeleteFunc(properties, func(key string, _ any) bool {
		kinds, payload := payloadOf[key]
		return payload && !slices.Contains(kinds, kind)
	})
	used := map[string]any{}
	refer(properties, defs, used)
	if strict {
		schema = strictly(schema).(map[string]any)
		for name := range used {
			used[name] = strictly(used[name])
		}
	}
	if len(used) > 0 {
		schema["definitions"] = used
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schema); err != nil {
		panic("exitcmd: a schema of texts and lists cannot be written: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

// refer copies the definitions that a schema refers to, directly or through others, from defs to used.
func refer(schema any, defs, used map[string]any) {
	const prefix = "#/definitions/"
	switch s := schema.(type) {
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok && used[ref[len(prefix):]] == nil {
			name := ref[len(prefix):]
			used[name] = defs[name]
			refer(defs[name], defs, used)
		}
		for _, inner := range s {
			refer(inner, defs, used)
		}
	case []any:
		for _, inner := range s {
			refer(inner, defs, used)
		}
	}
}

// strictly returns a schema in its strict form. A key whose value may be anything, or an object of any keys, has none
// and is left out.
func strictly(schema any) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out := map[string]any{}
	for _, key := range []string{"$ref", "type", "enum"} {
		if value, ok := s[key]; ok {
			out[key] = value
		}
	}
	if items, ok := s["items"]; ok {
		out["items"] = strictly(items)
	}
	if forms, ok := s["anyOf"].([]any); ok && s["properties"] == nil { // the forms of an object say which keys it needs
		var strict []any
		for _, form := range forms {
			strict = append(strict, strictly(form))
		}
		out["anyOf"] = strict
	}
	given, ok := s["properties"].(map[string]any)
	if !ok {
		return out
	}
	always, _ := s["required"].([]string)
	properties := map[string]any{}
	for key, value := range given {
		inner := strictly(value).(map[string]any)
		switch {
		case len(inner) == 0 || inner["type"] == "object" && inner["properties"] == nil:
		case slices.Contains(always, key):
			properties[key] = inner
		default:
			properties[key] = map[string]any{"anyOf": []any{inner, map[string]any{"type": "null"}}}
		}
	}
	out["properties"], out["required"], out["additionalProperties"] = properties, slices.Sorted(maps.Keys(properties)), false
	return out
}
