package agent

import "testing"

// What a program that was killed has printed last may be from what killed it, and what it ends with before its model was called is not its model's.
func TestALastWordIsNotThatOfAProgramThatWasKilledOrNeverCalledItsModel(t *testing.T) {
	t.Parallel()
	const (
		said   = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I approve."}],"usage":{"input_tokens":3,"output_tokens":4}}}`
		result = `{"type":"result","subtype":"success","is_error":false,"result":"I approve.","session_id":"s","usage":{"input_tokens":3,"output_tokens":4}}`
		silent = `{"type":"result","subtype":"success","is_error":false,"result":"I approve.","session_id":"s","usage":{"input_tokens":0,"output_tokens":0}}`
	)
	for name, x := range map[string]struct {
		lines []string
		want  Outcome
	}{
		"its own":                 {[]string{said, result}, Finished},
		"without a call":          {[]string{silent}, Crashed},
		"a call, then its result": {[]string{result}, Finished},
	} {
		r, err := NewReader("claude-stream-json")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range x.lines {
			r.Line([]byte(line))
		}
		if got := r.End(Exit{}); got.Outcome != x.want {
			t.Errorf("%s: %s, want %s: %s", name, got.Outcome, x.want, got.Error)
		}
	}
	for _, e := range []Exit{{Code: -1, Signal: "SIGKILL"}, {Code: 143}, {Code: 137}} {
		if !e.killed() {
			t.Errorf("%+v was not killed", e)
		}
	}
	if (Exit{Code: 2}).killed() || (Exit{}).killed() {
		t.Error("an exit code of its own counts as a signal")
	}
}
