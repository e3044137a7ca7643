package exitcmd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// answer is an exit command with further keys.
func answer(action, summary, more string) string {
	return fmt.Sprintf(`{"action":%q,"evidence_files":[],"summary_for_supervisor":%q%s}`, action, summary, more)
}

// L-02: what counts of several answers.
func TestTheLastValidExitCommandCounts(t *testing.T) {
	t.Parallel()
	first, last := answer("RETRY", "one", ""), answer("COMPLETED", "two", "")
	for name, c := range map[string]struct {
		output, want string
		multiple     bool
	}{
		"two":                         {first + "\n" + last, "two", true},
		"prose, fence, trailing line": {"I did {it}.\n```json\n" + last + "\n```\n\n", "two", false},
		"one inside of another":       {`{"x_log":` + first + `,"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"two"}`, "two", false},
		"a log of tools behind":       {last + strings.Repeat("\n"+`{"tool":"read","args":{"path":"a.go"}}`, 600), "two", false},
	} {
		exit, multiple, err := parse(c.output, "coder")
		if err != nil || exit.Summary != c.want || multiple != c.multiple {
			t.Errorf("%s: got %+v, multiple %v, %v; want %q, %v", name, exit, multiple, err, c.want, c.multiple)
		}
	}
}

// L-03, N-38: the error of a broken exit command names its defect.
func TestEveryDefectOfAnExitCommandIsNamed(t *testing.T) {
	t.Parallel()
	review := func(text string) string { return answer("COMPLETED", "x", `,"review":`+text) }
	findings := strings.TrimSuffix(strings.Repeat(`{"message":"a.go is bad"},`, 51), ",")
	for _, c := range []struct{ name, kind, output, want string }{
		{"cut", "coder", `{"action":"COMPLETED","evidence_files":[`, "unexpected EOF"},
		{"a key beside response", "coder", `{"response":` + answer("COMPLETED", "x", "") + `,"more":1}`, "unknown key 'more' beside 'response'"},
		{"status and verdict differ", "code_reviewer", review(`{"status":"ok","verdict":"FAIL"}`), "'ok' and review.verdict 'FAIL' differ"},
		{"verdict", "code_reviewer", review(`{"verdict":"GOOD"}`), "must be PASS or FAIL"},
		{"inject without detail", "code_reviewer", review(`{"status":"needs_fix","reason":"a.go:1 lacks the name","inject":[{"kind":"exec"}]}`), "inject[0]: detail is missing"},
		{"inject of no kind", "code_reviewer", review(`{"status":"needs_fix","reason":"a.go:1 lacks the name","inject":[{"kind":"do","detail":"x"}]}`), "kind 'do' must be"},
		{"inject of two kinds", "code_reviewer", review(`{"status":"needs_fix","reason":"a.go:1 lacks the name","inject":[{"kind":"msg","type":"exec","detail":"x"}]}`), "kind 'msg' and type 'exec' differ"},
		{"inject without skill", "code_reviewer", review(`{"status":"needs_fix","reason":"a.go:1 lacks the name","inject":[{"kind":"skill","detail":"x"}]}`), "skill is missing"},
		{"inject without expect", "code_reviewer", review(`{"status":"needs_fix","reason":"a.go:1 lacks the name","inject":[{"kind":"exec","detail":"x","review":true}]}`), "expect is missing"},
		{"action DONE", "coder", answer("DONE", "x", ""), "must be COMPLETED, STUCK or RETRY"},
		{"evidence null", "coder", `{"action":"COMPLETED","evidence_files":null,"summary_for_supervisor":"x"}`, "evidence_files is missing"},
		{"1,001 characters", "coder", answer("COMPLETED", strings.Repeat("x", 1001), ""), "has 1001 characters; 1000 is the limit"},
		{"a doubled key", "coder", answer("COMPLETED", "x", `,"action":"STUCK"`), "'action' is there twice"},
		{"a doubled key further in", "planner", answer("COMPLETED", "x", `,"plan":{"goal":"a","goal":"b"}`), "'goal' is there twice"},
		{"not a number", "coder", `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":NaN}`, "invalid character 'N'"},
		{"another case of a key", "coder", answer("COMPLETED", "x", `,"No_tests":"x"`), "unknown key 'No_tests'"},
		{"201 files", "coder", strings.Replace(answer("COMPLETED", "x", ""), "[]", `["a"`+strings.Repeat(`,"a"`, 200)+"]", 1), "has 201 entries; 200 is the limit"},
		{"questions of a reviewer", "code_reviewer", answer("STUCK", "x", `,"blocked_questions":["a?"]`), "that of a coder or planner"},
		{"a long question", "coder", answer("STUCK", "x", `,"blocked_questions":["`+strings.Repeat("x", 501)+`"]`), "blocked_questions[0] has 501 characters"},
		{"an empty question", "planner", answer("STUCK", "x", `,"blocked_questions":[""]`), "blocked_questions[0] is empty"},
		{"eleven attempts", "coder", answer("STUCK", "x", `,"attempted":["a"`+strings.Repeat(`,"a"`, 10)+`]`), "attempted has 11 entries"},
		{"a planner's handoff", "planner", answer("RETRY", "x", `,"handoff":{"summary":"a","next_action":"b"}`), "that of a coder or code_reviewer"},
		{"a long text", "messenger", answer("COMPLETED", "x", `,"text":"`+strings.Repeat("x", 20001)+`"`), "text has 20001 characters"},
		{"summary and facts", "summarizer", answer("COMPLETED", "x", `,"summary":"a","facts":{"result":[]}`), "exclude each other"},
		{"a finding without message", "code_reviewer", review(`{"status":"ok","findings":[null]}`), "findings[0] has no message"},
		{"an unknown severity", "code_reviewer", review(`{"status":"ok","findings":[{"severity":"fatal","message":"x"}]}`), "must be error, warning or info"},
		{"too many findings", "code_reviewer", review(`{"status":"ok","findings":[` + findings + `]}`), "findings has 51 entries"},
		{"a prior point of nothing", "code_reviewer", review(`{"status":"ok","prior":[null]}`), "review.prior[0]"},
		{"four facts", "code_reviewer", review(`{"status":"ok","learn":["a","b","c","d"]}`), "learn has 4 entries"},
		{"a number as fact", "code_reviewer", review(`{"status":"ok","learn":7}`), "learn must be a text"},
	} {
		exit, _, err := parse(c.output, c.kind)
		if err == nil || exit != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", c.name, exit, err, c.want)
		}
	}
}

