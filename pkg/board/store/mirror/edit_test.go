package mirror

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

func TestAnEditIsMergedFromTheRevisionThatItsTextNames(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	here, there := joined(t, b), joined(t, b)
	there.describe("task-2", "from there")
	there.describe("task-2", "from there, again")
	here.edits("description: One", "description: By hand  # a reason")
	s := here.look()
	if one, two := s.Task("task-1").Description, s.Task("task-2").Description; one != "By hand" || two != "from there, again" {
		t.Errorf("the board has %q and %q", one, two)
	}
	here.isCopy()
	there.look()
	there.isCopy()
	if !strings.Contains(there.read("state.yaml"), "description: By hand  # a reason") {
		t.Errorf("the comment is not on the other host:\n%s", there.read("state.yaml"))
	}
	if told := here.told(); told != string(blackboard.AlertHandEdit)+": state.yaml was edited by hand: task-1" {
		t.Errorf("it was told %q", told)
	}
	if len(here.kept()) > 0 {
		t.Errorf("kept is %q", here.kept())
	}
}

func TestAWriteTakesAnEditFirst(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	h.edits("description: One", "description: By hand")
	h.describe("task-2", "by a verb")
	s := h.look()
	if one, two := s.Task("task-1").Description, s.Task("task-2").Description; one != "By hand" || two != "by a verb" {
		t.Errorf("the board has %q and %q", one, two)
	}
	h.isCopy()
}

func TestAConflictingEditIsKeptAsideWithAnAlert(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	here, there := joined(t, b), joined(t, b)
	there.describe("task-1", "from there")
	here.edits("description: One", "description: By hand")
	mine := here.read("state.yaml")
	if d := here.look().Task("task-1").Description; d != "from there" {
		t.Errorf("the board has %q", d)
	}
	here.isCopy()
	if kept := here.kept(); len(kept) != 1 || kept[0] != mine {
		t.Errorf("kept is %q", kept)
	}
	if told := here.told(); !strings.Contains(told, "an edit of revision 1 in .liza/state.yaml was not taken to the board") || !strings.Contains(told, "-person.yaml") {
		t.Errorf("it was told %q", told)
	}
}

func TestAnEditOfARevisionThatIsNotKeptIsKeptAside(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	here, there := joined(t, b), joined(t, b)
	there.describe("task-2", "from there")
	b.contents[0] = nil
	here.edits("description: One", "description: By hand")
	mine := here.read("state.yaml")
	here.look()
	here.isCopy()
	if kept := here.kept(); len(kept) != 1 || kept[0] != mine {
		t.Errorf("kept is %q", kept)
	}
}

// An edit that breaks a rule, and a file that was cut, stay as they are until they are mended, whatever others write.
func TestATextThatTheBoardRefusesStaysUntilItIsMended(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(text string) string{
		"breaks a rule": func(text string) string {
			return strings.Replace(text, "description: One", `description: ""`, 1)
		},
		"cut":          func(text string) string { return text[:strings.Index(text, "description: One")+len("descr")] },
		"empty":        func(string) string { return "" },
		"only a head":  func(text string) string { return strings.Join(strings.SplitAfter(text, "\n")[:2], "") },
		"other format": func(text string) string { return strings.Replace(text, "version: 1", "version: 7", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoard(t)
			here, there := joined(t, b), joined(t, b)
			whole := here.read("state.yaml")
			text := broken(whole)
			if text == whole {
				t.Fatal("the text is as it was")
			}
			here.save("state.yaml", text)
			there.describe("task-2", "from there")
			for range 2 {
				if _, err := here.View(t.Context()); err == nil {
					t.Fatal("the board is read as if the text were valid")
				}
				if err := here.Update(t.Context(), store.Op{Name: "test", Agent: "coder-1"}, func(*blackboard.State) error { return nil }); err == nil {
					t.Fatal("a write passes over the text")
				}
			}
			_, _ = here.board.View(t.Context())
			if err := here.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if here.read("state.yaml") != text {
				t.Fatal("the text was replaced")
			}
			if s, err := here.LastValid(t.Context()); err != nil || s.Task("task-2").Description != "from there" {
				t.Errorf("who only looks does not see the board: %v, %v", s, err)
			}
			here.save("state.yaml", strings.Replace(whole, "description: One", "description: Mended", 1))
			if d := here.look().Task("task-1").Description; d != "Mended" {
				t.Errorf("the board has %q", d)
			}
			here.isCopy()
		})
	}
}

func TestAViolationHasTheLineOfTheCopyUnderItsHead(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	h.edits("description: One", `description: ""`)
	line := strings.Count(strings.Split(h.read("state.yaml"), `description: ""`)[0], "\n") + 1
	_, err := h.View(t.Context())
	invalid, ok := errors.AsType[*store.InvalidError](err)
	if !ok || len(invalid.Violations) != 1 || invalid.Violations[0].Line != line {
		t.Errorf("the error is %v; the description is in line %d", err, line)
	}
}

func TestAStatusThatIsPutBackIsSaidAndTheEditKept(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	h.edits("status: UNCLAIMED", "status: CLAIMED")
	mine := h.read("state.yaml")
	if got := h.look().Task("task-1").Status; got != blackboard.Unclaimed {
		t.Errorf("task-1 is %s", got)
	}
	h.isCopy()
	if kept := h.kept(); len(kept) != 1 || kept[0] != mine || !strings.Contains(h.told(), "the edit is kept in") {
		t.Errorf("kept is %q; it was told %q", kept, h.told())
	}
}

func TestRestoreKeepsAnEditThatWasNotTaken(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	h.describe("task-1", "later")
	h.edits("description: later", "description: [")
	mine := h.read("state.yaml")
	now, kept, err := h.Restore(t.Context(), store.Op{Name: "restore", Agent: blackboard.Human}, 1)
	if err != nil || now != 3 {
		t.Fatalf("restore gives revision %d: %v", now, err)
	}
	h.isCopy()
	if all := h.kept(); len(all) != 1 || all[0] != mine || kept == "" {
		t.Errorf("kept is %q, said to be in %q", all, kept)
	}
	if d := h.look().Task("task-1").Description; d != "One" {
		t.Errorf("the board has %q", d)
	}
}

// An edit of many tasks names the first of them, as on one machine.
func TestAnEditOfManyTasksNamesTheFirst(t *testing.T) {
	t.Parallel()
	h := joined(t, newBoard(t))
	err := h.Update(t.Context(), store.Op{Name: "test", Agent: "coder-1"}, func(s *blackboard.State) error {
		for i := range 9 {
			x := *s.Task("task-1")
			x.ID, x.Description = fmt.Sprintf("many-%d", i), "Many"
			s.SetTasks(append(s.TaskList(), &x), nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.save("state.yaml", strings.ReplaceAll(h.read("state.yaml"), "description: Many", "description: By hand"))
	h.look()
	if told := h.told(); !strings.HasSuffix(told, " and 4 more") || strings.Count(told, "many-") != 5 {
		t.Errorf("it was told %q", told)
	}
}
