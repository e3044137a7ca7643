package exitcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSummary is how many characters a summary may have.
const maxSummary = 1000

// payloadOf says which kinds may use which payload key (roles-and-knowledge 4.1).
var payloadOf = map[string][]string{
	"plan": {"planner"}, "review": {"code_reviewer"}, "no_tests": {"coder"}, "attempted": {"coder"}, "blocked_questions": {"coder", "planner"},
	"handoff": {"coder", "code_reviewer"}, "text": {"messenger"}, "summary": {"summarizer"}, "facts": {"summarizer"},
}

// Sizes of a verdict (roles-and-knowledge 5.3).
const (
	MaxReason      = 4000
	MaxInject      = 10
	MaxFindings    = 50
	MaxSuggestions = 20
	maxLearn       = 3
)

// problems collects what is wrong with an exit command.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// atMost says that a text is too long.
func (p *problems) atMost(key, text string, most int) {
	if n := utf8.RuneCountInString(text); n > most {
		p.add("%s has %d characters; %d is the limit", key, n, most)
	}
}

// texts checks a list of texts.
func (p *problems) texts(key string, list []string, most, each int) {
	if len(list) > most {
		p.add("%s has %d entries; 1 to %d are allowed", key, len(list), most)
		return
	}
	for i, text := range list {
		if strings.TrimSpace(text) == "" {
			p.add("%s[%d] is empty", key, i)
		}
		p.atMost(fmt.Sprintf("%s[%d]", key, i), text, each)
	}
}

func (e *Exit) check(kind string, keys map[string]json.RawMessage) error {
	var bad problems
	switch e.Action {
	case "COMPLETED", "STUCK", "RETRY":
	default:
		bad.add("action '%s' must be COMPLETED, STUCK or RETRY", e.Action)
	}
	if e.EvidenceFiles == nil {
		bad.add("evidence_files is missing (it may be empty)")
	}
	if len(e.EvidenceFiles) > 200 {
		bad.add("evidence_files has more than 200 entries")
	}
	if n := utf8.RuneCountInString(e.Summary); strings.TrimSpace(e.Summary) == "" || n > maxSummary {
		bad.add("summary_for_supervisor must have 1 to 1,000 characters, and has %d", n)
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if who, ok := payloadOf[k]; ok && !slices.Contains(who, kind) {
			bad.add("the key '%s' is that of a %s", k, strings.Join(who, " or "))
		}
	}
	bad.texts("blocked_questions", e.BlockedQuestions, 3, 500)
	bad.texts("attempted", e.Attempted, 10, 500)
	bad.atMost("text", e.Text, 20000)
	bad.atMost("summary", e.SummaryText, 4000)
	if e.SummaryText != "" && e.Facts != nil {
		bad.add("summary and facts exclude each other: give the one that was asked for")
	}
	if e.Review != nil && kind == "code_reviewer" {
		e.Review.check(&bad)
	} else if kind == "code_reviewer" && e.Action == "COMPLETED" {
		bad.add(noReview)
	}
	if e.Handoff != nil && (e.Handoff.Summary == "" || e.Handoff.NextAction == "") {
		bad.add("handoff needs summary and next_action")
	}
	if len(bad) == 1 && bad[0] == noReview {
		return ErrNoReview
	}
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "; "))
	}
	return nil
}

// noReview is a reviewer's COMPLETED without its verdict: complete when a verb has given that, else
// asked for again.
const noReview = "review is missing"

var ErrNoReview = errors.New(noReview)

// check applies the rules of a verdict (roles-and-knowledge 5.3).
func (r *ReviewExit) check(bad *problems) {
	read := map[string]string{"PASS": "ok", "FAIL": "needs_fix"}[r.Verdict]
	switch {
	case r.Verdict != "" && read == "":
		bad.add("review.verdict '%s' must be PASS or FAIL", r.Verdict)
	case r.Status == "":
		r.Status = read
	case r.Verdict != "" && r.Status != read:
		bad.add("review.status '%s' and review.verdict '%s' differ", r.Status, r.Verdict)
	}
	r.checkLists(bad)
	if len(*bad) > 0 {
		return
	}
	reason := strings.TrimSpace(r.Reason)
	switch r.Status {
	case "ok":
		for _, p := range r.Prior {
			if p.State == "STILL_PRESENT" {
				bad.add("review: ok although prior point %d is STILL_PRESENT", p.N)
			}
		}
	case "needs_fix": // whether it says enough depends on the task: Verdict decides
		if reason == "" && len(r.Inject) == 0 && len(r.Findings) == 0 {
			bad.add("review: needs_fix needs a reason, or a finding")
		}
	case "replan", "stuck":
		if len(reason) < 15 {
			bad.add("review: %s needs a reason of at least 15 characters", r.Status)
		}
	default:
		bad.add("review.status '%s' must be ok, needs_fix, replan or stuck", r.Status)
	}
	if r.Status != "needs_fix" && len(r.Inject) > 0 {
		bad.add("review: inject goes with needs_fix only")
	}
}

func (r *ReviewExit) checkLists(bad *problems) {
	bad.atMost("review.reason", r.Reason, MaxReason)
	limits := map[string][2]int{"inject": {len(r.Inject), MaxInject}, "findings": {len(r.Findings), MaxFindings}, "suggestions": {len(r.Suggestions), MaxSuggestions}}
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		n := limits[key]
		if n[0] > n[1] {
			bad.add("review.%s has %d entries; %d is the limit", key, n[0], n[1])
		}
	}
	for i, f := range r.Findings {
		switch {
		case f == nil || strings.TrimSpace(f.Message) == "":
			bad.add("review.findings[%d] has no message", i)
		case f.Severity != "" && !slices.Contains([]string{"error", "warning", "info"}, f.Severity):
			bad.add("review.findings[%d].severity '%s' must be error, warning or info", i, f.Severity)
		}
	}
	for i, x := range r.Inject {
		if problem := x.FixProblem(); problem != "" {
			bad.add("review.inject[%d]: %s", i, problem)
		}
	}
	for i, p := range r.Prior {
		if p == nil || p.N < 1 || !slices.Contains([]string{"RESOLVED", "PARTIAL", "STILL_PRESENT"}, p.State) {
			bad.add("review.prior[%d] must be {\"n\": 1, \"state\": \"RESOLVED\"}, or PARTIAL or STILL_PRESENT", i)
		}
	}
	switch l := r.Learn.(type) {
	case nil, string:
	case []any:
		if len(l) > maxLearn {
			bad.add("review.learn has %d entries; %d is the limit", len(l), maxLearn)
		}
		for _, x := range l {
			if _, ok := x.(string); !ok {
				bad.add("review.learn must be a text or a list of texts")
			}
		}
	default:
		bad.add("review.learn must be a text or a list of texts")
	}
}
