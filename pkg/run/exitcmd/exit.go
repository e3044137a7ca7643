// Package exitcmd parses the answers of agents: the exit command at the end of the output, and the plan of a planner. It is
// pure: bytes become values, or a list of problems; one table has the limits for both, and for the JSON Schema.
package exitcmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"liza/pkg/board/blackboard"
)

// Exit is the exit command of an agent (specs/roles-and-knowledge.md#4.1).
type Exit struct {
	Action           string       `json:"action"`
	EvidenceFiles    []string     `json:"evidence_files"`
	Summary          string       `json:"summary_for_supervisor"`
	Plan             *Plan        `json:"plan,omitempty"`
	Review           *ReviewExit  `json:"review,omitempty"`
	BlockedQuestions []string     `json:"blocked_questions,omitempty"`
	Attempted        []string     `json:"attempted,omitempty"`
	NoTests          string       `json:"no_tests,omitempty"`
	Handoff          *HandoffExit `json:"handoff,omitempty"`
	Text             string       `json:"text,omitempty"`
	SummaryText      string       `json:"summary,omitempty"`
	Facts            any          `json:"facts,omitempty"`
}

// HandoffExit is the payload of a RETRY whose context is exhausted.
type HandoffExit struct {
	Summary       string   `json:"summary"`
	NextAction    string   `json:"next_action"`
	Approach      string   `json:"approach,omitempty"`
	Blockers      string   `json:"blockers,omitempty"`
	FilesModified []string `json:"files_modified,omitempty"`
	NextSteps     []string `json:"next_steps,omitempty"`
}

// ReviewExit is a reviewer's payload (specs/roles-and-knowledge.md#5.3).
type ReviewExit struct {
	Status      string                `json:"status"`
	Verdict     string                `json:"verdict,omitempty"` // PASS or FAIL, as Coven writes it
	Reason      string                `json:"reason,omitempty"`
	Inject      []PlanTask            `json:"inject,omitempty"`
	Learn       any                   `json:"learn,omitempty"`
	Findings    []*blackboard.Finding `json:"findings,omitempty"`
	Suggestions []string              `json:"suggestions,omitempty"`
	Prior       []*blackboard.Prior   `json:"prior,omitempty"`
	Pick        string                `json:"pick,omitempty"` // commit of the attempt that goes on
}

// Approves reports whether the exit command is a reviewer's approval.
func (e *Exit) Approves() bool {
	return e.Action == Completed && e.Review != nil && e.Review.Status == ReviewOK
}

// Verdict returns the verdict of a reviewer's exit command.
func (e *Exit) Verdict() string {
	switch {
	case e.Action == Stuck:
		return "stuck"
	case e.Action == Completed && e.Review != nil:
		return e.Review.Status
	}
	return e.Action
}

// FixProblem returns why the item cannot be a step of a rejection, or "" (specs/roles-and-knowledge.md#5.3).
func (x PlanTask) FixProblem() string {
	f := x.Fix()
	typed := x.Kind != "" && x.Kind != x.Type && slices.Contains(blackboard.Kinds, x.Type)
	switch {
	case typed:
		return fmt.Sprintf("kind '%s' and type '%s' differ", x.Kind, x.Type)
	case !slices.Contains(blackboard.Kinds, string(f.Kind)):
		return fmt.Sprintf("kind '%s' must be %s", f.Kind, strings.Join(blackboard.Kinds, ", "))
	case f.Kind == blackboard.SkillTask && strings.TrimSpace(f.Skill) == "":
		return "skill is missing"
	case f.Kind != blackboard.SkillTask && strings.TrimSpace(f.Detail) == "":
		return "detail is missing"
	case x.Review != nil && *x.Review && strings.TrimSpace(f.Expect) == "":
		return "expect is missing; review: true needs it"
	}
	return ""
}

// Fix returns the item as a step of a rejection. As in plans, the type may name the kind.
func (x PlanTask) Fix() *blackboard.Fix {
	kind := x.Kind
	if kind == "" && slices.Contains(blackboard.Kinds, x.Type) {
		kind = x.Type
	}
	f := &blackboard.Fix{Kind: cmp.Or(blackboard.TaskKind(kind), blackboard.CodeTask), Detail: cmp.Or(x.Detail, x.Description), Expect: cmp.Or(x.Expect, x.DoneWhen), Skill: x.Skill, Args: x.Args}
	if f.Kind == blackboard.ExecTask {
		f.Detail = cmp.Or(x.Command, f.Detail)
	}
	return f
}

