package exitcmd

import (
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// The words of an exit command.
const (
	Completed = "COMPLETED"
	Stuck     = "STUCK"
	Retry     = "RETRY"

	ReviewOK       = "ok"
	ReviewNeedsFix = "needs_fix"
	ReviewReplan   = "replan"
	ReviewStuck    = "stuck"
)

// What a decision of a plan may do with a task or a discovery.
const (
	DoUnblock   = "unblock"
	DoSupersede = "supersede"
	DoAbandon   = "abandon"
	DoFinalize  = "finalize"
	DoConvert   = "convert"
	DoDefer     = "defer"
)

// Limit is what the type of a key does not say. The same line serves the checks of an answer, those of a plan and the
// JSON Schema, so that no program is told another limit than the one that it is held to.
type Limit struct {
	Least, Most int      // characters of a text; the value of a number
	LeastItems  int      // entries of a list
	Items       int      // and at most
	Each        int      // characters of each entry
	Words       []string // the only values of a text

	number bool           // Least and Most, where it is not 0, are those of a number
	form   map[string]any // what JSON Schema says besides
}

// limits has the keys as "Type.key".
var limits = map[string]Limit{
	"Exit.action":                 {Words: []string{Completed, Stuck, Retry}},
	"Exit.evidence_files":         {Items: 200},
	"Exit.summary_for_supervisor": {Least: 1, Most: 1000},
	"Exit.blocked_questions":      {LeastItems: 1, Items: 3, Each: 500},
	"Exit.attempted":              {Items: 10, Each: 500},
	"Exit.text":                   {Most: 20000},
	"Exit.summary":                {Most: 4000},
	"Exit.facts":                  {form: factsSchema()},

	"ReviewExit.status":      {Words: []string{ReviewOK, ReviewNeedsFix, ReviewReplan, ReviewStuck}},
	"ReviewExit.verdict":     {Words: []string{"PASS", "FAIL"}},
	"ReviewExit.reason":      {Most: 4000},
	"ReviewExit.inject":      {Items: 10},
	"ReviewExit.findings":    {Items: 50},
	"ReviewExit.suggestions": {Items: 20},
	"ReviewExit.learn":       {form: map[string]any{"anyOf": []any{textSchema(0), map[string]any{"type": "array", "items": textSchema(0), "maxItems": MaxLearn}}}},
	"Finding.severity":       {Words: []string{"error", "warning", "info"}},
	"Prior.n":                {Least: 1, number: true},
	"Prior.state":            {Words: []string{string(blackboard.PriorResolved), string(blackboard.PriorPartial), string(blackboard.PriorStillPresent)}},

	"Plan.goal":       {Least: 1, Most: 2000},
	"Plan.reason":     {Most: 1000},
	"Plan.order":      {Words: []string{"sequential", "graph"}},
	"Plan.secrets":    {form: map[string]any{"propertyNames": map[string]any{"pattern": "^[a-z][a-z0-9_]{0,63}$"}}},
	"Plan.decisions":  {Items: 20},
	"Decision.do":     {Words: []string{DoUnblock, DoSupersede, DoAbandon, DoFinalize, DoConvert, DoDefer}},
	"Decision.reason": {Most: 1000},

	"PlanTask.kind":                {Words: blackboard.Kinds},
	"PlanTask.title":               {Most: 120},
	"PlanTask.detail":              {Most: 5000},
	"PlanTask.description":         {Most: 5000},
	"PlanTask.expect":              {Most: 1500},
	"PlanTask.done_when":           {Most: 1500},
	"PlanTask.scope":               {Most: 1500},
	"PlanTask.acceptance_criteria": {Items: 20, Each: 500},
	"PlanTask.priority":            {number: true},
	"PlanTask.timeout_seconds":     {Least: 1, Most: 3600, number: true},
	"PlanTask.limits":              {form: map[string]any{"additionalProperties": map[string]any{"type": "integer", "minimum": 0}}},
}

// MaxLearn is how many facts one verdict may bring.
const MaxLearn = 3

// LimitOf is the limit of a key, written "Type.key".
func LimitOf(key string) Limit {
	l, ok := limits[key]
	if !ok {
		panic("exitcmd: there is no limit of " + key)
	}
	return l
}

// Has reports whether a word is one of the values.
func (l Limit) Has(word string) bool { return slices.Contains(l.Words, word) }

// Listed names the values: "a, b or c".
func (l Limit) Listed() string {
	last := len(l.Words) - 1
	return strings.Join(l.Words[:last], ", ") + " or " + l.Words[last]
}

func (l Limit) schema() map[string]any {
	out := map[string]any{}
	set := func(key string, value int, given bool) {
		if given {
			out[key] = value
		}
	}
	set("minimum", l.Least, l.number)
	set("maximum", l.Most, l.number && l.Most > 0)
	set("minLength", l.Least, !l.number && l.Least > 0)
	set("maxLength", l.Most, !l.number && l.Most > 0)
	set("minItems", l.LeastItems, l.LeastItems > 0)
	set("maxItems", l.Items, l.Items > 0)
	if l.Each > 0 {
		out["items"] = textSchema(l.Each)
	}
	if l.Words != nil {
		out["enum"] = l.Words
	}
	for key, value := range l.form {
		out[key] = value
	}
	return out
}

// textSchema is a text of at most so many characters, 0 for any length.
func textSchema(most int) map[string]any {
	m := map[string]any{"type": "string"}
	if most > 0 {
		m["maxLength"] = most
	}
	return m
}

// factsSchema is the answer of a summarizer about facts (specs/roles-and-knowledge.md#6.3).
func factsSchema() map[string]any {
	texts := map[string]any{"type": "array", "items": textSchema(0)}
	result := map[string]any{"type": "object", "required": []string{"content", "from"},
		"properties": map[string]any{"content": textSchema(0), "from": texts}}
	return map[string]any{"type": "object", "required": []string{"result"},
		"properties": map[string]any{"result": map[string]any{"type": "array", "items": result}, "delete": texts}}
}