// N-40: whatever an agent prints, the exit command is looked for within a moment.
func TestAnOutputOfAMegabyteIsSearchedQuickly(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	open := `{"action":`
	for name, output := range map[string]string{
		"nothing but braces":        strings.Repeat("{", size),
		"objects that never end":    strings.Repeat(open, 600) + `"` + strings.Repeat("x", size),
		"objects inside of objects": strings.Repeat(open, 400) + `"` + strings.Repeat("x", size-10000) + `"` + strings.Repeat("}", 400),
		"small objects":             strings.Repeat(`{"action":1}`, size/12),
		"quotes":                    strings.Repeat(`{"action":"\"`, size/13),
	} {
		began := time.Now()
		if exit, _, err := parse(output, "coder"); err == nil {
			t.Errorf("%s: found %+v", name, exit)
		}
		if took := time.Since(began); took > time.Minute { // 100 ms on a machine that does nothing else; a search that is not linear takes hours
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func BenchmarkParseOfAMegabyte(b *testing.B) {
	output := strings.Repeat(`{"action":`, 600) + `"` + strings.Repeat("x", 1<<20)
	for b.Loop() {
		_, _, _ = parse(output, "coder")
	}
}

func TestAnUnknownSeverityIsRefused(t *testing.T) {
	t.Parallel()
	for severity, taken := range map[string]bool{"error": true, "warning": true, "info": true, "": true, "catastrophic": false, "ERROR": false, "errors": false} {
		_, _, err := parse(`{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "Read it.", "review": {"status": "ok", "findings": [{"severity": "`+
			severity+`", "file": "a.go", "line": 1, "message": "the name is wrong"}]}}`, "code_reviewer")
		if (err == nil) != taken {
			t.Errorf("severity %q: %v; taken: want %v", severity, err, taken)
		}
	}
}
