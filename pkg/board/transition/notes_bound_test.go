package transition

import (
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// An agent cannot make the board so large that nobody reads it any more; people can go on.
func TestAnAgentCannotWriteDownWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000} {
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
		if kept != mostNotes {
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

// The text of a task's agents has one bound, whatever the verb; a supervisor can still say how a run ended, and people anything.
func TestTheTextOfATaskIsBoundedForEveryVerb(t *testing.T) {
	t.Parallel()
	long, n := strings.Repeat("a", 300<<10), 0
	verbs := map[string]func(b *board, a Actor) error{
		"intent": func(b *board, a Actor) error {
			return RecordIntent(b.State, "x", a, Input{Intent: &blackboard.Intent{Intent: long, Validation: fmt.Sprint(n)}}, b.now)
		},
		"discover": func(b *board, a Actor) error {
			return Discover(b.State, &blackboard.Discovery{During: "x", Description: long}, a, b.now)
		},
		"elsewhere": func(b *board, a Actor) error {
			return Discover(b.State, &blackboard.Discovery{During: "y", Description: long}, a, b.now)
		},
		"anomaly": func(b *board, a Actor) error {
			_, err := ReportAnomaly(b.State, "x", "x-odd", blackboard.Settings{"what": long}, a, b.now)
			return err
		},
	}
	for name, verb := range verbs {
		b := team(t)
		b.add("x")
		b.add("y")
		b.claim("x", "coder-1")
		child := b.Agents["coder-1"].Child
		child.Task, child.Started = "x", blackboard.TimeOf(b.now)
		write := func(a Actor) error {
			bound := BoundText(b.State, a, b.now)
			n++ // the same again is done already
			if err := verb(b, a); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return bound.Check(b.State)
		}
		for i := range 3 {
			if err := write(programOf("coder-1")); err != nil {
				t.Errorf("%s, the text %d: %v", name, i, err)
			}
		}
		if err := write(programOf("coder-1")); err == nil || !strings.Contains(err.Error(), "1 MiB of text") {
			t.Errorf("%s: more than 1 MiB: %v", name, err)
		}
		for may, who := range []Actor{programOf("coder-1"), supervisorOf("coder-1"), person} {
			bound := BoundText(b.State, who, b.now)
			b.must(Discover(b.State, &blackboard.Discovery{During: "x", Description: "it ended"}, who, b.now))
			if err := bound.Check(b.State); (err == nil) != (may > 0) {
				t.Errorf("%s: a word of %s after that: %v", name, who.ID, err)
			}
		}
	}
}
