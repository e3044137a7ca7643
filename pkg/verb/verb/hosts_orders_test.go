package verb_test

import (
	"context"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// orders are the ways in which a person stops a team, with the word that says so.
var orders = map[string]struct {
	give func(context.Context, *verb.Service) (sprint.Sprint, error)
	word string
}{
	"pause": {func(ctx context.Context, d *verb.Service) (sprint.Sprint, error) {
		return sprint.Pause(ctx, d, "lunch")
	}, "paused since"},
	"checkpoint": {func(ctx context.Context, d *verb.Service) (sprint.Sprint, error) {
		return sprint.Checkpoint(ctx, d, "half time")
	}, "at a checkpoint since"},
	"abort": {func(ctx context.Context, d *verb.Service) (sprint.Sprint, error) {
		return sprint.Abort(ctx, d, "wrong spec", false)
	}, "aborted since"},
	"limit": {func(ctx context.Context, d *verb.Service) (sprint.Sprint, error) {
		return sprint.SystemCheckpoint(ctx, d, "", "limits.day_cost_cents")
	}, "at a checkpoint since"},
}

// follows has the supervisors of a host look at what people ordered.
func follows(t *testing.T, hosts ...*verbtest.Place) {
	t.Helper()
	for range 2 {
		for _, p := range hosts {
			if err := sprint.FollowControl(t.Context(), p.Service("coder-1")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhatStopsATeamStopsItOnAllHostsUntilItIsResumed(t *testing.T) {
	t.Parallel()
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two, _ := verbtest.TwoHosts(t)
			ctx := t.Context()
			one.Must(order.give(ctx, one.Service("")))
			follows(t, two, one)
			for _, p := range []*verbtest.Place{one, two} {
				if why := p.Service("").Board.Control(); !strings.HasPrefix(why, order.word) {
					t.Errorf("on host %s it is %q", p.Host, why)
				}
				if _, err := p.Service("coder-1").Claim(ctx, "task-1"); err == nil || !strings.Contains(err.Error(), order.word) {
					t.Errorf("on host %s the claim gives %v", p.Host, err)
				}
				if files := p.Project.Controls().Orders(); len(files) > 0 {
					t.Errorf("host %s has %v, which nobody on another host can take away", p.Host, files)
				}
			}
			if name == "pause" {
				if _, err := order.give(ctx, two.Service("")); err == nil || !strings.Contains(err.Error(), "already paused since") {
					t.Errorf("a second pause: %v", err)
				}
			}
			one.Must(sprint.Resume(ctx, two.Service(""), "", ""))
			follows(t, one, two)
			for _, p := range []*verbtest.Place{one, two} {
				if why := p.Service("").Board.Control(); why != "" {
					t.Errorf("after it was resumed host %s says %q", p.Host, why)
				}
			}
			if sp := one.State().Sprint; sp.Status != blackboard.InProgress || sp.Paused != nil {
				t.Errorf("the sprint is %+v", sp)
			}
			one.Must(one.Service("coder-1").Claim(ctx, "task-1"))
			if _, err := sprint.Resume(ctx, two.Service(""), "", ""); err == nil {
				t.Error("there was something left to resume")
			}
		})
	}
}

// A person may stop one host with a file. The others go on, and the sprint as well.
func TestAControlFileMadeByHandStopsItsHostOnly(t *testing.T) {
	t.Parallel()
	for _, file := range []project.Control{project.Pause, project.Checkpoint, project.Abort} {
		t.Run(string(file), func(t *testing.T) {
			t.Parallel()
			one, two, _ := verbtest.TwoHosts(t)
			ctx := t.Context()
			if err := one.Project.Controls().Set(file, "maintenance", one.Service("").Board.Now()); err != nil {
				t.Fatal(err)
			}
			follows(t, one, two)
			if _, err := one.Service("coder-1").Claim(ctx, "task-1"); err == nil {
				t.Error("it stops nothing on its host")
			}
			if why := two.Service("").Board.Control(); why != "" || one.State().Sprint.Status != blackboard.InProgress {
				t.Errorf("the other host says %q, the sprint is %s", why, one.State().Sprint.Status)
			}
			one.Must(two.Service("coder-1").Claim(ctx, "task-1"))
			one.Must(sprint.Resume(ctx, one.Service(""), "", ""))
			if why := one.Service("").Board.Control(); why != "" {
				t.Errorf("after it was resumed: %q", why)
			}
		})
	}
}

func TestAPauseGoesOnInTheNextSprintAndTheFileStoreHasNone(t *testing.T) {
	t.Parallel()
	alone := verbtest.New(t)
	alone.Must(sprint.Pause(t.Context(), alone.Service(""), "lunch"))
	if alone.State().Sprint.Paused != nil || len(alone.Project.Controls().Orders()) != 1 {
		t.Errorf("where the board is a file the pause is %+v and %v", alone.State().Sprint.Paused, alone.Project.Controls().Orders())
	}
	one, two, _ := verbtest.TwoHosts(t)
	one.Must(sprint.Abort(t.Context(), one.Service(""), "enough", false))
	err := one.Service("").Board.Update(t.Context(), "test", func(s *blackboard.State, a transition.Actor) error {
		return transition.PauseSprint(s, "lunch", a, one.Service("").Board.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	one.Must(sprint.Next(t.Context(), one.Service(""), nil))
	if why := two.Service("").Board.Control(); !strings.HasPrefix(why, "paused since") {
		t.Errorf("in the next sprint it is %q", why)
	}
}

// What runs of all hosts cost is on the board, so the limit of a day is one for all of them.
func TestTheLimitOfADayHoldsForAllHostsTogether(t *testing.T) {
	t.Parallel()
	one, two, _ := verbtest.TwoHosts(t)
	err := one.Store.Update(t.Context(), store.Op{Name: "test"}, func(s *blackboard.State) error {
		s.Config["day_cost_cents"] = 100
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cost := blackboard.Amount(60)
	for i, p := range []*verbtest.Place{one, two} {
		d := p.Service("")
		s, err := d.Board.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if reached := transition.SprintReached(s, transition.Spent{}, 0, d.Board.Now()); reached != nil {
			t.Fatalf("before run %d: %s", i+1, reached)
		}
		coder := p.Service([]string{"coder-1", "coder-2"}[i])
		err = coder.Board.Update(t.Context(), "run", func(s *blackboard.State, a transition.Actor) error {
			return transition.EndRun(s, a, transition.RunResult{Cost: &cost}, d.Board.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*verbtest.Place{one, two} {
		d := p.Service("")
		s, err := d.Board.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if o := transition.SprintReached(s, transition.Spent{}, 0, d.Board.Now()); o == nil || o.Key != "day_cost_cents" || o.Value != 120 {
			t.Errorf("host %s does not see that 120 of 100 cents of the day are used: %v", p.Host, o)
		}
	}
}
