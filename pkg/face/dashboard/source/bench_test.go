package source_test

import (
	"testing"

	"liza/pkg/verb/verb/verbtest"
)

// What views ask for on a board of 2,000 tasks.
func Benchmark2000Tasks(b *testing.B) {
	p := verbtest.New(b)
	p.Merges(2000)
	for range 5 {
		p.AddTask("t" + string(rune('a'+p.State().TaskCount()%26)))
	}
	s, ctx := of(p), b.Context()
	rev := p.State().Revision
	for name, ask := range map[string]func() error{
		"view":     func() error { _, err := s.View(ctx); return err },
		"task":     func() error { _, err := s.Task(ctx, "old-1000"); return err },
		"diff":     func() error { _, err := s.Diff(ctx, "old-1000"); return err },
		"timeline": func() error { _, err := s.Timeline(ctx); return err },
		"graph":    func() error { _, err := s.Graph(ctx); return err },
		"figures":  func() error { _, err := s.Figures(ctx); return err },
		"past":     func() error { _, err := s.At(ctx, rev-2); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
