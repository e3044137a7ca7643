package assembly

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/code/project"
)

// C-18: a changed configuration acts at the next decision, one that is broken while programs
// run leaves the last good one in force and is told.
func TestABrokenConfigurationLeavesTheLastGoodOne(t *testing.T) {
	t.Parallel()
	liza := filepath.Join(t.TempDir(), ".liza")
	if err := os.Mkdir(liza, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(liza, "config.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var told bytes.Buffer
	e := &Environment{Stderr: &told, Now: time.Now}
	s, err := e.Config(&project.Project{Liza: liza}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := func(n int) {
		t.Helper()
		if got := s.Get().Orchestration.MaxConcurrentAgents; got != n {
			t.Errorf("the cap is %d, want %d", got, n)
		}
	}
	want(3)
	write("orchestration: {max_concurrent_agents: 5}\n")
	want(5)
	write("orchestration: {max_concurrent_agents: many}\n")
	want(5)
	want(5)
	if n := strings.Count(told.String(), "the last good one stays"); n != 1 {
		t.Errorf("told %d times: %s", n, &told)
	}
	write("orchestration: [\n")
	want(5)
	write("orchestration: {max_concurrent_agents: 12}\n")
	want(12)
	if err := os.Remove(filepath.Join(liza, "config.yaml")); err != nil {
		t.Fatal(err)
	}
	want(3)
}
