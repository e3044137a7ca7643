package supervisor_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/run/agent"
)

// malformed is an entry of testdata/malformed.yaml.
type malformed struct {
	Name, Answer string
	Long         bool
	Asks         []string
}

func malformedAnswers(t *testing.T) (all []malformed) {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/malformed.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Long {
			all[i].Answer = strings.Replace(all[i].Answer, "It is there. ", strings.Repeat("It is there. ", 80), 1)
		}
	}
	return all
}

// An answer that cannot be used is asked for again, and counted in the usage ledger. A program that is given a schema has the
// model give another answer itself: so Liza asks again for two of sixteen answers at most, not for thirteen.
func TestAProgramWithASchemaIsAskedAgainLess(t *testing.T) {
	for way, want := range map[string]int{"without": 13, "held": 1, "strict": 2} {
		t.Run(way, func(t *testing.T) {
			all, total := malformedAnswers(t), 0
			inBubble(t, func(c *clockwork) {
				for _, x := range all {
					id := strings.ReplaceAll(strings.ReplaceAll(x.Name, " ", "-"), ",", "")
					c.task(id)
					runs := 0
					s := c.programs(blackboard.RoleCoder, unknown("fake"), func(_ string, spec agent.Spec) agent.Result {
						if runs++; runs == 1 {
							c.Git(c.Repo.WorktreePath(id), "commit", "-q", "--allow-empty", "-m", id)
							c.Commit(id)
							return finished(held(t, way, spec, x.Answer))
						}
						return finished(completes)
					})
					s.Adapter = func(string) (agent.Adapter, error) {
						return named{info: agent.Info{Name: "fake", Enforces: way != "without"}}, nil
					}
					c.once(s)
					if asked := runs - 1; asked != 0 != slices.Contains(x.Asks, way) || asked > 1 {
						t.Errorf("%s: asked again %d times; those that are asked again: %v", x.Name, asked, x.Asks)
					}
					if got := c.state().Task(id).Status; got != blackboard.ReadyForReview {
						t.Errorf("%s: %s is %s", x.Name, id, got)
					}
				}
				lines, err := history.ReadUsage(c.Project.Usage())
				if err != nil {
					t.Fatal(err)
				}
				if sums := history.SumUsage(lines, "cli"); len(sums) == 1 {
					total = sums[0].Asked
				}
			})
			t.Logf("%s: asked again for %d of %d answers", way, total, len(all))
			if total != want {
				t.Errorf("the usage ledger counts %d of %d answers that were asked for again, want %d", total, len(all), want)
			}
		})
	}
}

// held is the answer of a run whose model would say answer: as it is where spec has no schema, else the next one of the model
// when this one does not fit.
func held(t *testing.T, way string, spec agent.Spec, answer string) string {
	text := []byte(spec.Schema)
	if way == "strict" && spec.StrictSchemaFile != "" {
		var err error
		if text, err = os.ReadFile(spec.StrictSchemaFile); err != nil {
			t.Error(err)
		}
	}
	if len(text) == 0 {
		return answer
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Error(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Error(err)
	}
	var object map[string]any
	if json.Unmarshal([]byte(answer), &object) != nil {
		return completes
	}
	for key, property := range schema.Properties {
		if _, ok := object[key]; !ok && property.AnyOf != nil { // a model that is held to all keys writes null
			object[key] = nil
		}
	}
	if resolved.Validate(object) != nil {
		return completes
	}
	return answer
}
