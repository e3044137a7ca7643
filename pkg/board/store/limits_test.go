package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// Snapshots of the last hour are kept up to a number, older ones one in each interval of age: exactly.
func TestSnapshotsAreKeptExactly(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]int{
		0: 0, sparseFirst - 1: 0, sparseFirst: 1, 2*sparseFirst - 1: 1, 2 * sparseFirst: 2, 4*sparseFirst - 1: 2, 4 * sparseFirst: 3,
		sparseFirst << (sparseSnapshots - 2): sparseSnapshots - 1, sparseFirst << (sparseSnapshots + 3): sparseSnapshots - 1,
	} {
		if got := interval(age); got != want {
			t.Errorf("the age %s is in interval %d, want %d", age, got, want)
		}
	}
	list := func(ages ...time.Duration) (all []Snapshot) {
		for i, age := range ages {
			all = append(all, Snapshot{Revision: -i, At: now.Add(-age)})
		}
		return all
	}
	many := make([]time.Duration, recentSnapshots+3)
	for i := range many {
		many[i] = time.Duration(i) * time.Second
	}
	for name, c := range map[string]struct {
		all  []Snapshot
		gone string // their places
	}{
		"none":                               {nil, ""},
		"an old one alone":                   {list(1000 * time.Hour), ""},
		"of the last hour":                   {list(0, recentTime-3, recentTime-2, recentTime-1), ""},
		"an hour old":                        {list(0, recentTime-1, recentTime, recentTime+1), "2"},
		"more than are kept":                 {list(many...), fmt.Sprint(recentSnapshots, " ", recentSnapshots+1)},
		"as many as are kept":                {list(many[:recentSnapshots]...), ""},
		"old ones, one in each interval":     {list(0, 80*time.Minute, 100*time.Minute, 160*time.Minute, 319*time.Minute), "1 3"},
		"old ones at the end of an interval": {list(0, 159*time.Minute, 160*time.Minute), ""},
	} {
		var gone []string
		for _, s := range surplus(c.all, now) {
			gone = append(gone, fmt.Sprint(-s.Revision))
		}
		if got := strings.Join(gone, " "); got != c.gone {
			t.Errorf("%s: %q go, want %q", name, got, c.gone)
		}
	}
}

// A board that is not valid names so many violations, and how many more there are.
func TestAMessageNamesSoManyViolations(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "", mostLines: "", mostLines + 1: "and 1 more; liza validate names all", mostLines + 5: "and 5 more; liza validate names all"} {
		e := &InvalidError{Path: "/x/.liza/state.yaml"}
		for i := range n {
			e.Violations = append(e.Violations, blackboard.Violation{Message: fmt.Sprintf("violation-%d.", i), Next: fmt.Sprintf("next-%d.", i)})
		}
		text := e.Error()
		if got := strings.Count(text, "violation-"); got != min(n, mostLines) || want != "" && !strings.HasSuffix(text, want) || want == "" && strings.Contains(text, " more; ") {
			t.Errorf("of %d violations: %s", n, text)
		}
		if last := fmt.Sprintf("next-%d.", n-1); strings.Contains(text, last) || e.Next() != last || n > 1 && !strings.Contains(text, "next-0.") {
			t.Errorf("of %d violations the next command is %s: %s", n, e.Next(), text)
		}
		if !strings.Contains(text, "would not be valid") {
			t.Error(text)
		}
		if e.Err = errors.New("torn"); !strings.Contains(e.Error(), "is not valid") || !errors.Is(e, e.Err) {
			t.Error(e.Error())
		}
	}
}
