package audit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func lines(violations []blackboard.Violation) string {
	var b strings.Builder
	for _, v := range violations {
		fmt.Fprintf(&b, "  %s %s at %q about %v\n", v.Severity, v, v.Path, v.Subjects)
	}
	return b.String()
}

func TestAValidStateHasNoViolation(t *testing.T) {
	t.Parallel()
	s := validState()
	if got := Validate(s, validState(), validFacts()); len(got) != 0 {
		t.Errorf("violations of the valid state:\n%s", lines(got))
	}
	if got := Validate(s, nil, Evidence{}); len(got) != 0 {
		t.Errorf("violations of the valid state without facts:\n%s", lines(got))
	}
	if got := Validate(s, s, Evidence{Write: true, Now: validNow}); len(got) != 0 {
		t.Errorf("violations of the valid state on a write:\n%s", lines(got))
	}
}

// A mutation breaks one rule of the valid state.
type mutation struct {
	rule    string
	name    string
	damage  func(s *blackboard.State, f *Evidence)
	path    string
	subject string
	message string
	warning bool
}

func on(id string, change func(t *blackboard.Task)) func(*blackboard.State, *Evidence) {
	return func(s *blackboard.State, _ *Evidence) { change(s.Task(id)) }
}

func inState(change func(s *blackboard.State)) func(*blackboard.State, *Evidence) {
	return func(s *blackboard.State, _ *Evidence) { change(s) }
}

func TestEachRuleSeesItsOwnMutationAndNoOtherDoes(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, m := range slices.Concat(statusMutations(), linkMutations(), fieldMutations(), sectionMutations(), outsideMutations()) {
		tested[m.rule] = true
		t.Run(m.rule+" "+m.name, func(t *testing.T) {
			t.Parallel()
			s, prev, facts := validState(), validState(), validFacts()
			m.damage(s, &facts)
			got := Validate(s, prev, facts)
			if len(got) != 1 {
				t.Fatalf("%d violations, want one:\n%s", len(got), lines(got))
			}
			v := got[0]
			severity := blackboard.SeverityError
			if m.warning {
				severity = blackboard.SeverityWarning
			}
			if v.Rule != m.rule || v.Severity != severity || v.Path != m.path || v.Text() != m.message || !blackboard.List(v.Subjects).Has(m.subject) {
				t.Errorf("got\n%swant\n  %s %s %s at %q about %s", lines(got), severity, m.rule, m.message, m.path, m.subject)
			}
			rule := ruleOf(m.rule)
			if v.OnWrite != rule.OnWrite || v.Fixable != rule.Fixable {
				t.Errorf("OnWrite %v, Fixable %v differ from the table", v.OnWrite, v.Fixable)
			}
			facts.Write = true
			if onWrite := Validate(s, prev, facts); (len(onWrite) == 1) != rule.OnWrite {
				t.Errorf("on a write: %d violations, column W is %v", len(onWrite), rule.OnWrite)
			}
		})
	}
	for _, rule := range Rules {
		if !tested[rule.ID] {
			t.Errorf("no mutation for %s", rule.ID)
		}
	}
}

func TestTheTableHasTheRulesV01ToV70InOrder(t *testing.T) {
	t.Parallel()
	if len(Rules) != 70 {
		t.Fatalf("%d rules, want 70", len(Rules))
	}
	for i, rule := range Rules {
		if want := fmt.Sprintf("V%02d", i+1); rule.ID != want || rule.Text == "" {
			t.Errorf("rule %d is %s %q, want %s with a text", i, rule.ID, rule.Text, want)
		}
	}
}

func TestFiveDefectsAtOnceAreAllReportedInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	s := validState()
	s.Config["lease_duration"] = "60"
	s.Task("claimed").Worktree = ""
	s.Task("draft").AssignedTo = "coder-1"
	s.Agents["coder-1"].Status = "BUSY"
	s.Goal.Status = "DONE"
	var got []string
	for _, v := range Validate(s, nil, validFacts()) {
		got = append(got, v.Rule+" "+v.Subjects[0])
	}
	want := []string{"V46 goal", "V07 draft", "V09 claimed", "V43 coder-1", "V47 config"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheOrderIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	broken := func() string {
		s, f := validState(), validFacts()
		for task := range s.Tasks() {
			task.Status, task.DoneWhen, task.DependsOn = blackboard.Claimed, "", blackboard.List{"gone", "draft"}
		}
		for _, a := range s.Agents {
			a.Role, a.Heartbeat = "boss", "noon"
		}
		for _, key := range []string{"lease", "grace", "heart", "poll"} {
			s.Config[key] = 1
		}
		f.Archive = taskArchive{"Draft": blackboard.Merged, "DRAFT": blackboard.Merged, "dRAFT": blackboard.Merged, "archived": blackboard.Merged}
		return lines(Validate(s, nil, f))
	}
	first := broken()
	for range 20 {
		if again := broken(); again != first {
			t.Fatalf("order differs:\n%s\nand\n%s", first, again)
		}
	}
}

func TestWhatReadersFoundIsSortedInAndCompletedFromTheTable(t *testing.T) {
	t.Parallel()
	s, f := validState(), validFacts()
	s.Config["max_coder_iteration"] = 3
	s.Task("claimed").DoneWhen = ""
	f.Decode = []blackboard.Violation{
		{Rule: "V48", Path: "config.max_coder_iteration", Line: 90, Message: "config: unknown key"},
		{Rule: "V61", Path: "tasks[claimed].assignee", Message: "task claimed: unknown key 'assignee'"},
		{Rule: "V04", Path: "tasks[unclaimed].priority", Line: 12, Column: 5, Subjects: []string{"unclaimed"}, Message: "task unclaimed: 'priority' must be an integer"},
		{Rule: "V01", Message: "cannot parse"},
	}
	f.JournalProblems = []blackboard.Violation{{Rule: "V57", Subjects: []string{"log"}, Line: 7, Message: "log.yaml line 7: rev 50 > revision 48"}}
	got := Validate(s, nil, f)
	var rules []string
	for _, v := range got {
		rules = append(rules, v.Rule)
	}
	if want := []string{"V01", "V04", "V29", "V61", "V48", "V57"}; !slices.Equal(rules, want) {
		t.Fatalf("got\n%swant %v", lines(got), want)
	}
	if v := got[1]; v.Severity != blackboard.SeverityError || !v.OnWrite || v.Line != 12 || v.Column != 5 {
		t.Errorf("V04 is %+v", v)
	}
	if v := got[4]; v.Line != 90 || v.Severity != blackboard.SeverityWarning {
		t.Errorf("V48, found by both, is %+v, want one with the line", v)
	}
	f.Write = true
	for _, v := range Validate(s, nil, f) {
		if !v.OnWrite {
			t.Errorf("on a write: %s", v)
		}
	}
}

func TestValidateChangesNothing(t *testing.T) {
	t.Parallel()
	s, prev := validState(), validState()
	Validate(s, prev, validFacts())
	if !reflect.DeepEqual(s, validState()) || !reflect.DeepEqual(prev, validState()) {
		t.Error("a state is not what it was before")
	}
}
