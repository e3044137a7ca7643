package sandbox

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"liza/pkg/base/norace"
)

// BenchmarkStart times a program that does nothing with and without its wall, by turns, because the machine is not always equally
// fast. The launcher is the real program.
func BenchmarkStart(b *testing.B) {
	f := Detect(b.Context())
	if f.Strongest() != Closed {
		b.Skip("NOT RUN: this machine cannot make a closed wall")
	}
	bin := b.TempDir()
	liza := filepath.Join(bin, "liza-spawn")
	if err := norace.Build(bin, "liza/cmd/liza-spawn"); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	times := map[Level][]time.Duration{}
	for b.Loop() {
		for _, level := range []Level{Open, Partial, Closed} {
			s := Spec{Level: level, Liza: liza, Dir: dir, Write: []string{dir}, Home: dir, Tmp: dir, Person: dir, Proxy: filepath.Join(dir, "proxy.sock")}
			began := time.Now()
			c, err := s.Command(f, "/usr/bin/true", []string{"true"}, []string{"PATH=/usr/bin"})
			if err != nil {
				b.Fatal(err)
			}
			x := &exec.Cmd{Path: c.Path, Args: c.Argv, Env: c.Env, Dir: dir}
			if out, err := x.CombinedOutput(); err != nil {
				b.Fatalf("%s: %v: %s", level, err, out)
			}
			times[level] = append(times[level], time.Since(began))
		}
	}
	at := func(level Level, percent int) float64 {
		list := times[level]
		slices.Sort(list)
		return float64(list[len(list)*percent/100].Microseconds()) / 1000
	}
	for name, percent := range map[string]int{"median": 50, "fastest": 0} {
		open := at(Open, percent)
		b.ReportMetric(open, "ms-open-"+name)
		b.ReportMetric(at(Partial, percent)-open, "ms-more-partial-"+name)
		b.ReportMetric(at(Closed, percent)-open, "ms-more-closed-"+name)
		b.ReportMetric(at(Closed, percent)/open, "ratio-closed-"+name)
	}
	b.ReportMetric(0, "ns/op")
}
