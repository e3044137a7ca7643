package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
	"liza/pkg/board/store"
)

// The sizes of a board: tasks and bytes of each.
var boards = []struct{ tasks, bytes int }{{10, 1000}, {300, 1000}, {300, 14000}, {3000, 1000}, {10000, 1000}, {30000, 1000}}

// boardOf makes a project whose tasks have about that many bytes, and the store that
// commands open.
func boardOf(b *testing.B, tasks, bytes int) (*project, *store.File) {
	b.Helper()
	p := newProject(b)
	s := firstState(tasks)
	line := "What is to be done, in words that people read: \"quoted\", and plain.\n"
	for i, t := range s.TaskList() {
		t.Description = strings.Repeat(line, max(1, (bytes-600)/len(line)))
		t.Files, t.SpecRef, t.DoneWhen, t.Scope = blackboard.List{"src/a.go", "src/b.go"}, "specs/vision.md", "prints 42", "IN: one file"
		t.Created = "2026-01-19T14:00:00Z"
		if i%10 > 0 { // most of a large board is done
			t.Status, t.MergeCommit = blackboard.Merged, strings.Repeat("a", 40)
		}
		for _, event := range []blackboard.HistoryEvent{"created", "claimed", "ready_for_review"} {
			t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T14:00:00Z", Event: event, Agent: "coder-1", Reason: "of usual length"})
		}
	}
	o := p.options()
	o.Now = time.Now
	o.Validate = func(after, before *blackboard.State) []blackboard.Violation {
		return audit.Validate(after, before, audit.Evidence{Now: time.Now(), Write: true})
	}
	if err := store.Create(b.Context(), o, s); err != nil {
		b.Fatal(err)
	}
	f, err := store.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	return p, f
}

// BenchmarkStore is the table of specs/performance.md. Beside each change, in the same
// run: a bare write, flush and rename of the same bytes, and decoding, changing and
// encoding the whole file with the YAML library (without writing it).
func BenchmarkStore(b *testing.B) {
	for _, board := range boards {
		p, f := boardOf(b, board.tasks, board.bytes)
		text := p.read(p.path())
		name := fmt.Sprintf("%dx%dkB", board.tasks, board.bytes/1000)
		var bare, warm, whole time.Duration
		b.Run(name+"/bare", func(b *testing.B) { bare = replaceBare(b, p, text) })
		b.Run(name+"/change", func(b *testing.B) { warm = changeWarm(b, f) })
		b.Run(name+"/bare2", func(b *testing.B) { bare = (bare + replaceBare(b, p, text)) / 2 })
		b.Run(name+"/whole", func(b *testing.B) { whole = rewriteWhole(b, text) })
		b.Run(name+"/read", func(b *testing.B) { readCold(b, p) })
		b.Run(name+"/view", func(b *testing.B) { viewWarm(b, f) })
		b.Run(name+"/validate", func(b *testing.B) { validateAll(b, f) })
		if bare > 0 && warm > 0 && whole > 0 {
			b.Logf("%s (%.1f MB): a change is %.2f x the bare write, %.0f x faster than the whole file with the YAML library",
				name, float64(len(text))/1e6, float64(warm)/float64(bare), float64(whole+bare)/float64(warm))
		}
	}
}

func changeWarm(b *testing.B, f *store.File) time.Duration {
	if _, err := f.View(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		err := f.Update(b.Context(), op, func(s *blackboard.State) error {
			t := s.Task(s.TaskAt(i * 7 % s.TaskCount()).ID)
			t.Title = fmt.Sprint("changed ", i)
			s.Record(blackboard.Entry{Action: "note", Task: t.ID})
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return b.Elapsed() / time.Duration(b.N)
}

func replaceBare(b *testing.B, p *project, text string) time.Duration {
	data := []byte(text)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := safefile.Replace(filepath.Join(p.dir, "bare.yaml"), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return b.Elapsed() / time.Duration(b.N)
}

func rewriteWhole(b *testing.B, text string) time.Duration {
	b.ReportAllocs()
	for b.Loop() {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			b.Fatal(err)
		}
		doc.Content[0].Content[3].Value = "2" // the revision
		if _, err := yaml.Marshal(&doc); err != nil {
			b.Fatal(err)
		}
	}
	return b.Elapsed() / time.Duration(b.N)
}

// readCold is what a command does that has just started.
func readCold(b *testing.B, p *project) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.open().View(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func viewWarm(b *testing.B, f *store.File) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.View(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func validateAll(b *testing.B, f *store.File) {
	s, err := f.View(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		audit.Validate(s, nil, audit.Evidence{Now: time.Now()})
	}
}
