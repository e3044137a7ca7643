package exitcmd

import "testing"

func TestAnExitCommandIsToldInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, text, want string }{
		{"coder", "I am done.\n```json\n{\"action\": \"COMPLETED\", \"evidence_files\": [], \"summary_for_supervisor\": \"Says hello\"}\n```", "I am done.\ncompleted: Says hello"},
		{"coder", `{"action": "STUCK", "evidence_files": [], "summary_for_supervisor": "no key", "blocked_questions": ["Which key?"]}`, "stuck: no key\nWhich key?"},
		{"code_reviewer", `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "fine", "review": {"status": "ok"}}`, "review ok: fine"},
		{"messenger", `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "written", "text": "Dear Ada"}`, "completed: written\nDear Ada"},
		{"planner", `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "two steps", "plan": {"goal": "g", "secrets": {"key": "hush"}, "tasks": [{"id": "a", "title": "First", "detail": "d", "expect": "e"}, {"id": "b", "title": "Then", "detail": "d", "expect": "e"}]}}`,
			"completed: two steps\nplan:\n- a First\n- b Then"},
		{"coder", "nothing of that kind", "nothing of that kind"},
		{"coder", `{"action": "COMPLETED", "evidence_files": [`, `{"action": "COMPLETED", "evidence_files": [`},
		{"coder", `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "x"} but wait`, `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "x"} but wait`},
	} {
		if got := InWords(c.text, c.kind); got != c.want {
			t.Errorf("%s says %q: got %q, want %q", c.kind, c.text, got, c.want)
		}
	}
}
