package supervisor

import (
	"testing"

	"liza/pkg/agent"
	"liza/pkg/exitcmd"
)

func TestAnExitCommandIsNoMessage(t *testing.T) {
	t.Parallel()
	const exit = `{"action": "COMPLETED", "evidence_files": [], "summary_for_supervisor": "written"`
	for final, want := range map[string]string{
		exit + `, "text": "Dear Ada"}`: "Dear Ada",
		"Dear Ada\n" + exit + "}":      "Dear Ada",
		exit + "}":                     "",
		"Dear Ada\n":                   "Dear Ada",
	} {
		r := &run{answer: exitcmd.Read(final, "messenger", false), result: agent.Result{Outcome: agent.Finished, Final: final}}
		if got := messageOf(r); got != want {
			t.Errorf("%q: the message is %q, want %q", final, got, want)
		}
	}
}
