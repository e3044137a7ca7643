package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/verbs"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/importer"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// A clock carries out the schedules of a board while a process goes on.
type clock struct {
	env     *Env
	service *verb.Service
	say     func(warning bool, text string)
}

func (c *factory) clock() *clock {
	return &clock{c.env, c.service, func(warning bool, text string) { c.screen.say(c.env.System.Now(), warning, "%s", text) }}
}

// clockLook is how often schedules are looked at while nothing changes on the board.
const clockLook = 5 * time.Second

// beside looks at the schedules until ctx ends, or until the function that it returns, which waits for the end.
func (c *clock) beside(ctx context.Context) (done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		changes := c.service.Board.Store.Watch(ctx)
		for {
			for c.round(ctx) {
			}
			if !changed(ctx, changes, clockLook) {
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// changed waits for a change of the board, or for so long; false: ctx has ended.
func changed(ctx context.Context, changes <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changes:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// round carries out one schedule, and reports whether there may be another one.
func (c *clock) round(ctx context.Context) bool {
	start, _ := agent.ProcessStart(os.Getpid())
	text, err := sprint.CarryOut(ctx, c.service, blackboard.Turn{PID: os.Getpid(), PIDStart: start}, c.outside)
	if text != "" {
		c.say(err != nil, text)
	}
	return text != "" && ctx.Err() == nil
}

// outside is a sprint.Outside.
func (c *clock) outside(ctx context.Context, x blackboard.Schedule) (said string, with func(*blackboard.State, transition.Actor) error, err error) {
	o := &importOptions{env: c.env, labels: x.Labels, at: func(name string) string { return fileAt(c.service, name) }}
	switch x.Do {
	case blackboard.ScheduleGoal:
		if err = o.gather(ctx, c.service, x.Args[1:]); err == nil && o.items[0].Closed {
			err = errors.New("the issue is closed")
		}
		return "", importer.Change(c.service, o.items, o.in, new(importer.Imported)), err
	case blackboard.ScheduleSync:
		v := verbs.Find("sync")
		in, err := v.Parse(nil, nil)
		if err != nil {
			return "", nil, err
		}
		result, err := v.Run(ctx, c.service, in)
		return headline(v.Say(in, result).Body), nil, err
	case blackboard.ScheduleLand:
		said, err = c.land(ctx)
	default:
		said, err = c.imports(ctx, o, x.Args)
	}
	return said, nil, err
}

// land looks at the forge, when nobody else does.
func (c *clock) land(ctx context.Context) (string, error) {
	l, err := c.env.forges().lander(ctx, c.service)
	if err != nil {
		return "", err
	}
	for {
		landed, err := l.Round(ctx, "", false)
		if held := new(safefile.HeldError); errors.As(err, &held) && pause(ctx, time.Second) == nil {
			continue
		}
		return headline(landedText(landed)), err
	}
}

func (c *clock) imports(ctx context.Context, o *importOptions, args []string) (string, error) {
	out, err := o.bring(ctx, c.service, args)
	told := ""
	if len(out.Told) > 0 {
		told = "; " + prose.OneLine(strings.Join(out.Told, "; "), 200)
	}
	return fmt.Sprintf("%d made, %d changed, %d as they were%s", len(out.Made), len(out.Changed), out.Same, told), err
}

// keepGoing runs the team, with --keep again for each goal that a clock or a person begins, until it is interrupted.
func (o *runOptions) keepGoing(ctx, soft, hard context.Context, c *factory, l *teamLanding, over bool, given func(string) bool) error {
	if !o.keep {
		return o.withLanding(ctx, soft, hard, c, l, over, given)
	}
	defer c.clock().beside(soft)()
	for {
		var failed error
		if s, err := c.service.Board.View(ctx); err == nil && (over && l != nil || s.Goal != nil && s.Goal.Status == blackboard.InProgress) {
			if failed = o.withLanding(ctx, soft, hard, c, l, over, given); soft.Err() != nil || errors.Is(failed, supervisor.ErrAborted) {
				return failed
			}
			over = false
		}
		if !c.awaitGoal(soft, failed) {
			return nil
		}
	}
}

// afterFailure is how long a team that ended with an error rests at least.
const afterFailure = 30 * time.Second

// awaitGoal waits until there is a goal to work on. After a team that ended with an error it also waits for a change of the board:
// an answer, for example. It reports false when ctx ends first.
func (c *factory) awaitGoal(ctx context.Context, failed error) bool {
	changes := c.service.Board.Store.Watch(ctx)
	began, rev, said := c.env.System.Now(), -1, ""
	for {
		s, err := c.service.Board.View(ctx)
		if err == nil && rev < 0 {
			rev = s.Revision
		}
		switch {
		case err != nil || s.Goal == nil:
		case s.Goal.Status == blackboard.InProgress && c.service.Board.ControlOn(s) == "" &&
			(failed == nil || s.Revision != rev && c.env.System.Now().Sub(began) >= afterFailure):
			return true
		default:
			text := fmt.Sprintf("%s is %s; %s", s.Goal.ID, s.Goal.Status, nextScheduled(s, c.service.Board.ControlOn(s), c.service.Board.Now()))
			if failed != nil {
				text = "the team ended: " + headline(failed.Error()) + "; it begins again when the board changes"
			}
			if text != said {
				c.screen.say(c.env.System.Now(), failed != nil, "%s", text)
				said = text
			}
		}
		if !changed(ctx, changes, clockLook) {
			return false
		}
	}
}

// nextScheduled says what comes next by itself.
func nextScheduled(s *blackboard.State, control string, now time.Time) string {
	all := slices.DeleteFunc(slices.Clone(s.Schedules), func(x *blackboard.Schedule) bool { _, ok := x.Next.At(); return !ok })
	if len(all) == 0 {
		return "nothing is scheduled; next: liza goal TEXT"
	}
	first := slices.MinFunc(all, func(a, b *blackboard.Schedule) int { return strings.Compare(string(a.Next), string(b.Next)) })
	return transition.ScheduleText(s, first, control, now)
}
