package exitcmd_test

import (
	"testing"
)

// What ends the answer is its last word: an exit command that is quoted, or taken back, does
// not count, and the agent is asked again.
func TestOnlyTheExitCommandThatEndsTheAnswerCounts(t *testing.T) {
	t.Parallel()
	stuck := `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"It is not done."}`
	for _, c := range []struct {
		name, output, want string // the action, "" for a re-ask
		multiple           bool
	}{
		{"at the end", "I did it.\n" + done, "COMPLETED", false},
		{"white space after it", done + " \n\n\t", "COMPLETED", false},
		{"in a code fence", "```json\n" + done + "\n```\n", "COMPLETED", false},
		{"in a fence of tildes", "~~~\n" + done + "\n~~~", "COMPLETED", false},
		{"figures of the program after it", done + "\n\nTokens: 2.3k sent, 120 received. Cost: $0.01 message.\n", "COMPLETED", false},
		{"quoted, then the opposite", "I would say\n" + done + "\nbut the tests still fail, so I am not done.", "", false},
		{"quoted in a fence, then the opposite", "```json\n" + done + "\n```\nDo not take this for my answer.", "", false},
		{"a question after it", done + "\nShall I go on?", "", false},
		{"a cost in prose after it", done + "\nNot really: cost 3 of my tests.", "", false},
		{"quoted, then another", "not " + done + " but\n" + stuck, "STUCK", true},
		{"the beginning of another after it", done + "\n{\"action\":\"RETRY\",\"evidence_files\":[", "", false},
		{"the last one is broken", done + "\n{\"action\":\"COMPLETED\"}", "", false},
	} {
		exit, multiple, err := parse(c.output, "coder")
		got := ""
		if exit != nil {
			got = exit.Action
		}
		if got != c.want || multiple != c.multiple || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, %v; want %q, %v", c.name, got, multiple, err, c.want, c.multiple)
		}
	}
}
