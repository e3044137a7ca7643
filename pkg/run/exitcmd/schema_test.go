package exitcmd

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestTheSchemaKnowsTheKeysThatItCloses(t *testing.T) {
	t.Parallel()
	defs := Schema()["definitions"].(map[string]any)
	for key := range limits {
		typ, property, _ := strings.Cut(key, ".")
		in, _ := defs[typ].(map[string]any)
		properties, _ := in["properties"].(map[string]any)
		if _, ok := properties[property]; !ok {
			t.Errorf("the exit command has no %s", key)
		}
	}
}

// answers are one answer of each kind, as a model that is held to the strict schema gives it, and the same in short.
var answers = map[string][2]string{
	"coder": {`{"action":"COMPLETED","evidence_files":["a.txt"],"summary_for_supervisor":"Done.","attempted":null,"blocked_questions":null,"handoff":null,"no_tests":null}`,
		`{"action":"COMPLETED","evidence_files":["a.txt"],"summary_for_supervisor":"Done."}`},
	"code_reviewer": {`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"One thing.","handoff":null,"review":{"status":"needs_fix","verdict":null,"reason":"It does not say hello.","inject":null,"learn":["Say hello."],
		"findings":[{"message":"no hello","file":"a.txt","line":1,"severity":"error","check":null,"fix":null,"spec_ref":null}],"suggestions":null,"prior":[{"n":1,"state":"RESOLVED"}],"pick":null}}`,
		`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"One thing.","review":{"status":"needs_fix","reason":"It does not say hello.","learn":["Say hello."],
		"findings":[{"message":"no hello","file":"a.txt","line":1,"severity":"error"}],"prior":[{"n":1,"state":"RESOLVED"}]}}`},
	"planner": {`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"One task.","blocked_questions":null,"plan":{"goal":"Hello","order":"graph","reason":null,"decisions":null,"tasks":[{"id":"t1","title":"Hello",
		"description":"Say hello","done_when":"it does","scope":"a.txt","spec_ref":"specs/a.md","type":"feature","acceptance_criteria":null,"command":null,"depends_on":null,"detail":null,"draft":null,"expect":null,"files":null,"kind":null,
		"legacy_tests":null,"model":null,"notify":null,"priority":null,"review":null,"role":null,"secrets":null,"skill":null,"supersedes":null,"timeout_seconds":null,"writes":null,"attempts":null,"cli":null}]}}`,
		`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"One task.","plan":{"goal":"Hello","order":"graph","tasks":[{"id":"t1","title":"Hello",
		"description":"Say hello","done_when":"it does","scope":"a.txt","spec_ref":"specs/a.md","type":"feature"}]}}`},
}

// An answer in the strict form fits the strict schema, and is read as the one without the keys that are null; the short one fits the
// schema with optional keys, and not the strict one.
func TestAnswersFitTheSchemaOfTheirKind(t *testing.T) {
	t.Parallel()
	for kind, answer := range answers {
		for i, strict := range []bool{true, false} {
			var schema jsonschema.Schema
			if err := json.Unmarshal(AnswerSchema(kind, strict), &schema); err != nil {
				t.Fatalf("%s: the schema cannot be read: %v", kind, err)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatalf("%s: the schema does not hold together: %v", kind, err)
			}
			var given any
			if err := json.Unmarshal([]byte(answer[i]), &given); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(given); err != nil {
				t.Errorf("%s, strict %v: the schema refuses %s: %v", kind, strict, answer[i], err)
			}
			if strict {
				delete(given.(map[string]any), "evidence_files")
				if resolved.Validate(given) == nil {
					t.Errorf("%s: the strict schema takes an answer without evidence_files", kind)
				}
			}
		}
		full, short := Read(answer[0], kind), Read(answer[1], kind)
		if full.Problem != nil || short.Problem != nil || !reflect.DeepEqual(full.Exit, short.Exit) {
			t.Errorf("%s: with null %+v (%v), without %+v (%v)", kind, full.Exit, full.Problem, short.Exit, short.Problem)
		}
	}
}

// Providers refuse a strict schema one of whose objects is open or leaves a key optional.
func TestAStrictSchemaIsClosedAndRequiresAllItsKeys(t *testing.T) {
	t.Parallel()
	var look func(path string, v any)
	look = func(path string, v any) {
		switch s := v.(type) {
		case []any:
			for _, inner := range s {
				look(path, inner)
			}
		case map[string]any:
			for key, inner := range s {
				look(path+"."+key, inner)
			}
			if properties, ok := s["properties"].(map[string]any); ok && s["type"] == "object" {
				required, _ := s["required"].([]any)
				if s["additionalProperties"] != false || len(required) != len(properties) {
					t.Errorf("%s is open, or requires %d of %d keys", path, len(required), len(properties))
				}
			}
			for _, key := range []string{"patternProperties", "maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum"} {
				if _, ok := s[key]; ok {
					t.Errorf("%s has %s", path, key)
				}
			}
		}
	}
	for kind := range answers {
		var schema map[string]any
		if err := json.Unmarshal(AnswerSchema(kind, true), &schema); err != nil {
			t.Fatal(err)
		}
		if schema["anyOf"] != nil {
			t.Errorf("%s: the schema has several forms at its top, which tools of models do not take", kind)
		}
		look(kind, schema)
	}
	if AnswerSchema("messenger", true) != nil {
		t.Error("a messenger ends with no exit command, and has a schema of one")
	}
}
