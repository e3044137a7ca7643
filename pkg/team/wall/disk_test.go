package wall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/base/safefile"
)

func TestAFolderThatGrowsTooMuchIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		dir := t.TempDir()
		write := func(name string, size int) {
			if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("x"), size), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("before", 1<<20)
		told := make(chan string, 8)
		done := make(chan struct{})
		go func() {
			watchDisk(ctx, 100_000, []string{t.TempDir(), dir}, func(folder string, grown int64) { told <- fmt.Sprint(folder == dir, grown > 100_000) })
			close(done)
		}()
		time.Sleep(time.Minute)
		write("small", 10_000)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("told too early: %s", <-told)
		}
		write("large", 200_000)
		<-done
		if n := len(told); n != 1 || <-told != "true true" {
			t.Errorf("told %d times, or of another folder; want it told once", n)
		}
	})
}

// A program can put what it writes where its path is too long to be opened at once, and in files without content.
func TestNothingIsHiddenFromTheLookAtTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		name := strings.Repeat("d", 200)
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := root.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = below
	}
	defer root.Close()
	before := safefile.SizeOf(t.Context(), dir)
	if err := root.WriteFile("large", bytes.Repeat([]byte("x"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if grown := safefile.SizeOf(t.Context(), dir) - before; grown < 1<<20 {
		t.Errorf("in deep folders: %d bytes", grown)
	}
	if err := errors.Join(os.Mkdir(dir+"/\xff", 0o755), os.WriteFile(dir+"/\xff/large", bytes.Repeat([]byte("x"), 1<<20), 0o644)); err != nil {
		t.Fatal(err)
	}
	if grown := safefile.SizeOf(t.Context(), dir) - before; grown < 2<<20 {
		t.Errorf("in a folder whose name is no text: %d bytes", grown)
	}
	empty := t.TempDir()
	before = safefile.SizeOf(t.Context(), empty)
	for n := range 1000 {
		if err := os.WriteFile(filepath.Join(empty, fmt.Sprint(n)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if grown := safefile.SizeOf(t.Context(), empty) - before; grown < 1000*512 {
		t.Errorf("a thousand empty files: %d bytes", grown)
	}
}
