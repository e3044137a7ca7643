//go:build e2e

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/run/sandbox"
)

// shortFolder is one whose path leaves room for those of sockets.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// checkContained wants that every run was contained as it was said, that the merges say so, and that nothing is
// left of the runs.
func checkContained(t *testing.T, pr *project, b board) {
	t.Helper()
	for _, task := range b.Tasks {
		for i, a := range task.Attempts {
			if a.Sandbox != string(level) {
				t.Errorf("attempt %d of %s was contained as %q, want %q", i+1, task.ID, a.Sandbox, level)
			}
		}
	}
	want := strings.Repeat("Liza-Sandbox: "+string(level)+"\n", 2)
	if got := strings.ReplaceAll(pr.must(t, "git", "log", "--merges", "--format=%(trailers:key=Liza-Sandbox)", "integration"), "\n\n", "\n"); got != want {
		t.Errorf("the merges say %q, want %q", got, want)
	}
	if level == sandbox.Closed {
		for _, a := range b.Anomalies { // a host that a known program is refused, and does without, is quiet
			t.Errorf("there is an anomaly %s: %v", a.Type, a.Details)
		}
		journal, err := os.ReadFile(filepath.Join(pr.dir, ".liza", "log.yaml"))
		if err != nil || strings.Contains(string(journal), "host_refused") {
			t.Errorf("a planner was refused a host: %v\n%s", err, journal)
		}
	}
	for _, pattern := range []string{filepath.Join(pr.runtime, "liza-*", "*"), filepath.Join(pr.dir, ".liza", "tmp", "wall-*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("folders of runs are left: %v", left)
		}
	}
}
