package exitcmd_test

import (
	"strings"
	"testing"
	"time"

	"liza/pkg/run/exitcmd"
)

const tell = `{"id": "tell", "kind": "msg", "detail": "It is done", "notify": true}`

func item(id string) string {
	return `{"id": "` + id + `", "description": "Print a word", "done_when": "prints hello", "scope": "IN: one file", "spec_ref": "specs/vision.md"}`
}

func planOf(items ...string) string {
	return `{"goal": "Words", "tasks": [` + strings.Join(items, ", ") + `]}`
}

// N-40: whatever a plan is, it is read within a moment, and never panics.
func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(planOf(item("a"), tell)))
	f.Add([]byte("goal: x\ntasks: [{id: a}]\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := exitcmd.ParsePlan(data)
		if (p == nil) == (err == nil) {
			t.Errorf("%q gives %v and %v: one of the two, always", data, p, err)
		}
	})
}

// N-40: a plan of a megabyte is read, or refused, within a moment.
func TestAPlanOfAMegabyteIsReadQuickly(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, text := range map[string]string{
		"nothing but braces":    strings.Repeat("{", size),
		"nothing but brackets":  strings.Repeat("[", size),
		"lists in lists":        `{"tasks": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + strings.Repeat(" ", size) + "}",
		"an unknown key":        `{"` + strings.Repeat("k", size) + `": 1}`,
		"many unknown keys":     "{" + strings.Repeat(`"x": 1, `, size/8) + `"goal": "x"}`,
		"many tasks":            planOf(strings.Repeat(item("a")+", ", size/len(item("a"))) + tell),
		"unknown keys of tasks": planOf(strings.Repeat(`{"dependson": []}, `, size/19) + tell),
		"a long text":           planOf(`{"id": "a", "detail": "` + strings.Repeat("x", size) + `"}`),
		"escapes":               planOf(`{"id": "a", "detail": "` + strings.Repeat(`\u00e4`, size/6) + `"}`),
		"no JSON":               strings.Repeat("goal: x\n", size/8),
		"indentation":           strings.Repeat("- ", size/2),
		"aliases of aliases":    "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n",
	} {
		began := time.Now()
		p, err := exitcmd.ParsePlan([]byte(text))
		if (p == nil) == (err == nil) {
			t.Errorf("%s gives %v and %v: one of the two, always", name, p, err)
		}
		if err != nil && len(err.Error()) > 100_000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
		if took := time.Since(began); took > 60*time.Second { // 100 ms on a machine that does nothing else, and without the race detector
			t.Errorf("%s: took %s", name, took)
		} else {
			t.Logf("%-22s %s", name, took.Round(time.Millisecond))
		}
	}
}
