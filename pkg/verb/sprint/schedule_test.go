package sprint_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

// P-190
func TestOneOfManyProcessesCarriesAScheduleOut(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := verbtest.New(t)
	d := p.Service("")
	for _, in := range []sprint.ScheduleInput{{Cron: "0 3 * * *", Do: "import", Args: []string{"todo.md"}, Zone: "UTC"}, {Cron: "0 4 * * *", Do: "sync", Zone: "UTC"}} {
		if _, err := sprint.Schedule(ctx, d, in); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	count, texts := map[string]int{}, []string{}
	outside := func(_ context.Context, x blackboard.Schedule) (string, func(*blackboard.State, transition.Actor) error, error) {
		mu.Lock()
		defer mu.Unlock()
		if count[x.ID]++; x.Do == blackboard.ScheduleSync {
			return "", nil, errors.New("no base branch")
		}
		return "1 made", nil, nil
	}
	var all sync.WaitGroup
	var failed atomic.Int32
	for range 8 {
		d := p.Service("")
		d.Board.Now = func() time.Time { return time.Now().Add(100 * time.Hour) }
		all.Go(func() {
			for text := "first"; text != ""; {
				var err error
				if text, err = sprint.CarryOut(ctx, d, blackboard.Turn{PID: os.Getpid()}, outside); err != nil {
					failed.Add(1)
				}
				mu.Lock()
				texts = append(texts, text)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if count["sched-1"] != 1 || count["sched-2"] != 1 || failed.Load() != 1 {
		t.Errorf("carried out %v, %d failed: %q", count, failed.Load(), texts)
	}
	s := p.State()
	if a, b := s.Schedule("sched-1"), s.Schedule("sched-2"); a.Failed || a.Result != "1 made" || a.Turn != nil || !b.Failed || b.Result != "no base branch" {
		t.Errorf("the board has %+v and %+v", a, b)
	}
}

func TestAGoalOfAScheduleBeginsOnceAmongMany(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := verbtest.New(t)
	d := p.Service("")
	if _, err := sprint.Schedule(ctx, d, sprint.ScheduleInput{Cron: "0 3 * * *", Do: "goal", Args: []string{"More"}, Zone: "UTC"}); err != nil {
		t.Fatal(err)
	}
	later := func() time.Time { return time.Now().Add(100 * time.Hour) }
	d.Board.Now = later
	turn := blackboard.Turn{PID: os.Getpid()}
	if text, err := sprint.CarryOut(ctx, d, turn, nil); text != "" || err != nil {
		t.Fatalf("while a goal is open: %q, %v", text, err)
	}
	if _, err := sprint.Abort(ctx, d, "enough", true); err != nil {
		t.Fatal(err)
	}
	if text, err := sprint.CarryOut(ctx, d, turn, nil); text != "" || err != nil {
		t.Fatalf("while the team is stopped: %q, %v", text, err)
	}
	if err := d.Board.Project.Controls().Clear("ABORT"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var begun atomic.Int32
	for range 8 {
		d := p.Service("")
		d.Board.Now = later
		all.Go(func() {
			text, err := sprint.CarryOut(ctx, d, blackboard.Turn{PID: os.Getpid()}, nil)
			if err != nil {
				t.Error(err)
			}
			if strings.HasSuffix(text, " begins") {
				begun.Add(1)
			}
		})
	}
	all.Wait()
	goals, err := sprint.Goals(ctx, d)
	if err != nil || begun.Load() != 1 || len(goals) != 2 || goals[1].Description != "More" {
		t.Errorf("%d begun; goals %+v, %v", begun.Load(), goals, err)
	}
}
