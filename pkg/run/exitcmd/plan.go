package exitcmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/transition"
)

// Plan is a planner's answer (specs/roles-and-knowledge.md#3.2), in JSON.
type Plan struct {
	Goal      string            `json:"goal"`
	Secrets   map[string]string `json:"secrets,omitempty"`
	Order     string            `json:"order,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Tasks     []PlanTask        `json:"tasks"`
	Decisions []Decision        `json:"decisions,omitempty"`

	Answers int      `json:"-"` // number of the planner's answers up to this one
	form    []string // problems of the form of the text
}

// PlanTask is one item of a plan. Description and Detail, Expect and DoneWhen are aliases.
type PlanTask struct {
	ID                 string         `json:"id,omitempty"`
	Kind               string         `json:"kind,omitempty"`
	Type               string         `json:"type,omitempty"`
	Title              string         `json:"title,omitempty"`
	Detail             string         `json:"detail,omitempty"`
	Description        string         `json:"description,omitempty"`
	Expect             string         `json:"expect,omitempty"`
	DoneWhen           string         `json:"done_when,omitempty"`
	AcceptanceCriteria []string       `json:"acceptance_criteria,omitempty"`
	Scope              string         `json:"scope,omitempty"`
	SpecRef            string         `json:"spec_ref,omitempty"`
	Files              []string       `json:"files,omitempty"`
	DependsOn          *[]string      `json:"depends_on,omitempty"`
	Priority           *int           `json:"priority,omitempty"`
	Role               string         `json:"role,omitempty"`
	Model              string         `json:"model,omitempty"`
	Command            string         `json:"command,omitempty"`
	Skill              string         `json:"skill,omitempty"`
	Args               map[string]any `json:"args,omitempty"`
	Notify             bool           `json:"notify,omitempty"`
	Review             *bool          `json:"review,omitempty"`
	Writes             bool           `json:"writes,omitempty"`
	TimeoutSeconds     *int           `json:"timeout_seconds,omitempty"`
	Secrets            []string       `json:"secrets,omitempty"`
	Supersedes         []string       `json:"supersedes,omitempty"`
	LegacyTests        string         `json:"legacy_tests,omitempty"`
	Draft              bool           `json:"draft,omitempty"`
	Limits             map[string]int `json:"limits,omitempty"`
	Attempts           int            `json:"attempts,omitempty"` // how many coders try apart from each other
	CLI                []string       `json:"cli,omitempty"`      // programs of the attempts, in turn
}

// Decision is the action for an existing task.
type Decision struct {
	Task      string   `json:"task,omitempty"`
	Discovery string   `json:"discovery,omitempty"`
	Do        string   `json:"do"`
	Reason    string   `json:"reason,omitempty"`
	By        []string `json:"by,omitempty"`
	Answers   []string `json:"answers,omitempty"`
	RootCause string   `json:"root_cause,omitempty"`
}

// ParsePlan parses a plan in JSON or YAML. Problems of its form stay with the plan, so that ApplyPlan reports them together
// with all others; it returns an error for a text that is not a plan at all.
func ParsePlan(data []byte) (*Plan, error) {
	if !json.Valid(data) {
		converted, err := fromYAML(data)
		if err != nil {
			return nil, err
		}
		data = converted
	}
	raw, err := decodeRaw(data)
	if err != nil {
		return nil, InvalidPlan("the plan cannot be read: %v", err)
	}
	var p Plan
	if key := doubledKey(data); key != "" {
		p.form = append(p.form, fmt.Sprintf("the key '%s' is there twice", key))
	}
	var f formCheck
	f.value(&raw, reflect.TypeFor[Plan](), "")
	switch {
	case f.full() || raw == nil && len(f.problems) > 0:
		return nil, InvalidPlan("the plan cannot be read: %s", AllOf(f.problems))
	case raw == nil:
		return nil, InvalidPlan("the plan cannot be read: it is empty")
	}
	clean, err := json.Marshal(raw)
	if err != nil {
		return nil, InvalidPlan("the plan cannot be read: %v", err)
	}
	if err := json.Unmarshal(clean, &p); err != nil {
		return nil, InvalidPlan("the plan cannot be read: %v", err)
	}
	p.form = append(p.form, f.problems...)
	return &p, nil
}

// maxKeys is the most keys of a map of a plan in YAML: the search for duplicates takes the square of it.
const maxKeys = 200

// fromYAML turns a plan in YAML into one in JSON.
func fromYAML(data []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, InvalidPlan("the plan is neither JSON nor YAML: %v", err)
	}
	if n := largeMap(&doc); n != nil {
		return nil, InvalidPlan("the plan has a map with %d keys in line %d; %d is the limit", len(n.Content)/2, n.Line, maxKeys)
	}
	var v any
	if err := doc.Decode(&v); err != nil {
		return nil, InvalidPlan("the plan is neither JSON nor YAML: %v", err)
	}
	converted, err := json.Marshal(v)
	if err != nil {
		return nil, InvalidPlan("the plan has keys that are not text: %v", err)
	}
	return converted, nil
}

// largeMap finds a map with more keys than a plan has, nil for none.
func largeMap(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys {
		return n
	}
	for _, c := range n.Content {
		if found := largeMap(c); found != nil {
			return found
		}
	}
	return nil
}

// NotApplied begins the error of a plan that could be read and is refused: for a limit, a rule or the board.
const NotApplied = "the plan cannot be applied: "

// InvalidPlan returns the error for an invalid plan.
func InvalidPlan(format string, args ...any) error {
	return transition.Refuse(transition.ExitUsage, "liza help plan", format, args...)
}

// FormProblems returns the problems that need no board.
func (p *Plan) FormProblems() []string {
	return append(slices.Clone(p.form), SecretProblems(p.Secrets)...)
}

// Hash returns a hash that is equal for equal plans. Values of secrets do not count, because a hash could be used to guess
// them.
func (p *Plan) Hash() (string, error) {
	named := *p
	named.Secrets = map[string]string{}
	for name := range p.Secrets {
		named.Secrets[name] = ""
	}
	canonical, err := json.Marshal(named)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// SecretName is the form of the name of a secret.
var SecretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// SecretProblems returns the problems of a plan's secrets, without their values.
func SecretProblems(values map[string]string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !SecretName().MatchString(name):
			problems = append(problems, fmt.Sprintf("secrets.%s: the name must match %s", name, SecretName()))
		case strings.TrimSpace(values[name]) == "":
			problems = append(problems, "secrets."+name+": is empty")
		}
	}
	return problems
}

// Unread reports whether a key has a problem of form, so that its value was not read.
func (p *Plan) Unread(key string) bool {
	return p != nil && slices.ContainsFunc(p.form, func(told string) bool { return strings.HasPrefix(told, key+": ") })
}

// Secrets returns the secrets in an output by name, even if the rest is invalid.
func Secrets(output string) map[string]string {
	found := map[string]string{}
	for _, object := range objects(Text(output)) {
		for name, value := range secretsIn(object) {
			if len(SecretProblems(map[string]string{name: value})) == 0 {
				found[name] = value
			}
		}
	}
	return found
}

// secretsIn are the secrets of an exit command, whatever else is wrong with it.
func secretsIn(object []byte) map[string]string {
	type answer struct {
		Plan struct {
			Secrets map[string]any `json:"secrets"`
		} `json:"plan"`
	}
	var a struct {
		answer
		Response answer `json:"response"`
	}
	_ = json.Unmarshal(object, &a) // what cannot be read holds none
	values := map[string]string{}
	for _, found := range []map[string]any{a.Plan.Secrets, a.Response.Plan.Secrets} {
		for name, value := range found {
			if text, ok := value.(string); ok {
				values[name] = text
			}
		}
	}
	return values
}