// ErrMissing is returned for an output without an exit command.
var ErrMissing = errors.New("no exit command found")

// An Answer is the parsed output of an agent program. It is parsed once, after the end of the program.
type Answer struct {
	Exit     *Exit // nil: Problem is the reason
	Problem  error // ErrMissing, ErrNoReview, or the problems of the exit command
	Multiple bool  // there were several valid ones; the last one counts

	Before string // text before the exit command
}

// Read finds the exit command in the output of an agent of that kind (specs/roles-and-knowledge.md#4.2): the object with a
// key "action" that ends the answer. An object before more text was quoted, or taken back: it does not count.
func Read(output, kind string) Answer {
	output = Text(output)
	found := objects(output)
	if len(found) == 0 {
		return Answer{Problem: ErrMissing}
	}
	var a Answer
	valid := 0
	for _, c := range found {
		if a.Exit, a.Problem = decodeExit(c, kind); a.Problem == nil {
			valid++
		}
	}
	if a.Problem != nil {
		return Answer{Problem: a.Problem}
	}
	last := string(found[len(found)-1])
	at := strings.LastIndex(output, last)
	if !nothingSaid(output[at+len(last):]) {
		return Answer{Problem: errNotLast}
	}
	a.Multiple = valid > 1
	a.Before = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(output[:at]), "```json"), "```"))
	return a
}

// nothingSaid reports whether no words follow the exit command: white space, the end of a code
// fence, figures of the program, and whole JSON objects, which are records of a program.
func nothingSaid(after string) bool {
	for line := range strings.Lines(after) {
		line = strings.TrimSpace(line)
		if !ending().MatchString(line) && !(strings.HasPrefix(line, "{") && json.Valid([]byte(line))) {
			return false
		}
	}
	return true
}

// errNotLast says that the exit command is not the end of the answer.
var errNotLast = errors.New("text follows the exit command: what counts is the JSON object that ends the answer")

// ending is a line that says nothing: empty, a fence, or the figures that some programs print
// when they end ("Tokens: 2.3k sent, 120 received.").
var ending = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)^(?:`{3,}|~{3,}|(?:total )?(?:tokens?|cost|usage|session|duration)\\b.*\\d.*)?$")
})

func decodeExit(raw []byte, kind string) (*Exit, error) {
	var wrapped struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && isExit(wrapped.Response) {
		if bad := beside(raw, "response"); bad != "" {
			return nil, fmt.Errorf("exit command: unknown key '%s' beside 'response'", bad)
		}
		raw = wrapped.Response
	}
	if key := doubledKey(raw); key != "" {
		return nil, fmt.Errorf("exit command: the key '%s' is there twice", key)
	}
	var e Exit
	if err := decodeClosed(raw, &e); err != nil {
		return nil, fmt.Errorf("exit command: %w", err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, err
	}
	return &e, e.check(kind, keys)
}

// beside is a key of an object other than the one named and x_ keys, "" for none.
func beside(raw []byte, key string) string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if k != key && !strings.HasPrefix(k, "x_") {
			return k
		}
	}
	return ""
}

// Text returns the part of an output that may have the exit command: its end, without colours.
func Text(output string) string {
	if len(output) > exitWindow {
		output = strings.ToValidUTF8(output[len(output)-exitWindow:], "")
	}
	return strings.ReplaceAll(ansi().ReplaceAllString(output, ""), "\x00", "")
}

// objects lists the JSON objects that have a key "action", in order of occurrence, without nested ones. It searches from the
// end to the beginning, so that earlier output of an agent cannot hide the last object.
func objects(output string) []json.RawMessage {
	type span struct{ from, to int }
	var spans []span
	spent := 0
	at := max(0, strings.LastIndex(output, `"action"`)) // behind that no exit command begins
	for n := 0; n < exitCandidates && spent < exitEffort; n++ {
		if at = strings.LastIndexByte(output[:at], '{'); at < 0 {
			break
		}
		end, looked := objectAt(output[at:])
		spent += looked
		if end == 0 || !isExit([]byte(output[at:at+end])) {
			continue
		}
		for len(spans) > 0 && spans[len(spans)-1].to <= at+end {
			spans = spans[:len(spans)-1] // it is inside of this one
		}
		spans = append(spans, span{at, at + end})
	}
	var found []json.RawMessage
	for i := len(spans) - 1; i >= 0; i-- {
		found = append(found, json.RawMessage(output[spans[i].from:spans[i].to]))
	}
	if len(found) > 0 {
		return found
	}
	return brokenExits(output)
}

// objectAt returns the length of the JSON object at the beginning of text, or 0, and the number of bytes that it read.
func objectAt(text string) (end, looked int) {
	var raw json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return 0, int(syntax.Offset)
		}
		return 0, len(text)
	}
	return int(dec.InputOffset()), int(dec.InputOffset())
}

// doubledKey is a key that an object has twice, "" for none.
func doubledKey(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var open []map[string]bool // the keys of the objects around; nil for a list
	key := false               // whether a key comes next
	for {
		token, err := dec.Token()
		if err != nil {
			return "" // broken JSON is told elsewhere
		}
		text, isText := token.(string)
		switch {
		case token == json.Delim('{'):
			open = append(open, map[string]bool{})
		case token == json.Delim('['):
			open = append(open, nil)
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:len(open)-1]
		case isText && key:
			keys := open[len(open)-1]
			if keys[text] {
				return text
			}
			keys[text], key = true, false
			continue
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}

const (
	exitWindow     = 1 << 20 // most bytes of the output's end that are searched
	exitCandidates = 500     // most objects
	exitEffort     = 4 << 20 // most bytes of them, however they are nested
)

var (
	ansi   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07`) })
	fenced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?s)```(?:json)?[ \t]*\n(.*?)```") })
)

