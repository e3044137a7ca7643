package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// BenchmarkUpdate changes one task in a warm process. Beside it, in the same run: a bare
// write, fsync and rename of the same bytes.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{10, 300, 3000} {
		p := newProject(b)
		f := p.create(n)
		i := 0
		b.Run(fmt.Sprintf("tasks=%d/update", n), func(b *testing.B) {
			for b.Loop() {
				i++
				err := f.Update(b.Context(), op, func(s *blackboard.State) error {
					t := s.Own(s.Tasks[i%len(s.Tasks)])
					t.Iteration++
					t.LeaseExpires = "2026-01-19T15:20:00Z"
					s.Record(blackboard.Entry{Action: "claimed", Task: t.ID})
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		data, err := os.ReadFile(p.path())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("tasks=%d/bare", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := safefile.Replace(filepath.Join(p.dir, "bare.yaml"), data, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
