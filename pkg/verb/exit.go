package verb

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"liza/pkg/blackboard"
)

// Exit is the exit command of an agent (roles-and-knowledge 4.1).
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

// ReviewExit is a reviewer's payload (roles-and-knowledge 5.3).
type ReviewExit struct {
	Status      string                `json:"status"`
	Verdict     string                `json:"verdict,omitempty"` // PASS or FAIL, as Coven writes it
	Reason      string                `json:"reason,omitempty"`
	Inject      []PlanTask            `json:"inject,omitempty"`
	Learn       any                   `json:"learn,omitempty"`
	Findings    []*blackboard.Finding `json:"findings,omitempty"`
	Suggestions []string              `json:"suggestions,omitempty"`
	Prior       []*blackboard.Prior   `json:"prior,omitempty"`
}

const (
	exitWindow     = 1 << 20 // only the last MiB of the output is looked at
	exitCandidates = 500     // and only so many objects
)

var (
	ansi   = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07`)
	fenced = regexp.MustCompile("(?s)```(?:json)?[ \t]*\n(.*?)```")
)

// ParseExit finds the exit command in the output of an agent of that kind
// (roles-and-knowledge 4.2): the last valid object with a key "action" counts. multiple
// tells that there were several valid ones.
func ParseExit(output, kind string, strict bool) (exit *Exit, multiple bool, err error) {
	if len(output) > exitWindow {
		output = output[len(output)-exitWindow:]
	}
	output = ansi.ReplaceAllString(output, "")
	if strict {
		e, err := decodeExit([]byte(strings.TrimSpace(output)), kind)
		return e, false, err
	}
	err = errors.New("no exit command found")
	valid := 0
	for _, c := range exitObjects(output) {
		e, problem := decodeExit(c, kind)
		if problem != nil {
			if exit == nil {
				err = problem
			}
			continue
		}
		exit, err = e, nil
		valid++
	}
	return exit, valid > 1, err
}

// exitObjects lists the JSON objects that have a key "action", in order of occurrence.
// An object inside another one is not listed.
func exitObjects(output string) []json.RawMessage {
	var found []json.RawMessage
	starts := []int{}
	for i := len(output) - 1; i >= 0 && len(starts) < exitCandidates; i-- {
		if output[i] == '{' {
			starts = append(starts, i)
		}
	}
	end := 0
	for i := len(starts) - 1; i >= 0; i-- {
		at := starts[i]
		if at < end {
			continue
		}
		var raw json.RawMessage
		dec := json.NewDecoder(strings.NewReader(output[at:]))
		if dec.Decode(&raw) == nil && isExit(raw) {
			found = append(found, raw)
			end = at + int(dec.InputOffset())
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, m := range fenced.FindAllStringSubmatch(output, -1) { // broken JSON: its error helps
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

func decodeExit(raw []byte, kind string) (*Exit, error) {
	var wrapped struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && isExit(wrapped.Response) {
		raw = wrapped.Response
	}
	var e Exit
	if err := decodeClosed(raw, &e, "exit command"); err != nil {
		return nil, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, err
	}
	return &e, e.check(kind, keys)
}

func (e *Exit) check(kind string, keys map[string]json.RawMessage) error {
	var bad []string
	add := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	switch e.Action {
	case "COMPLETED", "STUCK", "RETRY":
	default:
		add("action '%s' must be COMPLETED, STUCK or RETRY", e.Action)
	}
	if _, ok := keys["evidence_files"]; !ok {
		add("evidence_files is missing (it may be empty)")
	}
	if n := len(strings.TrimSpace(e.Summary)); n == 0 || len(e.Summary) > 1000 {
		add("summary_for_supervisor must have 1 to 1,000 characters")
	}
	if len(e.EvidenceFiles) > 200 {
		add("evidence_files has more than 200 entries")
	}
	allowed := map[string]string{"plan": "planner", "review": "code_reviewer", "no_tests": "coder", "text": "messenger", "facts": "summarizer", "summary": "summarizer", "attempted": "coder"}
	for _, k := range sortedKeys(keys) {
		if who, ok := allowed[k]; ok && who != kind {
			add("the key '%s' is that of a %s", k, who)
		}
	}
	if len(e.BlockedQuestions) > 3 {
		add("blocked_questions has %d entries; 1 to 3 are allowed", len(e.BlockedQuestions))
	}
	if kind == "code_reviewer" && e.Action == "COMPLETED" {
		if e.Review == nil {
			add("review is missing")
		} else if err := e.Review.check(); err != nil {
			add("%v", err)
		}
	}
	if e.Handoff != nil && (e.Handoff.Summary == "" || e.Handoff.NextAction == "") {
		add("handoff needs summary and next_action")
	}
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "; "))
	}
	return nil
}

func (r *ReviewExit) check() error {
	if r.Status == "" {
		r.Status = map[string]string{"PASS": "ok", "FAIL": "needs_fix"}[r.Verdict]
	}
	switch r.Status {
	case "ok":
		for _, p := range r.Prior {
			if p.State == "STILL_PRESENT" {
				return fmt.Errorf("review: ok although prior point %d is STILL_PRESENT", p.N)
			}
		}
	case "needs_fix":
		if strings.TrimSpace(r.Reason) == "" && len(r.Inject) == 0 && len(r.Findings) == 0 {
			return errors.New("review: needs_fix needs a reason that names file, defect and fix")
		}
		if !namesAFile(r.input("")) {
			return errors.New("review: needs_fix names no file or test: say file and location, defect, fix")
		}
	case "replan", "stuck":
		if len(strings.TrimSpace(r.Reason)) < 15 {
			return fmt.Errorf("review: %s needs a reason of at least 15 characters", r.Status)
		}
	default:
		return fmt.Errorf("review.status '%s' must be ok, needs_fix, replan or stuck", r.Status)
	}
	if r.Status != "needs_fix" && len(r.Inject) > 0 {
		return errors.New("review: inject goes with needs_fix only")
	}
	return nil
}

// input turns the payload into a verdict.
func (r *ReviewExit) input(task string) VerdictInput {
	in := VerdictInput{Task: task, Reason: r.Reason, Findings: r.Findings, Prior: r.Prior, Suggestions: r.Suggestions, Supervisor: true,
		Verdict: map[string]string{"ok": "approve", "needs_fix": "reject", "replan": "replan", "stuck": "stuck"}[r.Status]}
	for _, x := range r.Inject {
		in.Inject = append(in.Inject, &blackboard.Fix{Kind: first(x.Kind, "code"), Detail: first(x.Detail, x.Description), Expect: first(x.Expect, x.DoneWhen), Skill: x.Skill, Args: x.Args})
	}
	switch l := r.Learn.(type) {
	case string:
		in.Learn = []string{l}
	case []any:
		for _, x := range l {
			if s, ok := x.(string); ok {
				in.Learn = append(in.Learn, s)
			}
		}
	}
	if in.Verdict == "reject" && in.Reason == "" {
		var parts []string
		for _, f := range r.Findings {
			parts = append(parts, strings.TrimSpace(f.File+" "+f.Message))
		}
		for _, x := range in.Inject {
			parts = append(parts, x.Detail)
		}
		in.Reason = strings.Join(parts, "; ")
	}
	return in
}
