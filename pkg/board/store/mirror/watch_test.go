package mirror

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// headLine is the first line of a host's copy.
func headLine(h *host) string {
	line, _, _ := strings.Cut(h.read("state.yaml"), "\n")
	return line
}

func TestWhileSomebodyWatchesTheCopyFollowsTheBoard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		here, there := joined(t, b), joined(t, b)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		here.Watch(ctx)
		time.Sleep(stale + pace)
		synctest.Wait()
		there.describe("task-1", "told of it")
		here.board.tell()
		time.Sleep(stale)
		synctest.Wait()
		here.isCopy()
		there.describe("task-1", "not told of it")
		time.Sleep(stale + pace)
		synctest.Wait()
		here.isCopy()

		stop()
		synctest.Wait()
		there.describe("task-1", "nobody watches")
		time.Sleep(time.Hour)
		synctest.Wait()
		if strings.Contains(here.read("state.yaml"), "nobody watches") {
			t.Error("the copy follows although nobody watches")
		}
	})
}

// The copy of a host without connection says so after little more than a second, with the time at which it was the board
// last, and no longer once it is the board again.
func TestACopyThatMayBeOldSaysSinceWhen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		here, there := joined(t, b), joined(t, b)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		here.Watch(ctx)
		for range 2 {
			time.Sleep(time.Minute)
			synctest.Wait()
			b.connect(false)
			before := time.Now()
			time.Sleep(2*stale + pace)
			synctest.Wait()
			since, ok := strings.CutPrefix(headLine(here), "#| NO CONNECTION to the database since ")
			since, _, _ = strings.Cut(since, ". ")
			at, err := time.Parse(time.RFC3339, since)
			if !ok || err != nil || at.After(before) || before.Sub(at) > 2*stale+pace {
				t.Fatalf("at %s the connection was lost, and the copy says %q", before.UTC().Format(time.RFC3339), headLine(here))
			}
			if _, lost := here.Copied(); lost.UTC().Truncate(time.Second) != at {
				t.Errorf("the record says %s and the copy %s", lost, at)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if !strings.Contains(headLine(here), since) {
				t.Errorf("after an hour the copy says %q, and before %s", headLine(here), since)
			}
			b.connect(true)
			there.describe("task-1", "meanwhile")
			time.Sleep(stale + pace)
			synctest.Wait()
			if strings.Contains(here.read("state.yaml"), "NO CONNECTION") {
				t.Errorf("the connection is back, and the copy says %q", headLine(here))
			}
			here.isCopy()
		}
	})
}

// An edit that was made without connection is one of the revision that the copy had, under whatever head.
func TestAnEditWithoutConnectionWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(t)
		here, there := joined(t, b), joined(t, b)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		here.Watch(ctx)
		b.connect(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		here.edits("description: One", "description: By hand")
		mine := here.read("state.yaml")
		if _, err := here.View(t.Context()); err == nil {
			t.Error("a copy was taken for the board")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if here.read("state.yaml") != mine {
			t.Error("the edit was replaced")
		}
		b.connect(true)
		there.describe("task-2", "meanwhile")
		s := here.look()
		if one, two := s.Task("task-1").Description, s.Task("task-2").Description; one != "By hand" || two != "meanwhile" {
			t.Errorf("the board has %q and %q", one, two)
		}
		here.Close()
		if strings.Contains(here.read("state.yaml"), "NO CONNECTION") {
			t.Errorf("the copy says %q", headLine(here))
		}
		here.isCopy()
	})
}

// Who only looks gets the copy when the board does not answer.
func TestWhoOnlyLooksSeesTheCopyWithoutConnection(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	here, there := joined(t, b), joined(t, b)
	b.connect(false)
	s, err := here.LastValid(t.Context())
	if err != nil || s.Revision != 1 || s.Task("task-1").Description != "One" {
		t.Errorf("it is %v: %v", s, err)
	}
	b.connect(true)
	there.describe("task-1", "newer")
	if s, err := here.LastValid(t.Context()); err != nil || s.Revision != 2 {
		t.Errorf("it is %v: %v", s, err)
	}
}