// brokenExits are texts that should have been an exit command: their error helps.
func brokenExits(output string) []json.RawMessage {
	var found []json.RawMessage
	for _, m := range fenced().FindAllStringSubmatch(output, -1) {
		if strings.Contains(m[1], `"action"`) {
			found = append(found, json.RawMessage(m[1]))
		}
	}
	if i := strings.LastIndex(output, `"action"`); len(found) == 0 && i >= 0 {
		if at := strings.LastIndex(output[:i], "{"); at >= 0 {
			found = append(found, json.RawMessage(output[at:]))
		}
	}
	return found
}

func isExit(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return false
	}
	if _, ok := m["action"]; ok {
		return true
	}
	inner, ok := m["response"]
	return ok && isExit(inner)
}

// InWords returns the text of an agent of that kind with the exit command at its end in readable form. A text without a valid
// one stays as it is.
func InWords(text, kind string) string {
	if !strings.Contains(text, `"action"`) || len(text) > exitWindow {
		return text
	}
	a := Read(text, kind)
	if a.Problem != nil {
		return text
	}
	return strings.TrimSpace(a.Before + "\n" + a.Exit.words())
}

func (e *Exit) words() string {
	text := strings.TrimSuffix(strings.ToLower(e.Action)+": "+e.Summary, ": ")
	if r := e.Review; r != nil {
		text = strings.TrimSuffix("review "+r.Status+": "+e.Summary, ": ")
		for _, f := range r.Findings {
			if f != nil {
				text += "\n- " + strings.TrimPrefix(fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message), ":0: ")
			}
		}
	}
	if p := e.Plan; p != nil {
		text += "\nplan:"
		for _, t := range p.Tasks {
			text += "\n- " + strings.TrimSpace(t.ID+" "+t.Title)
		}
	}
	for _, more := range append([]string{e.Text, e.SummaryText}, e.BlockedQuestions...) {
		if more != "" {
			text += "\n" + more
		}
	}
	return text
}

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

// The actions of a decision on a task or a discovery.
const (
	DoUnblock   = "unblock"
	DoSupersede = "supersede"
	DoAbandon   = "abandon"
	DoFinalize  = "finalize"
	DoConvert   = "convert"
	DoDefer     = "defer"
)

// Limit has the constraints of a key beyond its type. The same line serves the checks of an answer, those of a plan and the
// JSON Schema, so that programs get the limits that are enforced.
type Limit struct {
	Least, Most int      // characters of a text; the value of a number
	LeastItems  int      // entries of a list
	Items       int      // most entries of a list
	Each        int      // characters of each entry
	Words       []string // the only values of a text

	number bool           // Least and Most, if not 0, are those of a number
	form   map[string]any // further keywords of JSON Schema
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
	"ReviewExit.pick":        {Most: 64},
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

// MaxLearn is the most facts of one verdict.
const MaxLearn = 3

// LimitOf returns the limit of a key, written "Type.key".
func LimitOf(key string) Limit {
	l, ok := limits[key]
	if !ok {
		panic("exitcmd: there is no limit of " + key)
	}
	return l
}

// Has reports whether word is one of the values.
func (l Limit) Has(word string) bool { return slices.Contains(l.Words, word) }

// Listed returns the values as "a, b or c".
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
