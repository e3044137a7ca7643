package exitcmd_test

import (
	"strings"
	"testing"

	"liza/pkg/run/exitcmd"
)

const done = `{"action":"COMPLETED","evidence_files":["a.go"],"summary_for_supervisor":"Did it."}`

func TestTheExitCommandIsFoundInTheOutput(t *testing.T) {
	t.Parallel()
	for name, output := range map[string]string{
		"alone":            done,
		"after prose":      "I changed {braces} and a map[string]int{}.\n" + done + "\n",
		"fenced":           "Here it is:\n```json\n" + done + "\n```\n",
		"wrapped":          `{"response": ` + done + `}`,
		"coloured":         "\x1b[32m" + done + "\x1b[0m",
		"after an example": `{"action":"RETRY","evidence_files":[],"summary_for_supervisor":"x"}` + "\n" + done,
		"ignored key":      strings.Replace(done, `{"action"`, `{"x_note": 1, "action"`, 1),
		"after 2 MB":       strings.Repeat("noise {\n", 250_000) + done,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit, _, err := parse(output, "coder")
			if err != nil || exit.Action != "COMPLETED" || exit.Summary != "Did it." {
				t.Errorf("got %+v, %v", exit, err)
			}
		})
	}
	if _, multiple, _ := parse(done+"\n"+done, "coder"); !multiple {
		t.Error("two exit commands are not told")
	}
}

func TestABrokenExitCommandSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, kind, output, want string }{
		{"none", "coder", "I am done.", "no exit command found"},
		{"wrong case", "coder", strings.Replace(done, "COMPLETED", "completed", 1), "must be COMPLETED, STUCK or RETRY"},
		{"unknown key", "coder", strings.Replace(done, `{"action"`, `{"evidence_file": [], "action"`, 1), "nearest: evidence_files"},
		{"trailing comma", "coder", strings.Replace(done, `."}`, `.",}`, 1), "exit command"},
		{"no evidence", "coder", `{"action":"COMPLETED","summary_for_supervisor":"x"}`, "evidence_files is missing"},
		{"wrong type", "coder", strings.Replace(done, `["a.go"]`, `"a.go"`, 1), "must be a list"},
		{"no summary", "coder", strings.Replace(done, "Did it.", " ", 1), "summary_for_supervisor"},
		{"another's payload", "coder", strings.Replace(done, `{"action"`, `{"review": {"status":"ok"}, "action"`, 1), "that of a code_reviewer"},
		{"no review", "code_reviewer", done, "review is missing"},
		{"ok although still present", "code_reviewer", strings.Replace(done, `{"action"`, `{"review": {"status":"ok","prior":[{"n":1,"state":"STILL_PRESENT"}]}, "action"`, 1), "STILL_PRESENT"},
		{"short replan", "code_reviewer", strings.Replace(done, `{"action"`, `{"review": {"status":"replan","reason":"no"}, "action"`, 1), "15 characters"},
		{"four questions", "coder", `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"x","blocked_questions":["a","b","c","d"]}`, "3 is the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			exit, _, err := parse(c.output, c.kind)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v; want an error with %q", exit, err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(done, "coder")
	f.Add("```json\n{\"action\": }\n```", "planner")
	f.Add(`{"response":{"action":"STUCK"}}`, "code_reviewer")
	f.Fuzz(func(t *testing.T, output, kind string) {
		exit, _, err := parse(output, kind)
		if (exit == nil) == (err == nil) {
			t.Errorf("%q gives %+v and %v: one of the two, always", output, exit, err)
		}
	})
}

func parse(output, kind string) (*exitcmd.Exit, bool, error) {
	a := exitcmd.Read(output, kind)
	return a.Exit, a.Multiple, a.Problem
}
