package verb

import (
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/board"
)

// A verdict may be as long as its limits say, and no longer; a supervisor's has none.
func TestAVerdictIsMeasuredExactly(t *testing.T) {
	t.Parallel()
	reason, inject := exitcmd.LimitOf("ReviewExit.reason").Most, exitcmd.LimitOf("ReviewExit.inject").Items
	findings, suggestions := exitcmd.LimitOf("ReviewExit.findings").Items, exitcmd.LimitOf("ReviewExit.suggestions").Items
	for more, want := range map[int]bool{-1: true, 0: true, 1: false} {
		for what, in := range map[string]VerdictInput{
			"--reason has ": {Verdict: Reject, Reason: strings.Repeat("é", reason+more)}, "--inject was given ": {Verdict: Reject, Inject: make([]*blackboard.Fix, inject+more)},
			"--finding was given ": {Verdict: Reject, Findings: make([]*blackboard.Finding, findings+more)}, "--suggest was given ": {Verdict: Approve, Suggestions: make([]string, suggestions+more)},
		} {
			if err := in.sizes(); (err == nil) != want || err != nil && !strings.Contains(err.Error(), what) {
				t.Errorf("%s, %d more than the limit: %v", what, more, err)
			}
			if in.Supervisor = true; in.sizes() != nil {
				t.Errorf("%s of a supervisor: %v", what, in.sizes())
			}
		}
	}
	if one := (&VerdictInput{Verdict: Approve, Inject: make([]*blackboard.Fix, 1), Supervisor: true}); one.sizes() == nil {
		t.Error("an approval has something to be mended")
	}
}

func TestAFindingIsReadFromItsParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"error|lint|a.go:3|bad": "error lint a.go 3 bad ", " info | | | bad | so |x": "info    0 bad so |x", "||a.go|bad|": "warning  a.go 0 bad ",
		"error|lint|:3|bad": "error lint :3 0 bad", "error|lint|a:3|bad": "error lint a 3 bad",
		"error|lint|a.go:3": "", "error|lint|a.go:3| ": "", "fatal|lint|a.go:3|bad": "", "": "",
	} {
		f, err := ParseFinding(text)
		got := ""
		if err == nil {
			got = fmt.Sprintf("%s %s %s %d %s %s", f.Severity, f.Check, f.File, f.Line, f.Message, f.Fix)
		}
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}

func TestDetailsAreReadByTheirKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{"0": 0, "12": 12, "-1": nil, "x": nil, "1.5": nil} {
		if got, ok := wholeNumber(text); ok != (want != nil) || ok && got != want {
			t.Errorf("%q is the number %v", text, got)
		}
	}
	for text, want := range map[string]any{"true": true, "YES": true, "no": false, "False": false, "": nil, "1": nil} {
		if got, ok := yesOrNo(text); ok != (want != nil) || ok && got != want {
			t.Errorf("%q is %v", text, got)
		}
	}
	if list, ok := names(" a, ,b,"); !ok || fmt.Sprint(list) != "[a b]" {
		t.Errorf("the names are %v", list)
	}
}

// The comment of the section config names each setting, in lines that an editor shows whole.
func TestTheCommentOfSettingsHasEachInShortLines(t *testing.T) {
	t.Parallel()
	lines := strings.Split(configComment(), "\n")[2:]
	if got, want := strings.Join(strings.Fields(strings.Join(lines, " ")), " "), strings.Join(blackboard.SettingKeys(), " "); got != want {
		t.Errorf("it names\n%s\nwant\n%s", got, want)
	}
	for i, line := range lines {
		if len(line) > 111 || line == "" || i+1 < len(lines) && len(line)+len(strings.Fields(lines[i+1])[0]) <= 110 {
			t.Errorf("line %d has %d bytes: %s", i, len(line), line)
		}
	}
}

// The rules of an answer that makes fewer facts of many (specs/roles-and-knowledge.md#6.3), and of a fact.
func TestAnAnswerWithFewerFactsKeepsItsRules(t *testing.T) {
	t.Parallel()
	k := Knowledge{verbs: &Service{Board: &board.Session{}}}
	text := func(n int) string { return strings.Repeat("word ", n/5) + strings.Repeat("x", n%5) }
	job := &Condense{facts: []Fact{{ID: "f1", Content: "short"}, {ID: "f2", Content: text(20)}, {ID: "f3", Content: text(30)}}}
	result := func(content string, from ...string) transition.FactResult {
		return transition.FactResult{Content: content, From: from}
	}
	for name, c := range map[string]struct {
		answer consolidation
		want   string
	}{
		"two of three":                    {consolidation{Result: []transition.FactResult{result(text(20), "f1", "f2"), result(text(30), "f3")}}, ""},
		"one is left as it is, however":   {consolidation{Result: []transition.FactResult{result(" short ", "f1"), result(text(20), "f2", "f3")}}, ""},
		"one goes":                        {consolidation{Result: []transition.FactResult{result(text(20), "f1", "f2")}, Delete: []string{"f3"}}, ""},
		"as many as before":               {consolidation{Result: []transition.FactResult{result("short", "f1"), result(text(20), "f2"), result(text(30), "f3")}}, "there are not fewer facts than before"},
		"none":                            {consolidation{Delete: []string{"f1", "f2", "f3"}}, "the result is empty"},
		"from nothing":                    {consolidation{Result: []transition.FactResult{result(text(20))}}, "result 1 comes from no fact"},
		"twice":                           {consolidation{Result: []transition.FactResult{result(text(20), "f1", "f1")}}, "f1 is there twice"},
		"used and deleted":                {consolidation{Result: []transition.FactResult{result(text(20), "f1", "f2")}, Delete: []string{"f3", "f1"}}, "f1 is there twice"},
		"an unknown one":                  {consolidation{Result: []transition.FactResult{result(text(20), "f1", "f9")}}, "f9 is not an active fact"},
		"one is forgotten":                {consolidation{Result: []transition.FactResult{result(text(20), "f1", "f2")}}, "f3 is missing"},
		"a changed one that is too short": {consolidation{Result: []transition.FactResult{result("shorter", "f1"), result(text(20), "f2", "f3")}}, "result 1 is not a fact: it has not 15 to 500 characters"},
	} {
		if got := k.consolidationProblem(&blackboard.State{}, job, c.answer); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for n, want := range map[int]bool{14: false, 15: true, 16: true, 499: true, 500: true, 501: false} {
		if why := k.noFact(&blackboard.State{}, text(n)); (why == "") != want {
			t.Errorf("a text of %d characters: %q", n, why)
		}
	}
}
