package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// signal waits for one signal.
func signal(t *testing.T, signals <-chan struct{}, what string) {
	t.Helper()
	select {
	case _, open := <-signals:
		if !open {
			t.Fatalf("the channel was closed before %s", what)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("no signal after %s", what)
	}
}

func TestAWatcherHearsOfEditorsAndControlFilesOnly(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	signals := f.Watch(t.Context())
	in := func(name string) string { return filepath.Join(p.dir, ".liza", name) }
	// What does not matter comes first: had it signalled, the channel would not be empty below.
	p.write(in("alerts.json"), "{}")
	p.write(in(".state.yaml.tmp-99"), "half")
	must(t, os.Mkdir(in("output"), 0o755))
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"an edit in place", func() { p.write(p.path(), p.read(p.path())+"# edit\n") }},
		{"an edit by rename", func() { p.write(in("x.swp"), p.read(p.path())); must(t, os.Rename(in("x.swp"), p.path())) }},
		{"touch PAUSE", func() { p.write(in("PAUSE"), "") }},
		{"rm PAUSE", func() { must(t, os.Remove(in("PAUSE"))) }},
		{"touch ABORT", func() { p.write(in("ABORT"), "") }},
		{"touch CHECKPOINT", func() { p.write(in("CHECKPOINT"), "why\n") }},
		{"a line in the log", func() { p.write(p.journal(), "# nothing\n") }},
	} {
		drain(signals)
		step.do()
		signal(t, signals, step.what)
	}
}

// drain takes late signals of what happened before.
func drain(signals <-chan struct{}) {
	for {
		select {
		case <-signals:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func TestAStormOfWritesIsAFewSignals(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	signals := f.Watch(t.Context())
	for i := range 200 {
		p.write(filepath.Join(p.dir, ".liza", "PAUSE"), string(rune('a'+i%26)))
	}
	signal(t, signals, "the storm")
	count := 1
	for quiet := false; !quiet; {
		select {
		case <-signals:
			count++
		case <-time.After(300 * time.Millisecond):
			quiet = true
		}
	}
	if count > 20 {
		t.Errorf("%d signals", count)
	}
}

// All that watch share one watcher; the last that leaves ends it, and the next begins another.
func TestWatchersShareWhatTheSystemTells(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	f := p.create(1)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		first, leave := context.WithCancel(ctx)
		one, other := f.Watch(first), f.Watch(ctx)
		p.write(p.path(), p.read(p.path())+"# edit\n")
		signal(t, one, "an edit")
		signal(t, other, "an edit, for the other")
		leave()
		for range one { // a late signal, then the end
		}
		p.write(p.path(), p.read(p.path())+"# edit\n")
		signal(t, other, "an edit after one has left")
		cancel()
		for range other {
		}
	}
}
