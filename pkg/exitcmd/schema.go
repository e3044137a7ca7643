package exitcmd

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// SchemaFile is what `liza help schema` prints, for agent programs that are told of it.
func SchemaFile() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(Schema())
	return b.Bytes(), err
}

// Schema is the JSON Schema (draft-07) of the exit command, made from its Go type
// (specs/roles-and-knowledge.md#4.1): the object itself, or the same under the key response.
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
