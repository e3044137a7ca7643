package yamldoc

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sized is the entry of a record of about so many kB, as it is usually written.
func sized(kB int) string {
	var b strings.Builder
	b.WriteString("  - id: task-17\n    title: Greeting honours --name\n    text: |\n")
	for range 3 * kB {
		b.WriteString("      The CLI prints \"Hello, X!\" for --name X, and some more words about it.\n      - not a list\n")
	}
	b.WriteString("    count: 3\n    limit: 10\n    done: false\n    role: coder\n    files: [\"hello/**\", \"tests/**\"]\n    hold: {by: ada, n: 1}\n    history:\n")
	for range 5 * kB {
		b.WriteString("      - {time: 2026-01-19T14:01:00Z, event: created, by: [planner-1]}\n      - time: 2026-01-19T14:02:00Z\n        event: claimed\n")
	}
	return b.String()
}

// BenchmarkFastReader reads one entry fast and, in the same run, through the library;
// "times" is how many times faster it is.
func BenchmarkFastReader(b *testing.B) {
	for _, kB := range []int{1, 14} {
		text := sized(kB)
		b.Run(fmt.Sprintf("%dkB", kB), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			n := 0
			for b.Loop() {
				n++
				if !fastRecords.Entry(text, true, 2, "", reflect.ValueOf(new(record))) {
					b.Fatal("it is not read fast")
				}
			}
			each := b.Elapsed() / time.Duration(n)
			b.StopTimer()
			start := time.Now()
			for range 20 {
				if _, ok := modes[0].library(text); !ok {
					b.Fatal("the library does not read it")
				}
			}
			b.ReportMetric(float64(time.Since(start)/20)/float64(each), "times")
		})
	}
}
