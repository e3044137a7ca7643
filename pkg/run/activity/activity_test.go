package activity

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var morning = time.Date(2026, 1, 19, 9, 0, 0, 0, time.UTC)

func masked(text string) string { return strings.ReplaceAll(text, "hunter2", "[REDACTED]") }

func begin(t *testing.T, path string, n int) *Writer {
	t.Helper()
	w, err := Open(path, Event{At: morning, Agent: "coder-1", Task: "task-1", Number: n}, masked)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func finish(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string, after int64) ([]Event, int64) {
	t.Helper()
	events, next, err := Read(path, after)
	if err != nil {
		t.Fatal(err)
	}
	return events, next
}

// said are the events in short.
func said(events []Event) string {
	var list []string
	for _, e := range events {
		text := string(e.Kind)
		if e.Kind == Run {
			text += fmt.Sprint(" ", e.Number)
		}
		if e.Tool != "" {
			text += " " + e.Tool
		}
		if e.Text != "" {
			text += " " + e.Text
		}
		list = append(list, text)
	}
	return strings.Join(list, " | ")
}

func TestWhatIsWrittenIsReadOnceFromAnOffset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output", "task-1.events")
	w := begin(t, path, 1)
	w.Add(Event{At: morning.Add(time.Second), Kind: Tool, Tool: "bash", Text: "go test ./... hunter2"})
	events, next := read(t, path, 0)
	if got := said(events); got != "run 1 | tool bash go test ./... [REDACTED]" || events[0].Agent != "coder-1" {
		t.Errorf("got %s", got)
	}
	w.Add(Event{At: morning.Add(2 * time.Second), Kind: End, Text: "finished"})
	finish(t, w)
	if events, _ := read(t, path, next); said(events) != "end finished" {
		t.Errorf("after %d: got %s", next, said(events))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if events, next := read(t, filepath.Join(t.TempDir(), "none"), 7); len(events) != 0 || next != 7 {
		t.Errorf("a file that is not there has %v, %d", events, next)
	}
}

func TestATornLastLineIsLeftAndWhatIsNoEventIsPassedOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	good := `{"at":"2026-01-19T09:00:00Z","kind":"text","text":"good"}` + "\n"
	hostile := "\x1b[2J\n{}\n[1]\n{\"kind\":7}\n{\"base\":-5}\n" + strings.Repeat("x", 3*maxLine) + "\n" + `{"at":"x","kind":"text"}` + "\n\x00\xff\n"
	if err := os.WriteFile(path, []byte(good+hostile+good+good[:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	events, next := read(t, path, 0)
	if said(events) != "text good | text good" || next != int64(2*len(good)+len(hostile)) {
		t.Errorf("got %s, next %d", said(events), next)
	}
	w := begin(t, path, 2)
	finish(t, w)
	if events, _ := read(t, path, next); said(events) != "run 2" {
		t.Errorf("after the torn line: got %s", said(events))
	}
	if events, _ := read(t, path, int64(len(good)/2)); said(events) != "text good | run 2" {
		t.Errorf("from within a line: got %s", said(events))
	}
}

func TestTextsAreBoundedAndMoveNoCursor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	w := begin(t, path, 1)
	w.Add(Event{At: morning, Kind: Text, Text: "\x1b[31mred\x07\nline\u009b" + strings.Repeat("ä", MaxText)})
	finish(t, w)
	events, _ := read(t, path, 0)
	if text := events[1].Text; !strings.HasPrefix(text, "red\nlineä") || len(text) > MaxText || !strings.HasSuffix(text, "ä…") {
		t.Errorf("got %d bytes: %q", len(text), text[:20])
	}
}

func TestFiguresAreKeptOnceASecondAndTheLastOnesAlways(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	w := begin(t, path, 1)
	for i := range 25 {
		w.Add(Event{At: morning.Add(time.Duration(i) * 100 * time.Millisecond), Kind: Usage, In: i})
	}
	w.Add(Event{At: morning.Add(2450 * time.Millisecond), Kind: End})
	finish(t, w)
	var in []int
	events, _ := read(t, path, 0)
	for _, e := range events {
		if e.Kind == Usage {
			in = append(in, e.In)
		}
	}
	if fmt.Sprint(in) != "[0 10 20 24]" || events[len(events)-1].Kind != End {
		t.Errorf("got %v in %s", in, said(events))
	}
}

func TestAProgramThatPrintsVeryManyLinesIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	w := begin(t, path, 1)
	for range 5000 {
		w.Add(Event{At: morning, Kind: Output, Text: "line"})
	}
	w.Add(Event{At: morning.Add(2 * time.Second), Kind: Output, Text: "later"})
	finish(t, w)
	events, _ := read(t, path, 0)
	if n := len(events); n != 1+maxLines+2 || events[n-2].Text != "[… 4800 more lines are in the output log]" || events[n-1].Text != "later" {
		t.Errorf("got %d events, the last ones are %s", n, said(events[max(0, n-2):]))
	}
}

// fill writes texts until the file has been put away n times.
func fill(t *testing.T, w *Writer, n int) {
	t.Helper()
	text := strings.Repeat("x", MaxText)
	for i := 0; n > 0; i++ {
		before := w.base
		w.Add(Event{At: morning, Kind: Text, Text: fmt.Sprint(i, text)})
		if w.base != before {
			n--
		}
	}
}

func TestFilesAreBoundedAndOffsetsHoldWhenTheyArePutAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	w := begin(t, path, 1)
	w.Add(Event{At: morning, Kind: Text, Text: "first"})
	_, next := read(t, path, 0)
	fill(t, w, 1)
	all, after := read(t, path, next)
	if all[0].Kind != Text || !strings.HasPrefix(all[0].Text, "0xxx") {
		t.Errorf("after the first text comes %s", said(all[:1])[:20])
	}
	for i, e := range all {
		if !strings.HasPrefix(e.Text, fmt.Sprint(i, "x")) {
			t.Fatalf("text %d is %s", i, e.Text[:10])
		}
	}
	w.Add(Event{At: morning, Kind: Text, Text: "new"})
	if events, _ := read(t, path, after); said(events) != "text new" {
		t.Errorf("got %s", said(events))
	}
	fill(t, w, 3)
	finish(t, w)
	for _, p := range []string{path, path + ".1"} {
		if info, err := os.Stat(p); err != nil || info.Size() > maxFile+2*maxLine {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
	if events, _ := read(t, path, 0); said(events[:1]) != "run 1" {
		t.Errorf("what is kept begins with %s", said(events[:1])[:20])
	}
	w = begin(t, path, 2)
	w.Add(Event{At: morning, Kind: Text, Text: "of the second run"})
	finish(t, w)
	at, ok := Newest(path)
	if events, _ := read(t, path, at); !ok || said(events) != "run 2 | text of the second run" {
		t.Errorf("the newest run is %s", said(events))
	}
}

func TestTheNewestRunIsFoundInWhatWasPutAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	finish(t, begin(t, path, 1))
	w := begin(t, path, 2)
	w.Add(Event{At: morning, Kind: Text, Text: `it says "kind":"run"`})
	fill(t, w, 1)
	at, ok := Newest(path)
	if events, _ := read(t, path, at); !ok || !strings.HasPrefix(said(events), `run 2 | text it says "kind":"run" | text 0x`) {
		t.Errorf("the newest run begins at %d with %.60s", at, said(events))
	}
	fill(t, w, 1)
	finish(t, w)
	at, ok = Newest(path)
	if events, _ := read(t, path, at); !ok || said(events[:1]) != "run 2" {
		t.Errorf("the newest run begins at %d with %.60s", at, said(events))
	}
}

func TestNowIsTheEndOfTheNewestRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	if now, err := new(Tail).Look(path); err != nil || now.Run.Kind != "" {
		t.Errorf("without a file: %+v, %v", now, err)
	}
	cents := 12.5
	w := begin(t, path, 1)
	finish(t, w)
	w = begin(t, path, 2)
	fill(t, w, 1)
	var tail Tail
	look := func(last Kind, in int, ended bool) {
		t.Helper()
		for name, of := range map[string]func(string) (Now, error){"whole": new(Tail).Look, "followed": tail.Look} {
			if now, err := of(path); err != nil || now.Run.Number != 2 || now.Last.Kind != last || now.In != in || now.Ended != ended {
				t.Errorf("%s: %+v, %v", name, now, err)
			}
		}
	}
	look(Text, 0, false)
	w.Add(Event{At: morning.Add(time.Second), Kind: Usage, In: 7, Cents: &cents})
	w.Add(Event{At: morning.Add(time.Second), Kind: Tool, Tool: "bash"})
	look(Tool, 7, false)
	fill(t, w, 1)
	if now, err := tail.Look(path); err != nil || now.Last.Kind != Text || now.In != 7 || now.Cents == nil {
		t.Errorf("after the file was put away: %+v, %v", now, err)
	}
	w.Add(Event{At: morning.Add(2 * time.Second), Kind: Usage, In: 9})
	w.Add(Event{At: morning.Add(3 * time.Second), Kind: End})
	finish(t, w)
	look(Text, 9, true)
	w = begin(t, path, 3)
	finish(t, w)
	if now, err := tail.Look(path); err != nil || now.Run.Number != 3 || now.Last.Kind != "" || now.In != 0 || now.Ended {
		t.Errorf("of the next run: %+v, %v", now, err)
	}
}

func TestAFollowerSeesEverythingOnceWhileFilesArePutAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "task-1.events")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text := strings.Repeat("x", 3000)
	const many = 1500 // two files of the largest size
	seen := make(chan int, many)
	go func() {
		w, err := Open(path, Event{At: morning, Number: 1}, masked)
		if err != nil {
			cancel()
			return
		}
		defer w.Close()
		for i := range many {
			w.Add(Event{At: morning, Kind: Text, Text: text, Number: i + 1})
			if i >= 300 {
				select { // not so far ahead that something has gone before it was seen
				case <-seen:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	next := 0
	for e := range Follow(ctx, path, 0) {
		if e.Kind == Run {
			continue
		}
		if next++; e.Number != next {
			t.Fatalf("event %d comes as number %d", e.Number, next)
		}
		if seen <- next; next == many {
			break
		}
	}
	if next != many {
		t.Errorf("%d of %d events were seen", next, many)
	}
}

func TestAFollowerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for e := range Follow(ctx, filepath.Join(t.TempDir(), "none.events"), 0) {
		t.Errorf("got %+v", e)
	}
}
