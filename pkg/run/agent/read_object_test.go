package agent

import (
	"strings"
	"testing"
)

// A program of the project whose last word is one JSON object.
func objectProgram(t *testing.T) Adapter {
	t.Helper()
	a, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": {Command: []string{"mine"}, Output: "json", Answer: "reply"}}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOneObjectWithANamedAnswerIsRead(t *testing.T) {
	t.Parallel()
	exit := func(code int) *int { return &code }
	for name, c := range map[string]struct {
		stdout, stderr string
		code           *int
		want           Outcome
		final          string
	}{
		"the answer":                     {`{"reply": "All done.\n{\"action\": \"COMPLETED\"}", "status": "success"}`, "", exit(0), Finished, "All done.\n{\"action\": \"COMPLETED\"}"},
		"lines before it":                {"Loading.\n{\"log\": 1}\n{\"reply\": \"yes\"}\n", "", exit(0), Finished, "yes"},
		"many lines":                     {"note\n{\n  \"reply\":\n{\"action\": \"STUCK\"}\n}\n", "", exit(0), Finished, `{"action": "STUCK"}`},
		"the answer is the object":       {`{"action": "COMPLETED", "evidence_files": []}`, "", exit(0), Finished, `{"action": "COMPLETED", "evidence_files": []}`},
		"talk of limits in it":           {"{\n\"reply\":\n\"429 Too Many Requests: rate limit exceeded\"\n}", "", exit(0), Finished, "429 Too Many Requests: rate limit exceeded"},
		"an unknown exit code":           {`{"reply": "yes"}`, "", nil, Finished, "yes"},
		"an answer, then a failure":      {`{"reply": "429 Too Many Requests: rate limit exceeded"}`, "panic: no more", exit(3), Crashed, "429 Too Many Requests: rate limit exceeded"},
		"an error in it":                 {`{"reply": "", "error": {"message": "429 Too Many Requests"}}`, "", exit(1), RateLimited, ""},
		"an error by its status":         {`{"status": "error", "message": "invalid API key"}`, "", exit(1), Unusable, ""},
		"an error object on stderr":      {"", "warning\n{\"status\":\"error\",\"message\":\"404 The model x does not exist\"}\n", exit(1), Unusable, ""},
		"words on stderr":                {"", "Error: not logged in\n", exit(1), Unusable, ""},
		"an object that is cut off":      {`{"reply": "yes`, "", exit(0), Crashed, ""},
		"nothing":                        {"", "", exit(0), Crashed, ""},
		"nothing, and not stopped by us": {"", "", exit(143), Crashed, ""},
	} {
		got := Explain(objectProgram(t).Reader(Spec{}), Recording{Stdout: []byte(c.stdout), Stderr: []byte(c.stderr), Exit: c.code})
		if got.Outcome != c.want || got.Final != c.final {
			t.Errorf("%s: got %s with %q by %s, want %s with %q", name, got.Outcome, got.Final, got.Signature, c.want, c.final)
		}
	}
}

func TestAnObjectTellsSessionAndUsage(t *testing.T) {
	t.Parallel()
	got := Explain(objectProgram(t).Reader(Spec{}), Recording{Stdout: []byte(`{"reply": "yes", "session_id": "s-1", "usage": {"input_tokens": 7, "output_tokens": 3}, "total_cost_usd": 0.05}`)})
	if u := got.Usage; got.Session != "s-1" || !u.TokensKnown || u.TokensIn != 7 || u.TokensOut != 3 || !u.CostKnown || u.CostCents != 5 {
		t.Errorf("got session %q and %+v", got.Session, u)
	}
}

func TestTheAnswerBelongsToTheObjectReaderAlone(t *testing.T) {
	t.Parallel()
	for _, e := range []Entry{{Command: []string{"mine"}, Output: "json"}, {Command: []string{"mine"}, Output: "text", Answer: "reply"}} {
		if _, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": e}}); err == nil || !strings.Contains(err.Error(), "agents.mine.answer names the field") {
			t.Errorf("%+v: got %v", e, err)
		}
	}
}
