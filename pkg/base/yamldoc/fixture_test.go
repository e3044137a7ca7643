package yamldoc

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// at is a text that is written without quotes.
type at string

func (a at) Plain() string { return string(a) }

// job and event stand for what a program keeps in its entries.
type job struct {
	ID      string         `yaml:"id"`
	Text    string         `yaml:"text,omitempty"`
	Status  string         `yaml:"status"`
	Count   int            `yaml:"count,omitempty"`
	Limit   *int           `yaml:"limit,omitempty"`
	Done    bool           `yaml:"done,omitempty"`
	Worker  string         `yaml:"worker,omitempty"`
	Due     at             `yaml:"due,omitempty"`
	Files   []string       `yaml:"files,omitempty"`
	Options map[string]any `yaml:"options,omitempty"`
	Hold    *hold          `yaml:"hold,omitempty"`
	History []*event       `yaml:"history,omitempty"`
}

type hold struct {
	By     string `yaml:"by"`
	Reason string `yaml:"reason"`
}

type event struct {
	Time  at             `yaml:"time"`
	Event string         `yaml:"event"`
	By    string         `yaml:"by,omitempty"`
	Extra map[string]any `yaml:",inline"`
}

// decodeJob decodes entries of jobs and crew; everything else is decoded openly.
func decodeJob(section string, entry *Entry, node *yaml.Node) any {
	if entry != nil && section == "jobs" {
		j := new(job)
		if node.Decode(j) == nil {
			return j
		}
		return nil
	}
	return decodeOpen(section, entry, node)
}

func decodeOpen(_ string, _ *Entry, node *yaml.Node) any {
	var v any
	_ = node.Decode(&v)
	return &v
}

func newReader() *Reader {
	return &Reader{Split: []string{"jobs", "crew"}, Decode: decodeJob}
}

func parse(t testing.TB, r *Reader, text string) *Document {
	t.Helper()
	doc, err := r.Parse([]byte(text))
	if err != nil {
		t.Fatalf("cannot parse: %v\n%s", err, text)
	}
	return doc
}

// change applies f to copies of the jobs and returns the items for an edit.
func change(t testing.TB, doc *Document, f func(jobs map[string]*job)) []Item {
	t.Helper()
	entries, ok := doc.Entries("jobs")
	if !ok {
		t.Fatal("there are no jobs")
	}
	copies := map[string]*job{}
	var items []Item
	for i, e := range entries {
		before := e.Value().(*job)
		after := *before
		copies[before.ID] = &after
		items = append(items, Item{From: i, Before: before, After: &after})
	}
	f(copies)
	for i := range items {
		if Same(items[i].Before, items[i].After) {
			items[i].Before, items[i].After = nil, nil
		}
	}
	return items
}

func apply(t testing.TB, e *Edit) *Document {
	t.Helper()
	doc, err := e.Apply()
	if err != nil {
		t.Fatalf("cannot apply: %v", err)
	}
	return doc
}

// diff shows the lines of two texts that differ.
func diff(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b || (i < len(g)) != (i < len(w)) {
			return "first difference:\ngot:  " + a + "\nwant: " + b + "\nall of it:\n" + got
		}
	}
	return ""
}
