package protocols

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryTextIsThereAndShort(t *testing.T) {
	t.Parallel()
	want := []string{"agent-initialization", "circuit-breaker", "sprint-governance", "task-lifecycle", "worktree-management"}
	if got := Names(); !slices.Equal(got, want) {
		t.Fatalf("Names() = %q, want %q", got, want)
	}
	for _, name := range want {
		text, ok := Text(name)
		if !ok || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: no text, or no title", name)
		}
		if lines := strings.Count(text, "\n"); lines < 40 || lines > 90 {
			t.Errorf("%s has %d lines, want 40 to 90", name, lines)
		}
	}
	for _, name := range []string{"", "nothing", "../go", "task-lifecycle.md"} {
		if _, ok := Text(name); ok {
			t.Errorf("Text(%q) found something", name)
		}
	}
}
