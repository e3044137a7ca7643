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
// (roles-and-knowledge 4.1): the object itself, or the same under the key response.
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

// bounds are what the type of a key does not say: sizes, few values, open forms.
var bounds = map[string]map[string]any{
	"Exit.action":                  oneOf("COMPLETED", "STUCK", "RETRY"),
	"Exit.evidence_files":          {"maxItems": 200},
	"Exit.summary_for_supervisor":  upTo(1, 1000),
	"Exit.blocked_questions":       {"minItems": 1, "maxItems": 3, "items": textUpTo(500)},
	"Exit.attempted":               {"maxItems": 10, "items": textUpTo(500)},
	"Exit.text":                    upTo(0, 20000),
	"Exit.summary":                 upTo(0, 4000),
	"Exit.facts":                   factsSchema(),
	"ReviewExit.status":            oneOf("ok", "needs_fix", "replan", "stuck"),
	"ReviewExit.verdict":           oneOf("PASS", "FAIL"),
	"ReviewExit.reason":            upTo(0, 4000),
	"ReviewExit.inject":            {"maxItems": 10},
	"ReviewExit.findings":          {"maxItems": 50},
	"ReviewExit.suggestions":       {"maxItems": 20},
	"ReviewExit.learn":             {"anyOf": []any{textUpTo(0), map[string]any{"type": "array", "items": textUpTo(0), "maxItems": 3}}},
	"Finding.severity":             oneOf("error", "warning", "info"),
	"Prior.n":                      {"minimum": 1},
	"Prior.state":                  oneOf("RESOLVED", "PARTIAL", "STILL_PRESENT"),
	"Plan.goal":                    upTo(1, 2000),
	"Plan.reason":                  upTo(0, 1000),
	"Plan.order":                   oneOf("sequential", "graph"),
	"Plan.secrets":                 {"propertyNames": map[string]any{"pattern": "^[a-z][a-z0-9_]{0,63}$"}},
	"Plan.decisions":               {"maxItems": 20},
	"Decision.do":                  oneOf("unblock", "supersede", "abandon", "finalize", "convert", "defer"),
	"Decision.reason":              upTo(0, 1000),
	"PlanTask.kind":                oneOf("code", "exec", "msg", "skill"),
	"PlanTask.title":               upTo(0, 120),
	"PlanTask.detail":              upTo(0, 5000),
	"PlanTask.description":         upTo(0, 5000),
	"PlanTask.expect":              upTo(0, 1500),
	"PlanTask.done_when":           upTo(0, 1500),
	"PlanTask.scope":               upTo(0, 1500),
	"PlanTask.acceptance_criteria": {"maxItems": 20, "items": textUpTo(500)},
	"PlanTask.priority":            {"minimum": 0},
	"PlanTask.timeout_seconds":     {"minimum": 1, "maximum": 3600},
	"PlanTask.limits":              {"additionalProperties": map[string]any{"type": "integer", "minimum": 0}},
}

func oneOf(values ...string) map[string]any { return map[string]any{"enum": values} }

func upTo(least, most int) map[string]any {
	m := map[string]any{"maxLength": most}
	if least > 0 {
		m["minLength"] = least
	}
	return m
}

// textUpTo is a text, 0 for one of any length.
func textUpTo(most int) map[string]any {
	m := map[string]any{"type": "string"}
	if most > 0 {
		m["maxLength"] = most
	}
	return m
}

// factsSchema is the answer of a summarizer about facts (roles-and-knowledge 6.3).
func factsSchema() map[string]any {
	texts := map[string]any{"type": "array", "items": textUpTo(0)}
	result := map[string]any{"type": "object", "required": []string{"content", "from"},
		"properties": map[string]any{"content": textUpTo(0), "from": texts}}
	return map[string]any{"type": "object", "required": []string{"result"},
		"properties": map[string]any{"result": map[string]any{"type": "array", "items": result}, "delete": texts}}
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
		maps.Copy(property, bounds[t.Name()+"."+name])
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
