package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Roles as the scenario and LIZA_ROLE name them.
const (
	planner      = "planner"
	coder        = "coder"
	codeReviewer = "code_reviewer"
	messenger    = "messenger"
	summarizer   = "summarizer"
)

var roles = []string{planner, coder, codeReviewer, messenger, summarizer}

// Presets of bad behaviour.
const (
	presetHang         = "hang"
	presetCrash        = "crash"
	presetRateLimit    = "rate_limit"
	presetQuota        = "quota"
	presetAuthError    = "auth_error"
	presetContextFull  = "context_full"
	presetNetworkError = "network_error"
	presetInvalidJSON  = "invalid_json"
	presetInteractive  = "interactive"
)

var presets = []string{presetHang, presetCrash, presetRateLimit, presetQuota, presetAuthError,
	presetContextFull, presetNetworkError, presetInvalidJSON, presetInteractive}

// A Scenario says per role, task and attempt what the scripted agent does.
type Scenario struct {
	path     string
	planner  []entry
	tasks    map[string]map[string][]entry // role → task → entries
	fallback map[string]entry              // role → entry when no other fits
}

// entry is one run.
type entry struct {
	run     string
	commit  string
	delay   time.Duration
	preset  string
	exit    payload
	plan    payload
	review  payload
	present bool
}

// payload is an object of the exit command; nil = none.
type payload map[string]any

// Load reads a scenario file. The error has everything that is wrong with it.
func Load(file string) (*Scenario, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("cannot find the scenario file %s: %v", file, err)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot find the scenario file %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the scenario file: %v", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("cannot read the scenario file %s: %v", file, err)
	}
	s := &Scenario{path: path, tasks: map[string]map[string][]entry{}, fallback: map[string]entry{}}
	r := reader{file: file}
	if len(doc.Content) > 0 {
		r.scenario(s, doc.Content[0])
	}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return s, nil
}

// reader walks the nodes, so that each problem has its line.
type reader struct {
	file     string
	problems []error
}

func (r *reader) problem(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.file, n.Line, fmt.Sprintf(format, args...)))
}

// fields calls f for each key of a mapping.
func (r *reader) fields(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	n = plain(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.problem(n, "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], plain(n.Content[i+1])
		if seen[key.Value] {
			r.problem(key, "%s has the key %q twice", what, key.Value)
		}
		seen[key.Value] = true
		f(key, value)
	}
}

func plain(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (r *reader) scenario(s *Scenario, n *yaml.Node) {
	r.fields(n, "the scenario", func(key, value *yaml.Node) {
		switch {
		case key.Value == "default":
			r.fields(value, "default", func(key, value *yaml.Node) {
				if !slices.Contains(roles, key.Value) {
					r.problem(key, "unknown role %q; known are %s", key.Value, strings.Join(roles, ", "))
					return
				}
				s.fallback[key.Value] = r.entry(key.Value, value)
			})
		case key.Value == planner:
			s.planner = r.entries(planner, value)
		case slices.Contains(roles, key.Value):
			s.tasks[key.Value] = map[string][]entry{}
			r.fields(value, key.Value, func(task, value *yaml.Node) {
				s.tasks[key.Value][task.Value] = r.entries(key.Value, value)
			})
		default:
			r.problem(key, "unknown key %q; known are %s, default", key.Value, strings.Join(roles, ", "))
		}
	})
}

func (r *reader) entries(role string, n *yaml.Node) []entry {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, "the entries of %s must be a list, one for each run", role)
		return nil
	}
	var list []entry
	for _, item := range n.Content {
		list = append(list, r.entry(role, plain(item)))
	}
	return list
}

func (r *reader) entry(role string, n *yaml.Node) entry {
	e := entry{present: true}
	r.fields(n, "an entry", func(key, value *yaml.Node) {
		switch key.Value {
		case "run":
			e.run = r.text(key, value)
		case "commit":
			e.commit = r.text(key, value)
		case "delay":
			d, err := time.ParseDuration(r.text(key, value))
			if err != nil || d < 0 {
				r.problem(value, "delay must be a time like 200ms, not %q", value.Value)
			}
			e.delay = d
		case "preset":
			e.preset = r.text(key, value)
			if !slices.Contains(presets, e.preset) {
				r.problem(value, "unknown preset %q; known are %s", e.preset, strings.Join(presets, ", "))
			}
		case "exit":
			e.exit = r.payload(key, value)
		case "plan":
			e.plan = r.payload(key, value)
			if role != planner {
				r.problem(key, "only a planner has a plan")
			}
		case "review":
			e.review = r.payload(key, value)
			if role != codeReviewer {
				r.problem(key, "only a code_reviewer has a review")
			}
		default:
			r.problem(key, "unknown key %q; known are run, commit, delay, exit, preset, plan, review", key.Value)
		}
	})
	return e
}

func (r *reader) text(key, value *yaml.Node) string {
	if value.Kind != yaml.ScalarNode {
		r.problem(value, "%s must be a text", key.Value)
		return ""
	}
	return value.Value
}

// payload reads an object that can be written as JSON.
func (r *reader) payload(key, value *yaml.Node) payload {
	p := payload{}
	if value.Kind != yaml.MappingNode {
		r.problem(value, "%s must be a mapping", key.Value)
		return p
	}
	if err := value.Decode(&p); err != nil {
		r.problem(value, "%s: %v", key.Value, err)
		return p
	}
	if _, err := json.Marshal(p); err != nil {
		r.problem(value, "%s cannot be written as JSON: %v", key.Value, err)
	}
	return p
}
