package yamldoc

import (
	"strings"
	"testing"
)

func TestAFileInUTF16IsNamed(t *testing.T) {
	t.Parallel()
	const text = "\xff\xfev\x00:\x00 \x001\x00\n\x00"
	_, err := newReader().Parse([]byte(text))
	_, errNode := Node([]byte(text))
	for _, err := range []error{err, errNode} {
		if err == nil || !strings.Contains(err.Error(), "in UTF-16; write it in UTF-8 with iconv") {
			t.Errorf("it says %v", err)
		}
	}
}

// A person's aliases and merge keys stay as they are written, but where a change touches them or what they stand for.
func TestAliasesSurviveAChangeOfSomethingElse(t *testing.T) {
	t.Parallel()
	const text = `version: 1
crew: &c
  x-1: &who {role: coder}
jobs:
  - &one
    id: a
    status: OPEN
  - <<: *one
    id: b
    status: DONE
again: *c
who: *who
`
	patch := func(text string, changed func(e *Edit, doc *Document)) string {
		doc := parse(t, newReader(), text)
		e := doc.Edit()
		changed(e, doc)
		return string(apply(t, e).Bytes())
	}
	got := patch(text, func(e *Edit, _ *Document) { e.Patch("version", 1, 2) })
	if d := diff(got, strings.Replace(text, "version: 1", "version: 2", 1)); d != "" {
		t.Errorf("another section: %s", d)
	}
	got = patch(text, func(e *Edit, doc *Document) {
		e.Entries("jobs", change(t, doc, func(jobs map[string]*job) { jobs["a"].Status = "SHUT" }))
	})
	want := strings.NewReplacer("status: OPEN", "status: SHUT", "  - <<: *one\n    id: b\n    status: DONE\n", "  - id: b\n    status: DONE\n").Replace(text)
	if d := diff(got, want); d != "" {
		t.Errorf("what an alias stands for: %s", d)
	}
}
