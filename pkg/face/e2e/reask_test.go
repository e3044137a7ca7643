//go:build e2e

package e2e_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"
)

// reasks is how often Liza asks again for the answers of testdata/malformed.yaml: with a schema, and where the
// provider passes it over. claude compares the answer itself; codex leaves that to the provider.
var reasks = map[string]map[string]int{
	"claude": {"with": 1}, // of an answer of white space it asks the model itself
	"codex":  {"with": 2, "passed over": 13},
}

func TestAProgramWithASchemaIsAskedAgainLess(t *testing.T) {
	t.Parallel()
	tab := newTable(t, "Answers that cannot be used", "program\tschema\tanswers\tasked again\truns\tcalls of the model\tfor")
	answers := malformedAnswers(t)
	for _, p := range installed(t) {
		for way, want := range reasks[p.name] {
			t.Run(p.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, badly(answers, way != "passed over"))
				pr := newProject(t, s, p, false)
				var again []string
				runs := 0
				for _, id := range slices.Sorted(maps.Keys(answers)) {
					pr.must(t, liza, "add-task", "--id", id, "--type", "docs", "--desc", "Show the command", "--done", "README.md has an example", "--scope", "README.md", "--spec", "specs/vision.md")
					_, all, err := pr.run(t, 2*time.Minute, liza+"-agent", "--once", "coder", id)
					if events := pr.board(t).events(id); err != nil || !slices.Contains(events, "ready_for_review") {
						t.Errorf("%s: %v, %v\n%s%s", id, err, events, all, pr.outputs(t))
					}
					n := len(pr.interactions(t, id))
					if runs += n; n > 1 {
						again = append(again, id)
					}
				}
				var used struct {
					Result struct {
						Groups []struct {
							Asked int `json:"asked_again"`
						}
					}
				}
				out, all, _ := pr.run(t, time.Minute, liza, "usage", "--by", "cli", "--json")
				if err := json.Unmarshal(out, &used); err != nil || len(used.Result.Groups) != 1 {
					t.Fatalf("%v\n%s", err, all)
				}
				asked := used.Result.Groups[0].Asked
				tab.add(p.name, way, len(answers), asked, runs, len(s.seen()), strings.Join(again, ", "))
				if asked != want {
					t.Errorf("asked again for %d of %d answers, want %d: %v", asked, len(answers), want, again)
				}
			})
		}
	}
}

// malformedAnswers are those of testdata/malformed.yaml, by the id of a task.
func malformedAnswers(t *testing.T) map[string]string {
	t.Helper()
	var all []struct {
		Name, Answer string
		Long         bool
	}
	data, err := os.ReadFile("../../../testdata/malformed.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for _, x := range all {
		if x.Long {
			x.Answer = strings.Replace(x.Answer, "It is there. ", strings.Repeat("It is there. ", 80), 1)
		}
		answers[strings.ReplaceAll(strings.ReplaceAll(x.Name, " ", "-"), ",", "")] = x.Answer
	}
	return answers
}

// badly is a coder that does its task and then says what cannot be used, once; a provider that holds it to a schema lets it say
// what fits.
func badly(answers map[string]string, holds bool) func(ask) answerOrCommand {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(a ask) answerOrCommand {
		mu.Lock()
		defer mu.Unlock()
		good := exitCommand("It is done.", "")
		switch bad := answers[a.task]; {
		case said[a.task]:
			return answerOrCommand{text: good}
		case a.step == 0:
			return answerOrCommand{command: work["readme"][0]}
		case holds && a.form != "" && !fits(a.form, bad):
			return answerOrCommand{text: good}
		default:
			said[a.task] = true
			return answerOrCommand{text: bad}
		}
	}
}

// fits reports whether an answer is an object of the schema; a key that it leaves out is null, as a model that is held to all of
// them writes it.
func fits(form, answer string) bool {
	var schema jsonschema.Schema
	var object map[string]any
	if json.Unmarshal([]byte(form), &schema) != nil || json.Unmarshal([]byte(answer), &object) != nil {
		return false
	}
	for key, property := range schema.Properties {
		if _, ok := object[key]; !ok && property.AnyOf != nil {
			object[key] = nil
		}
	}
	resolved, err := schema.Resolve(nil)
	return err == nil && resolved.Validate(object) == nil
}
