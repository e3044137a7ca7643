package exitcmd

import (
	"strings"
	"testing"
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
