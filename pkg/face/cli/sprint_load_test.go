package cli_test

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// Many agents at once: 12 coders, 4 reviewers and 60 tasks in the long form (make load). All tasks are merged, no
// rule is broken in any revision that somebody can see, and what it took is printed.
func TestALargeTeamMergesEverything(t *testing.T) {
	t.Parallel()
	coders, reviewers := long(4, 12), long(2, 4)
	s := newSprint(t, long(8, 60))
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	seen := make(chan *observer, 1)
	go func() { seen <- s.observe(watching) }()

	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	first, began := s.State().Revision, time.Now()
	cmd := s.run(ctx, &out, coders, reviewers)
	if err := cmd.Run(); err != nil {
		t.Fatalf("the sprint does not come to its end: %v\n%s", err, out.String())
	}
	took := time.Since(began)
	stop()
	o := <-seen
	for _, wrong := range o.wrong {
		t.Error(wrong)
	}
	s.everythingMerged()
	writes := s.State().Revision - first
	if o.looked < writes/20 {
		t.Errorf("the observer saw %d of %d revisions", o.looked, writes)
	}
	n := len(s.tasks)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%d coders, %d reviewers, %d tasks: %.1f s, %d ms per merged task", coders, reviewers, n, took.Seconds(), took.Milliseconds()/int64(n))
	t.Logf("%d writes; liza, agents and git together %.1f s of processor time, %d ms per merged task", writes, cpu.Seconds(), cpu.Milliseconds()/int64(n))
	t.Logf("the observer validated %d revisions, the largest gap was %d; at most %d tasks were coded and %d reviewed at a time", o.looked, o.gap, o.coding, o.reviewing)
	if o.coding < 2 {
		t.Error("the coders never worked side by side")
	}
	if t.Failed() {
		t.Logf("the run:\n%s", out.String())
	}
}
