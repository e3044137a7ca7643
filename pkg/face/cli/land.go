package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/verb/landing"
	"liza/pkg/verb/verb"
)

func newLand(env *Env) *urfave.Command {
	var watch bool
	return &urfave.Command{
		Name: "land", Category: "steer", Usage: "bring merged work onto a forge, as pull or merge requests", ArgsUsage: "[TASK]",
		Description: "Pushes what is merged into the integration branch, opens one request for the goal or for each task (land.per), and looks at those that are open: red\n" +
			"checks, with the end of their log, and what people ask for in reviews become tasks for the coder whose work it is; a request whose checks have passed is\n" +
			"merged, if land.merge says so. Interrupted, it goes on where it was. The settings are those of the section land." +
			examples("liza land", "liza land task-3", "liza land --watch") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{flag("watch", "look again until nothing is to come from the forge by itself", &watch)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			l, err := env.forges().lander(ctx, d)
			if err != nil {
				return err
			}
			for {
				landed, err := l.Round(ctx, id, true)
				if err != nil {
					return forgeTrouble(err)
				}
				if !watch || len(landed.Made) > 0 || !landed.Waiting(d.Board.Config().Land) {
					told, err := env.forges().returner(d).Round(ctx)
					if err != nil {
						told = append(told, err.Error())
					}
					landed.Problems = append(landed.Problems, told...)
					return env.Print(landed, "%s", landedText(landed))
				}
				if err := pause(ctx, landPoll); err != nil {
					return err
				}
			}
		}),
	}
}

func landedText(l landing.Landed) string {
	var t strings.Builder
	for _, r := range l.Requests {
		fmt.Fprintln(&t, r.Text())
	}
	for _, p := range l.Problems {
		fmt.Fprintf(&t, "! %s\n", p)
	}
	if len(l.Requests) == 0 {
		fmt.Fprintln(&t, "nothing to land: no work is merged that the base branch lacks")
	}
	if len(l.Made) > 0 {
		fmt.Fprintf(&t, "made: %s\nnext: liza run\n", strings.Join(l.Made, ", "))
	}
	return t.String()
}

// teamLanding lands beside and after a team.
type teamLanding struct {
	lander *landing.Lander
	screen *screen
	now    func() time.Time
	said   map[string]bool
}

// landing is nil when nothing lands by itself.
func (c *factory) landing(ctx context.Context) (*teamLanding, error) {
	if cfg := c.service.Board.Config().Land; cfg.Forge == "none" || !cfg.Auto {
		return nil, nil
	}
	l, err := c.env.forges().lander(ctx, c.service)
	if err != nil {
		return nil, err
	}
	return &teamLanding{lander: l, screen: c.screen, now: c.env.System.Now, said: map[string]bool{}}, nil
}

// begin follows the base branch before the team starts.
func (l *teamLanding) begin(ctx context.Context) {
	if l.lander.Service.Board.Config().Land.Sync == "off" {
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
			_, _ = l.round(ctx, l.lander.Service.Board.Config().Land.Per == "task")
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
	was := l.goal(ctx)
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
		case !landed.Waiting(l.lander.Service.Board.Config().Land):
			return false, inConflict(landed)
		default:
			failures = 0
		}
		if pause(ctx, landPoll) != nil {
			return false, nil
		}
		if now := l.goal(ctx); now != "" && now != was {
			return true, nil // a clock, or a person, began the next one
		}
	}
}

// goal is the id of the goal that is in progress, "" without one.
func (l *teamLanding) goal(ctx context.Context) string {
	if s, err := l.lander.Service.Board.View(ctx); err == nil && s.Goal != nil && s.Goal.Status == blackboard.InProgress {
		return s.Goal.ID
	}
	return ""
}

// inConflict is how a run ends whose work cannot land as it is.
func inConflict(l landing.Landed) error {
	if l.Conflict == nil {
		return nil
	}
	return transition.Refuse(transition.ExitFailure, cmp.Or(l.Conflict.Next, "liza status"), "the work has not landed: %s", l.Conflict.Request.Text())
}

// returnBeside tells trackers what has landed while a team works, and what it returns does so for the last time.
func (c *factory) returnBeside(ctx context.Context) func() {
	r := c.env.forges().returner(c.service)
	said := map[string]bool{}
	round := func(ctx context.Context) {
		told, err := r.Round(ctx)
		if err != nil && ctx.Err() == nil {
			told = append(told, strings.Split(err.Error(), "\n")...)
		}
		for _, line := range told {
			if !said[line] {
				said[line] = true
				c.screen.say(c.env.System.Now(), false, "%s", line)
			}
		}
	}
	loop, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for pause(loop, landPoll) == nil {
			round(loop)
		}
	}()
	return func() {
		cancel()
		<-ended
		if ctx.Err() == nil {
			round(ctx)
		}
	}
}

// landPoll is how often a forge is asked what is new.
const landPoll = 15 * time.Second

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forgeTrouble adds what helps to an error of a forge.
func forgeTrouble(err error) error {
	if _, ok := errors.AsType[*transition.Refusal](err); ok {
		return err
	}
	next := "liza land, to go on"
	if s, ok := errors.AsType[*forge.StatusError](err); ok && (s.Status == 401 || s.Status == 403 || s.Status == 404) {
		next = "check the token of the forge and land.repo, then liza land"
	}
	return &transition.Refusal{Exit: transition.ExitFailure, Next: next, Message: err.Error()}
}
