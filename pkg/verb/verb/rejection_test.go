package verb

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// A rejection is measured by what is judged: a change needs a place and a defect, an output
// plain words about it.
func TestWhatARejectionHasToSay(t *testing.T) {
	t.Parallel()
	change, command := &blackboard.Task{ID: "task-1"}, &blackboard.Task{ID: "task-1", Kind: "exec"}
	message := &blackboard.Task{ID: "task-1", Kind: "msg"}
	writes := &blackboard.Task{ID: "task-1", Kind: "exec", Writes: true}
	files := map[string]bool{"Makefile": true, "cmd/greet": true, "greet": true}
	finding := []*blackboard.Finding{{Severity: "warning", Message: "too slow"}}
	for _, c := range []struct {
		task   *blackboard.Task
		reason string
		more   VerdictInput
		want   string // part of the problem, "" for none
	}{
		{change, "I prefer tabs over spaces", VerdictInput{}, "no place"},
		{change, "not good enough", VerdictInput{}, "no place"},
		{change, "it is 1.5 times too slow, e.g. at start, and/or later", VerdictInput{}, "no place"},
		{change, "there is no test at all", VerdictInput{}, "no place"},
		{change, "hello.txt", VerdictInput{}, "no defect"},
		{change, "hello.txt:3 bad", VerdictInput{}, "no defect"},
		{change, "main.go:3 I prefer tabs over spaces", VerdictInput{}, "no defect"},
		{change, "main.go:3: we would rather have tabs", VerdictInput{}, "no defect"},
		{change, "main.go:3 divides by zero; I would prefer a guard", VerdictInput{}, ""},
		{change, "main.go:3 divides by zero. We would rather have a guard.", VerdictInput{}, ""},
		{change, "the file(s) are not good", VerdictInput{}, "no place"},
		{change, "hello.txt:1 says Hi instead of Hello", VerdictInput{}, ""},
		{change, "the Makefile has no target test", VerdictInput{}, ""},
		{change, "(see `cmd/greet`) the exit code is always 0", VerdictInput{}, ""},
		{change, "the Dockerfile has no user", VerdictInput{}, "no place"},
		{change, "Greet(\"\") panics on the empty name", VerdictInput{}, ""},
		{change, "TestGreet can never fail", VerdictInput{}, ""},
		{change, "parser_test.py is missing cases", VerdictInput{}, ""},
		{change, "slow", VerdictInput{Findings: finding}, "no place"},
		{change, "Greet() is slow", VerdictInput{Findings: finding}, ""},
		{change, "slow", VerdictInput{Findings: []*blackboard.Finding{{File: "greet.go", Message: "too slow"}}}, ""},
		{change, "slow", VerdictInput{Findings: []*blackboard.Finding{{Message: "Greet() is too slow"}}}, ""},
		{change, "please mend it", VerdictInput{Inject: []*blackboard.Fix{{Detail: "close the file in read.go"}}}, ""},
		{change, "", VerdictInput{Inject: []*blackboard.Fix{{Detail: "make it faster"}}}, "no place"},
		{writes, "the output is cut off", VerdictInput{}, "no place"},
		{command, "the output is cut off after ten lines", VerdictInput{}, ""},
		{command, "bad", VerdictInput{}, "plain words"},
		{message, "the greeting is rude", VerdictInput{}, ""},
		{message, "...", VerdictInput{}, "plain words"},
	} {
		in := c.more
		in.Task, in.Verdict, in.Reason = "task-1", "reject", c.reason
		got := rejectionProblem(c.task, in, files)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s of a %s: %q, want %q", c.reason, c.task.KindOf(), got, c.want)
		}
	}
}
