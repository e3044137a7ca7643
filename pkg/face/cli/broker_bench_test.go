package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/run/broker"
	"liza/pkg/verb/verb/verbtest"
)

// BenchmarkBroker times a command in the process of the supervisor, and the same one over the broker of a
// run, by turns: one that shows something, one that writes, and one that is refused.
func BenchmarkBroker(b *testing.B) {
	p := verbtest.New(b)
	p.Merges(300)
	p.AddTask("task-1")
	e := inRun(b, p, p.Supervised("coder-1"))
	direct := func(line []string) int {
		var out bytes.Buffer
		return e.outside.inside(e.run, &broker.Call{Request: broker.Request{Dir: p.Dir}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}).serveLiza(b.Context(), line)
	}
	over := func(line []string) int {
		code, _ := e.call("", line...)
		return code
	}
	for _, x := range []struct {
		code int
		line string
	}{{0, "show task-1"}, {0, "discover Odd --task task-1"}, {4, "pause"}} {
		b.Run(strings.Fields(x.line)[0], func(b *testing.B) {
			var inProcess, overBroker []time.Duration
			for b.Loop() {
				for to, run := range map[*[]time.Duration]func([]string) int{&inProcess: direct, &overBroker: over} {
					start := time.Now()
					if code := run(strings.Fields(x.line)); code != x.code {
						b.Fatalf("liza %s ends with %d", x.line, code)
					}
					*to = append(*to, time.Since(start))
				}
			}
			slices.Sort(inProcess)
			slices.Sort(overBroker)
			a, o := inProcess[len(inProcess)/2], overBroker[len(overBroker)/2]
			b.ReportMetric(float64(a.Microseconds())/1000, "ms-in-process")
			b.ReportMetric(float64(o.Microseconds())/1000, "ms-over-broker")
			b.ReportMetric(float64((o-a).Microseconds())/1000, "ms-more")
			b.ReportMetric(0, "ns/op")
		})
	}
}
