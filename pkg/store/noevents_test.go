package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// Without events of the system a change is noticed within seconds, and nothing is told as long as nothing changes.
func TestWithoutEventsAChangeIsNoticedSoon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &File{rules: rules{o: Options{Path: filepath.Join(dir, "state.yaml")}}}
		ctx, cancel := context.WithCancel(context.Background())
		signals := make(chan struct{}, 1)
		go f.watch(ctx, nil, signals)
		time.Sleep(5 * time.Second)
		if len(signals) > 0 {
			t.Error("a change was told of that was none")
		}
		if err := os.WriteFile(f.o.Path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-signals
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		cancel()
	})
}
