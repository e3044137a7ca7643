package history

import (
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/board/blackboard"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAHistoryWhoseFirstLineWasCutIsBegunAgain(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"", opening[:3], opening} { // what a power loss, or a killed writer, leaves of it
		h := folder(t)
		write(t, h.File(), left)
		h.must(t, "COMPLETED")
		h.must(t, "RETRY")
		h.numbers(t, 2)
	}
}

func TestARequestThatCannotBeReadIsPutAside(t *testing.T) {
	t.Parallel()
	h := folder(t)
	write(t, h.pendingFile(1), `{"owner": {"pid": 4`)
	dead := func(Owner) bool { return false }
	for range 2 {
		if runs, err := h.Recover(t.Context(), dead); err != nil || len(runs) > 0 {
			t.Fatalf("runs %q, %v", runs, err)
		}
	}
	if text, err := os.ReadFile(h.pendingFile(1) + ".corrupt"); err != nil || string(text) != `{"owner": {"pid": 4` {
		t.Errorf("kept is %q, %v", text, err)
	}
	h.must(t, "COMPLETED")
	h.numbers(t, 1)
}

func TestALinkThatIsNotInTheJournalIsFollowedByNothing(t *testing.T) {
	t.Parallel()
	j := Journal{Path: filepath.Join(t.TempDir(), "log.yaml")}
	last, err := j.Append(2, "", []blackboard.Entry{{Timestamp: "2026-01-19T14:00:00Z", Agent: "human", Action: "note", Detail: "one"}})
	if err != nil {
		t.Fatal(err)
	}
	const foreign = Link("7-00000000000000000000000000000000")
	if got, err := j.Follow(foreign, 1); err != nil || got != foreign {
		t.Errorf("what follows a foreign entry is %q, %v", got, err)
	}
	if got, err := j.Follow(Begins, 1); err != nil || got != last {
		t.Errorf("what follows the beginning is %q, %v; want %q", got, err, last)
	}
}
