package exitcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"liza/pkg/board/blackboard"
)

// payloadOf says which kinds may use which payload key (specs/roles-and-knowledge.md#4.1).
var payloadOf = map[string][]string{
	"plan": {"planner"}, "review": {"code_reviewer"}, "no_tests": {"coder"}, "attempted": {"coder"}, "blocked_questions": {"coder", "planner"},
	"handoff": {"coder", "code_reviewer"}, "text": {"messenger"}, "summary": {"summarizer"}, "facts": {"summarizer"},
}

// problems collects the problems of an exit command.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// within compares the values of an exit command with the table of limits. Tasks are left to who takes them.
func (p *problems) within(v reflect.Value, path string) {
	t := v.Type()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		l, key, value := limits[t.Name()+"."+name], under(path, name), v.Field(i)
		switch x := value.Interface().(type) {
		case string:
			p.text(key, x, l)
		case []string:
			p.texts(key, x, l)
		case *Plan: // package plan, with the board
		case *ReviewExit:
			if x != nil {
				p.within(value.Elem(), key)
			}
		case []*blackboard.Finding, []*blackboard.Prior, []PlanTask:
			if l.Items > 0 && value.Len() > l.Items {
				p.add("%s has %d entries; %d is the limit", key, value.Len(), l.Items)
			}
			for n := range value.Len() {
				if e := value.Index(n); e.Kind() == reflect.Pointer && !e.IsNil() {
					p.within(e.Elem(), fmt.Sprintf("%s[%d]", key, n))
				}
			}
		}
	}
}

func (p *problems) text(key, text string, l Limit) {
	if n := utf8.RuneCountInString(text); l.Most > 0 && n > l.Most {
		p.add("%s has %d characters; %d is the limit", key, n, l.Most)
	}
	if l.Words != nil && text != "" && !l.Has(text) {
		p.add("%s '%s' must be %s", key, text, l.Listed())
	}
}

func (p *problems) texts(key string, list []string, l Limit) {
	if l.Items > 0 && len(list) > l.Items {
		p.add("%s has %d entries; %d is the limit", key, len(list), l.Items)
		return
	}
	for i, text := range list {
		if l.Each > 0 && strings.TrimSpace(text) == "" {
			p.add("%s[%d] is empty", key, i)
		}
		p.text(fmt.Sprintf("%s[%d]", key, i), text, Limit{Most: l.Each})
	}
}

func (e *Exit) check(kind string, keys map[string]json.RawMessage) error {
	var bad problems
	bad.within(reflect.ValueOf(e).Elem(), "")
	if e.Action == "" {
		bad.add("action is missing: %s", limits["Exit.action"].Listed())
	}
	if e.EvidenceFiles == nil {
		bad.add("evidence_files is missing (it may be empty)")
	}
	if strings.TrimSpace(e.Summary) == "" {
		bad.add("summary_for_supervisor is empty")
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if who, ok := payloadOf[k]; ok && !slices.Contains(who, kind) {
			bad.add("the key '%s' is that of a %s", k, strings.Join(who, " or "))
		}
	}
	if e.SummaryText != "" && e.Facts != nil {
		bad.add("summary and facts exclude each other: give the one that was asked for")
	}
	if e.Review != nil && kind == "code_reviewer" {
		e.Review.check(&bad)
	} else if kind == "code_reviewer" && e.Action == Completed {
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

// check applies the rules of a verdict (specs/roles-and-knowledge.md#5.3).
func (r *ReviewExit) check(bad *problems) {
	read := map[string]string{"PASS": ReviewOK, "FAIL": ReviewNeedsFix}[r.Verdict]
	switch {
	case r.Status == "":
		r.Status = read
	case read != "" && r.Status != read:
		bad.add("review.status '%s' and review.verdict '%s' differ", r.Status, r.Verdict)
	}
	r.checkLists(bad)
	if len(*bad) > 0 {
		return
	}
	reason := strings.TrimSpace(r.Reason)
	switch r.Status {
	case ReviewOK:
		if r.Pick != "" && reason == "" {
			bad.add("review: pick needs a reason")
		}
		for _, p := range r.Prior {
			if p.State == blackboard.PriorStillPresent {
				bad.add("review: ok although prior point %d is STILL_PRESENT", p.N)
			}
		}
	case ReviewNeedsFix: // whether it says enough depends on the task: Verdict decides
		if reason == "" && len(r.Inject) == 0 && len(r.Findings) == 0 {
			bad.add("review: needs_fix needs a reason, or a finding")
		}
	case ReviewReplan, ReviewStuck:
		if len(reason) < 15 {
			bad.add("review: %s needs a reason of at least 15 characters", r.Status)
		}
	case "":
		bad.add("review.status is missing: %s", limits["ReviewExit.status"].Listed())
	}
	if r.Status != ReviewNeedsFix && len(r.Inject) > 0 {
		bad.add("review: inject goes with needs_fix only")
	}
}

func (r *ReviewExit) checkLists(bad *problems) {
	for i, f := range r.Findings {
		if f == nil || strings.TrimSpace(f.Message) == "" {
			bad.add("review.findings[%d] has no message", i)
		}
	}
	for i, x := range r.Inject {
		if problem := x.FixProblem(); problem != "" {
			bad.add("review.inject[%d]: %s", i, problem)
		}
	}
	for i, p := range r.Prior {
		if p == nil || p.N < 1 || p.State == "" {
			bad.add("review.prior[%d] must be {\"n\": 1, \"state\": \"RESOLVED\"}, or PARTIAL or STILL_PRESENT", i)
		}
	}
	switch l := r.Learn.(type) {
	case nil, string:
	case []any:
		if len(l) > MaxLearn {
			bad.add("review.learn has %d entries; %d is the limit", len(l), MaxLearn)
		}
		if slices.ContainsFunc(l, func(x any) bool { _, ok := x.(string); return !ok }) {
			bad.add("review.learn must be a text or a list of texts")
		}
	default:
		bad.add("review.learn must be a text or a list of texts")
	}
}
