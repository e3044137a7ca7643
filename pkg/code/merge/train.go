package merge

import (
	"slices"
	"strings"
)

// A train is a list of approved tasks, each checked on top of those before it as if their checks had passed
// (specs/protocol.md#8.7). It only decides: next returns the next step from the known results.
type train struct {
	merged   []string // merged since the train began, in their order
	waiting  []string // in the order of their merge
	culprits []culprit
	seen     map[string]*sight // by name of the attempt
	runs     int               // number of failures on a tree before a failure counts
}

// A culprit is a task that failed on top of good merged work.
type culprit struct {
	task     string
	after    []string // tasks that were merged since the train began
	conflict bool     // it does not merge; otherwise its checks fail
}

// An attempt is a list of tasks merged one after the other onto the commit at which the train began.
type attempt struct {
	line []string
	dry  bool // it asks only whether they merge
}

func (a attempt) name() string {
	name := strings.Join(a.line, " ")
	if a.dry {
		name += " ?"
	}
	return name
}

// last is the task that the attempt is about.
func (a attempt) last() string { return a.line[len(a.line)-1] }

// before is the same without the last task.
func (a attempt) before() attempt { return attempt{line: a.line[:len(a.line)-1]} }

// with is the same and one more task.
func (a attempt) with(task string) attempt {
	return attempt{line: append(slices.Clone(a.line), task)}
}

// A sight has the known results of an attempt. Attempts with the same tree share it.
type sight struct {
	ran      int      // number of its checks that ended
	passed   bool     // result of the last one
	conflict []string // files with conflicts
	excused  []string // failed checks that fail in the same way at the beginning of the train
	void     bool     // it has no result
}

type verdict int

const (
	open    verdict = iota // not known yet
	suspect                // failed, and has to fail once more to count
	good
	failing
	conflicting
	void
)

// verdict returns the verdict on an attempt. A failure that is excused at the beginning of the train stays excused only if
// the attempt without the last task has it too: otherwise that task brought it back.
func (t *train) verdict(a attempt) verdict {
	s := t.seen[a.name()]
	switch {
	case s == nil:
		return open
	case s.void:
		return void
	case s.conflict != nil:
		return conflicting
	case s.ran == 0:
		return open
	case !s.passed && s.ran < t.runs:
		return suspect
	case !s.passed || t.broughtBack(a) != "":
		return failing
	}
	return good
}

// broughtBack is an excused failure that the attempt without the last task does not have.
func (t *train) broughtBack(a attempt) string {
	before := t.seen[a.before().name()]
	if len(a.line) == 1 || before == nil {
		return ""
	}
	had := map[string]bool{}
	for _, what := range before.excused {
		had[what] = true
	}
	for _, what := range t.seen[a.name()].excused {
		if !had[what] {
			return what
		}
	}
	return ""
}

type action int

const (
	check  action = iota // more results are needed
	merges               // its checks passed with all merged tasks
	blame                // they failed: it leaves the train, and its culprit is searched
	reject               // its culprit is known
	skip                 // it has no result
)

// A decision is the next step, for a task or, for check, for attempts, the most useful first; running checks of other
// attempts are useless.
type decision struct {
	action   action
	task     string
	with     string // of reject: the task that it collides with; "": it fails by itself, or with earlier work
	conflict bool   // of blame and reject
	attempts []attempt
}

// next decides. While something is not known, the train goes on as if it were good.
func (t *train) next() decision {
	d := decision{action: check}
	for _, c := range t.culprits {
		with, probe := t.narrow(c)
		if probe == nil {
			return decision{action: reject, task: c.task, with: with, conflict: c.conflict}
		}
		d.attempts = append(d.attempts, *probe)
	}
	sure, line := true, attempt{line: t.merged}
	for _, id := range t.waiting {
		a := line.with(id)
		v := t.verdict(a)
		switch {
		case v == good && sure:
			return decision{action: merges, task: id}
		case v == void && sure:
			return decision{action: skip, task: id}
		case (v == failing || v == conflicting) && sure:
			return decision{action: blame, task: id, conflict: v == conflicting}
		case v == conflicting:
			continue // those behind it need not wait until it is sure
		case v == failing || v == void:
			return d // something up to here is bad, and is in all that would follow
		case v == open || v == suspect && sure:
			d.attempts = append(d.attempts, a)
		}
		sure = sure && v == good
		line = a
	}
	return d
}

// narrow searches by bisection for the task that a culprit collides with: the first of the tasks before it with which it
// fails. probe is the attempt whose result is needed; nil: none.
func (t *train) narrow(c culprit) (with string, probe *attempt) {
	// Invariant: it is good with the first low-1 of them, and fails with the first high.
	low, high := 0, len(c.after) // with so many of them: it fails with high
	for low < high {
		middle := (low + high) / 2
		a := attempt{line: c.after[:middle]}.with(c.task)
		a.dry = c.conflict
		switch t.verdict(a) {
		case open:
			return "", &a
		case good:
			low = middle + 1
		case void:
			return "", nil
		default:
			high = middle
		}
	}
	if low == 0 {
		return "", nil
	}
	return c.after[low-1], nil
}

// did records a step that was made for a task.
func (t *train) did(d decision) {
	leave := func(id string) bool { return id == d.task }
	switch d.action {
	case merges:
		t.merged = append(t.merged, d.task)
	case blame:
		t.culprits = append(t.culprits, culprit{d.task, slices.Clone(t.merged), d.conflict})
	case reject:
		t.culprits = slices.DeleteFunc(t.culprits, func(c culprit) bool { return c.task == d.task })
	}
	t.waiting = slices.DeleteFunc(t.waiting, leave)
}

// A member is a task that may join a train.
type member struct {
	id       string
	priority int
	files    []string
}

// inOrder returns the order of a train from members in the order of their approval: by priority, then with tasks late that
// change files which others change too, because after a failure all behind it is checked again.
func inOrder(members []member) []string {
	changed := map[string]int{}
	for _, m := range members {
		for _, f := range m.files {
			changed[f]++
		}
	}
	shares := func(m member) int {
		if slices.ContainsFunc(m.files, func(f string) bool { return changed[f] > 1 }) {
			return 1
		}
		return 0
	}
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b member) int {
		if a.priority != b.priority {
			return a.priority - b.priority
		}
		return shares(a) - shares(b)
	})
	var ids []string
	for _, m := range sorted {
		ids = append(ids, m.id)
	}
	return ids
}
