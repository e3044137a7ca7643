package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// An agent cannot make the board so large that nobody reads it any more; people can go on.
func TestAnAgentCannotWriteDownWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000, mostNoteBytes + 1} {
		b := team(t)
		b.add("x")
		b.add("y")
		kept := 0
		for i := range mostNotes + 20 {
			text := strings.Repeat("a", size)
			var err error
			if i%2 == 0 {
				err = Discover(b.State, &blackboard.Discovery{During: "x", Description: text}, programOf("coder-1"), b.now)
			} else {
				_, err = ReportAnomaly(b.State, "x", "x-odd", blackboard.Settings{"what": text}, programOf("coder-1"), b.now)
			}
			if err == nil {
				kept++
			}
		}
		if kept > mostNotes || kept*size > mostNoteBytes || kept < min(mostNotes, mostNoteBytes/(size+10)) {
			t.Errorf("%d notes of %d bytes are kept", kept, size)
		}
		err := Discover(b.State, &blackboard.Discovery{During: "x", Description: strings.Repeat("a", size)}, programOf("code-reviewer-1"), b.now)
		if err == nil || !strings.Contains(err.Error(), "agents may not discover any more about x") {
			t.Errorf("notes of %d bytes: another agent goes on: %v", size, err)
		}
		b.must(Discover(b.State, &blackboard.Discovery{During: "x", Description: strings.Repeat("a", size)}, person, b.now))
		b.must(Discover(b.State, &blackboard.Discovery{During: "y", Description: "something else"}, programOf("coder-1"), b.now))
	}
}
