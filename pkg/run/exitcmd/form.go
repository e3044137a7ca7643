package exitcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"liza/pkg/board/blackboard"
)

// decodeClosed decodes JSON into v. Its error has every problem of form: unknown keys with
// the nearest known one, and values of another type. Keys that begin with x_ are ignored.
func decodeClosed(data []byte, v any) error {
	raw, err := decodeRaw(data)
	if err != nil {
		return err
	}
	var f formCheck
	f.value(&raw, reflect.TypeOf(v), "")
	if len(f.problems) > 0 {
		return errors.New(AllOf(f.problems))
	}
	return json.Unmarshal(data, v)
}

func decodeRaw(data []byte) (raw any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err = dec.Decode(&raw)
	return raw, err
}

// formCheck compares decoded JSON with a Go type and its json tags. A value that does not fit is a problem with its path, and
// is omitted.
type formCheck struct{ problems []string }

func (f *formCheck) full() bool { return len(f.problems) > mostProblems }

func (f *formCheck) value(v *any, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if *v == nil || t.Kind() == reflect.Interface || f.full() {
		return
	}
	fits := false
	switch t.Kind() {
	case reflect.String:
		_, fits = (*v).(string)
	case reflect.Bool:
		_, fits = (*v).(bool)
	case reflect.Int:
		n, number := (*v).(json.Number)
		_, err := strconv.Atoi(string(n))
		fits = number && err == nil
	case reflect.Slice:
		var list []any
		if list, fits = (*v).([]any); fits {
			for i := range list {
				f.value(&list[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	case reflect.Map, reflect.Struct:
		var object map[string]any
		if object, fits = (*v).(map[string]any); fits {
			f.object(object, t, path)
		}
	}
	if !fits {
		f.problems = append(f.problems, fmt.Sprintf("%s: must be %s, is %s", orWhole(path), kindName(t), jsonName(*v)))
		*v = nil
	}
}

// object looks at the values of a map, or of a struct at those of the keys that it has.
func (f *formCheck) object(object map[string]any, t reflect.Type, path string) {
	known := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		known = jsonFields(t)
	}
	names := slices.Sorted(maps.Keys(known))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if f.full() {
			return
		}
		of, ok := known[key]
		if t.Kind() == reflect.Map {
			of, ok = t.Elem(), true
		}
		switch {
		case ok:
			v := object[key]
			if f.value(&v, of, under(path, key)); v == nil {
				delete(object, key)
			} else {
				object[key] = v
			}
		case !strings.HasPrefix(key, "x_"):
			f.unknown(key, names, path)
			delete(object, key)
		}
	}
}

func (f *formCheck) unknown(key string, known []string, path string) {
	if len(key) > 100 {
		key = strings.ToValidUTF8(key[:100], "") + "…"
	}
	text := fmt.Sprintf("%s: unknown key '%s'", under(path, key), key)
	if near := blackboard.Nearest(key, known); near != "" {
		text += "; nearest: " + near
	}
	f.problems = append(f.problems, text)
}

// jsonFields are the keys that a struct has in JSON, with their types.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func orWhole(path string) string {
	if path == "" {
		return "the whole"
	}
	return path
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "an integer"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a text"
}

// jsonName returns the type of a decoded value, never the value: it may be a secret.
func jsonName(v any) string {
	switch v.(type) {
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a text"
}

// mostProblems is the most problems of one input that are reported.
const mostProblems = 100

// AllOf joins the first mostProblems problems.
func AllOf(problems []string) string {
	if len(problems) > mostProblems {
		problems = append(slices.Clone(problems[:mostProblems]), "and more")
	}
	return strings.Join(problems, "; ")
}

// SchemaFile returns the output of `liza help schema`, for agent programs that accept a schema.
func SchemaFile() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(Schema())
	return b.Bytes(), err
}

// Schema returns the JSON Schema (draft-07) of the exit command, made from its Go type (specs/roles-and-knowledge.md#4.1): of
// the object itself, or of the same under the key response.
func Schema() map[string]any {
	defs := map[string]any{}
	t := reflect.TypeFor[Exit]()
	schema := structSchema(t, defs)
	defs[t.Name()] = structSchema(t, defs)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Exit command of an agent"
	schema["definitions"] = defs
	delete(schema, "required")
	schema["properties"].(map[string]any)["response"] = map[string]any{"$ref": "#/definitions/Exit"}
	schema["anyOf"] = []any{needs(required["Exit"]...), needs("response")}
	return schema
}

// required are the keys that an object always has.
var required = map[string][]string{
	"Exit":        {"action", "evidence_files", "summary_for_supervisor"},
	"Plan":        {"goal"},
	"Decision":    {"do"},
	"HandoffExit": {"summary", "next_action"},
	"Finding":     {"message"},
	"Prior":       {"n", "state"},
}

// either are objects that have one set of keys or another.
var either = map[string][]any{
	"Plan":       {needs("tasks"), needs("decisions")},
	"Decision":   {needs("task"), needs("discovery")},
	"ReviewExit": {needs("status"), needs("verdict")},
}

func needs(keys ...string) map[string]any { return map[string]any{"required": keys} }

func schemaOf(t reflect.Type, defs map[string]any) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": refTo(t.Elem(), defs)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), defs)}
	case reflect.Struct:
		return structSchema(t, defs)
	}
	return map[string]any{}
}

// refTo puts the schema of a struct among the definitions and refers to it.
func refTo(t reflect.Type, defs map[string]any) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return schemaOf(t, defs)
	}
	if _, known := defs[t.Name()]; !known {
		defs[t.Name()] = nil // a type that contains itself ends here
		defs[t.Name()] = structSchema(t, defs)
	}
	return map[string]any{"$ref": "#/definitions/" + t.Name()}
}

func structSchema(t reflect.Type, defs map[string]any) map[string]any {
	properties := map[string]any{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		property := refTo(t.Field(i).Type, defs)
		maps.Copy(property, limits[t.Name()+"."+name].schema())
		properties[name] = property
	}
	schema := map[string]any{"type": "object", "properties": properties,
		"patternProperties": map[string]any{"^x_": map[string]any{}}, "additionalProperties": false}
	if keys := required[t.Name()]; keys != nil {
		schema["required"] = keys
	}
	if forms := either[t.Name()]; forms != nil {
		schema["anyOf"] = forms
	}
	return schema
}
