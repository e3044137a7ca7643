package store_test

import (
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/store"
)

// A file that was cut at the border of a task parses. What it lacks is not taken for a decision of the person.
func TestAFileThatWasCutIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		cut  func(text string) string
		want []string
	}{
		"behind the first task": {func(text string) string { return text[:strings.Index(text, "  - id: task-2")] },
			[]string{"missing section 'agents'", "missing section 'config'", "missing section 'sprint'", "task task-2 is gone", "task task-3 is gone"}},
		"one section": {func(text string) string {
			from := strings.Index(text, "\nconfig:")
			return text[:from+1]
		}, []string{"missing section 'config'"}},
		"one section but its key": {func(text string) string {
			from := strings.Index(text, "\nconfig:")
			return text[:from+len("\nconfig:\n")]
		}, []string{"missing section 'config'"}},
		"another file in its place": {func(string) string { return "version: 1\ntasks: []\n" },
			[]string{"missing section 'agents'", "missing section 'config'", "missing section 'sprint'"}},
		"one task": {func(text string) string {
			return text[:strings.Index(text, "  - id: task-2")] + text[strings.Index(text, "  - id: task-3"):]
		}, []string{"task task-2 is gone; it was there in revision 2; liza abandon and liza gc take tasks away"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			f := p.create(3)
			if err := f.Update(t.Context(), op, note("note-1", "more")); err != nil {
				t.Fatal(err)
			}
			whole := p.read(p.path())
			stump := x.cut(whole)
			p.write(p.path(), stump)
			f = p.open()
			_, view := f.View(t.Context())
			_, inspect := f.Inspect(t.Context())
			for what, err := range map[string]error{"write": f.Update(t.Context(), op, note("note-2", "x")), "view": view, "inspect": inspect} {
				var invalid *store.InvalidError
				if !errors.As(err, &invalid) || invalid.Next() != "liza restore" {
					t.Errorf("%s: %v, want a refusal that leads to restore", what, err)
					continue
				}
				for _, text := range x.want {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("%s: %v does not say %q", what, err, text)
					}
				}
			}
			if p.read(p.path()) != stump {
				t.Error("the file was written")
			}
			if last, err := f.LastValid(t.Context()); err != nil || last.TaskCount() != 3 {
				t.Errorf("the last valid state: %v", err)
			}
			rev, kept, err := f.Restore(t.Context(), op, 2)
			if err != nil || rev != 3 || kept == "" || p.read(kept) != stump {
				t.Fatalf("restore: revision %d, kept %q, %v", rev, kept, err)
			}
			if now := p.read(p.path()); now != strings.Replace(whole, "revision: 2", "revision: 3", 1) {
				t.Errorf("restored is\n%s", now)
			}
			if _, _, err := f.Restore(t.Context(), op, 2); err != nil { // once more: the stump was not a snapshot
				t.Fatal(err)
			}
			if s, err := f.View(t.Context()); err != nil || s.TaskCount() != 3 || len(s.HumanNotes) != 1 {
				t.Errorf("restored again: %v", err)
			}
		})
	}
}
