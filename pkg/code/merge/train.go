package merge

import (
	"slices"
	"strings"
)

// A train is approved tasks of which each is checked on top of those before it, as if the checks of these had passed
// (specs/protocol.md#8.7). It decides and does nothing: next says what follows from what is known.
type train struct {
	merged   []string // since the train began, in their order
	waiting  []string // in the order of their merge
	culprits []culprit
	seen     map[string]*sight // by name of the attempt
	runs     int               // how often checks have to fail on a tree before that counts
}

// A culprit is a task that failed on top of what was merged before it, which was good.
type culprit struct {
	task     string
	after    []string // what was merged since the train began
	conflict bool     // it does not merge; else its checks fail
}

// An attempt is tasks merged one after the other onto the commit at which the train began.
type attempt struct {
	line []string
	dry  bool // whether they merge is all that is asked
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

// A sight is what is known of an attempt. Attempts with the same tree have the same one.
type sight struct {
	ran      int      // how often its checks ended
	passed   bool     // when they ended last
	conflict []string // the files that do not merge
	excused  []string // what failed, and fails in the same way where the train began
	void     bool     // nothing can be known of it
}

type verdict int

const (
	open    verdict = iota // not known yet
	suspect                // failed, and has to fail once more before that counts
	good
	failing
	conflicting
	void
)

// verdict is what is known of an attempt. A failure that is excused where the train began is none only while the
// attempt without the last task has it too: else that task brought it back.
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
	check  action = iota // what is known is not enough
	merges               // its checks passed with all that is merged
	blame                // they did not: it leaves the train, and what it collides with is looked for
	reject               // that is known
	skip                 // nothing can be known of it
)

// A decision is what to do next, with a task or, for check, with attempts, the most useful first; those that are
// under way and not among them are of no use any more.
type decision struct {
	action   action
	task     string
	with     string // of reject: what it collides with; "": it fails by itself, or with what was there before
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

// narrow looks for what a culprit collides with, by bisection: the first of the tasks before it with which it fails.
// probe is what has to be known for that; nil: nothing more.
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

// did takes note of what was done with a task.
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

// inOrder is the order of a train whose members come in that of their approval: priority first; then those that change
// files which others change too come late, because what fails is checked again with all that is behind it.
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
