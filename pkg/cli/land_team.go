package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"liza/pkg/landing"
	"liza/pkg/safefile"
	"liza/pkg/transition"
)

// teamLanding lands beside and after a team.
type teamLanding struct {
	lander *landing.Lander
	screen *screen
	now    func() time.Time
	said   map[string]bool
}

// landing is nil when nothing lands by itself.
func (c *factory) landing(ctx context.Context) (*teamLanding, error) {
	if cfg := c.service.Config().Land; cfg.Forge == "none" || !cfg.Auto {
		return nil, nil
	}
	l, err := c.env.lander(ctx, c.service)
	if err != nil {
		return nil, err
	}
	return &teamLanding{lander: l, screen: c.screen, now: c.env.Now, said: map[string]bool{}}, nil
}

// begin follows the base branch before the team starts.
func (l *teamLanding) begin(ctx context.Context) {
	if l.lander.Config().Land.Sync == "off" {
		return
	}
	made, err := l.lander.Follow(ctx)
	if err != nil {
		l.say(true, "cannot follow the base branch: "+err.Error())
	} else if made != "" {
		l.say(true, made+" was made: the base branch has moved on and cannot be merged as it is")
	}
}

// beside looks at the forge while a team works. What it returns ends that, and waits for the end.
func (l *teamLanding) beside(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause(ctx, landPoll) == nil {
			_, _ = l.round(ctx, l.lander.Config().Land.Per == "task")
		}
	}()
	return func() { cancel(); <-ended }
}

// round is one round, and says what it found that was not said before.
func (l *teamLanding) round(ctx context.Context, open bool) (landing.Landed, error) {
	landed, err := l.lander.Round(ctx, "", open)
	if held := new(safefile.HeldError); errors.As(err, &held) || ctx.Err() != nil {
		return landed, nil // somebody else is landing
	}
	if err != nil {
		l.say(true, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	for _, r := range landed.Requests {
		l.say(false, r.Text())
	}
	for _, p := range landed.Problems {
		l.say(true, p)
	}
	for _, id := range landed.Made {
		l.say(false, "made "+id)
	}
	return landed, err
}

func (l *teamLanding) say(warning bool, text string) {
	if !l.said[text] {
		l.said[text] = true
		l.screen.say(l.now(), warning, "%s", text)
	}
}

// finish lands what a team has done, and waits for what the forge has to say. It reports whether that gave the team new work.
func (l *teamLanding) finish(ctx context.Context) (again bool, err error) {
	for failures := 0; ; {
		landed, err := l.round(ctx, true)
		switch {
		case len(landed.Made) > 0:
			return true, nil
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			if failures++; failures == 5 {
				return false, forgeTrouble(err)
			}
		case !landed.Waiting(l.lander.Config().Land):
			return false, inConflict(landed)
		default:
			failures = 0
		}
		if pause(ctx, landPoll) != nil {
			return false, nil
		}
	}
}

// inConflict is how a run ends whose work cannot land as it is.
func inConflict(l landing.Landed) error {
	q := l.Conflict()
	if q == nil {
		return nil
	}
	text, next, _ := strings.Cut(q.Text(), "; next: ")
	return &transition.Refusal{Exit: transition.ExitFailure, Next: cmp.Or(next, "liza status"), Message: "the work has not landed: " + text}
}

// returnBeside tells trackers what has landed while a team works, and what it returns does so for the last time. Files are ticked at the end
// alone: a change of the checkout while programs run would be taken for theirs.
func (c *factory) returnBeside(ctx context.Context) func() {
	r := c.env.returner(c.service)
	said := map[string]bool{}
	round := func(ctx context.Context, files bool) {
		told, err := r.Round(ctx, files)
		if err != nil && ctx.Err() == nil {
			told = append(told, strings.Split(err.Error(), "\n")...)
		}
		for _, line := range told {
			if !said[line] {
				said[line] = true
				c.screen.say(c.env.Now(), false, "%s", line)
			}
		}
	}
	loop, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause(loop, landPoll) == nil {
			round(loop, false)
		}
	}()
	return func() {
		cancel()
		<-ended
		if ctx.Err() == nil {
			round(ctx, true)
		}
	}
}
