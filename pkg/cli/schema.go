package cli

import (
	"encoding/json"
	"reflect"
	"strings"

	"liza/pkg/verb"
)

// printRaw prints JSON as it is, or with --json inside the usual object.
func (e *Env) printRaw(key string, v any) error {
	if e.JSON {
		return e.printJSON(map[string]any{"ok": true, "result": map[string]any{key: v}})
	}
	enc := json.NewEncoder(e.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// exitSchema is the JSON Schema of the exit command, made from its Go type.
func exitSchema() map[string]any {
	defs := map[string]any{}
	schema := schemaOf(reflect.TypeFor[verb.Exit](), defs)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Exit command of an agent"
	schema["required"] = []string{"action", "evidence_files", "summary_for_supervisor"}
	schema["$defs"] = defs
	return schema
}

// closedTexts are the texts that may have a few values only, by type and key.
var closedTexts = map[string][]string{
	"Exit.action":        {"COMPLETED", "STUCK", "RETRY"},
	"ReviewExit.status":  {"ok", "needs_fix", "replan", "stuck"},
	"ReviewExit.verdict": {"PASS", "FAIL"},
	"Plan.order":         {"sequential", "graph"},
	"Finding.severity":   {"error", "warning", "info"},
	"Prior.state":        {"RESOLVED", "PARTIAL", "STILL_PRESENT"},
	"Decision.do":        {"unblock", "supersede", "abandon", "finalize"},
	"PlanTask.kind":      {"code", "exec", "msg", "skill"},
}

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
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

func structSchema(t reflect.Type, defs map[string]any) map[string]any {
	properties := map[string]any{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		property := refTo(t.Field(i).Type, defs)
		if values := closedTexts[t.Name()+"."+name]; values != nil {
			property["enum"] = values
		}
		properties[name] = property
	}
	return map[string]any{"type": "object", "properties": properties,
		"patternProperties": map[string]any{"^x_": map[string]any{}}, "additionalProperties": false}
}
