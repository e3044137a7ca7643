package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/team/assembly"
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
			l, err := env.lander(ctx, d)
			if err != nil {
				return err
			}
			for {
				landed, err := l.Round(ctx, id, true)
				if err != nil {
					return forgeTrouble(err)
				}
				if !watch || len(landed.Made) > 0 || !landed.Waiting(d.Board.Config().Land) {
					told, err := env.returner(d).Round(ctx, true)
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
	l, err := c.env.lander(ctx, c.service)
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
				c.screen.say(c.env.System.Now(), false, "%s", line)
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

// lander is what lands with the settings of the project and the person's token.
func (e *Env) lander(ctx context.Context, d *verb.Service) (*landing.Lander, error) {
	cfg := d.Board.Config().Land
	o, err := e.forgeOptions(ctx, d, cfg, "land")
	if err != nil {
		return nil, err
	}
	client, err := forge.New(o)
	if err != nil {
		return nil, &transition.Refusal{Exit: transition.ExitUsage, Next: "liza config show land", Message: err.Error()}
	}
	return &landing.Lander{Service: d, Forge: client, Pause: pause}, nil
}

// forgeOptions say which forge is meant, and bring the token along. The section has the settings that helped if they are wanting.
func (e *Env) forgeOptions(ctx context.Context, d *verb.Service, cfg config.Land, section string) (forge.Options, error) {
	refused := func(next, format string, args ...any) (forge.Options, error) {
		return forge.Options{}, &transition.Refusal{Exit: transition.ExitRefused, Next: next, Message: fmt.Sprintf(format, args...)}
	}
	if cfg.Forge == "none" {
		return refused("liza config set land.forge github|gitlab|gitea", "no forge is configured: land.forge is none")
	}
	host := cfg.URL
	if host == "" {
		host = map[string]string{forge.GitHub: "https://github.com", forge.GitLab: "https://gitlab.com"}[cfg.Forge]
	}
	o := forge.Options{Kind: cfg.Forge, API: cfg.API, Repo: cfg.Repo, Now: e.System.Now, Wait: pause}
	if o.API == "" && host == "" {
		return refused("liza config set "+section+".url https://HOST", "the address of the forge is not known: %s.url is empty", section)
	}
	o.API = cmp.Or(o.API, forge.API(cfg.Forge, host))
	if o.Repo == "" {
		remote, err := d.Board.Repo.RemoteURL(ctx, cfg.Remote)
		if err != nil {
			return o, err
		}
		at, repo, _, err := forge.Locate(remote)
		if err != nil || !sameHost(at, host) {
			return refused("liza config set "+section+".repo OWNER/NAME", "the remote %s is not on %s, so the repository on the forge is not known", cfg.Remote, cmp.Or(host, o.API))
		}
		o.Repo = repo
	}
	err := e.giveToken(ctx, &o, host)
	return o, err
}

// giveToken puts the person's token into the options.
func (e *Env) giveToken(ctx context.Context, o *forge.Options, host string) error {
	if o.Token = e.forgeToken(ctx, o.Kind, host); o.Token == "" {
		names := forge.TokenVariables(o.Kind)
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "export " + names[0] + "=…", Message: fmt.Sprintf("no token for %s: set %s", o.API, strings.Join(names, " or "))}
	}
	return nil
}

func sameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && strings.EqualFold(x.Hostname(), y.Hostname())
}

// forgeToken is the person's token: from the environment, else from the forge's own command line. From then on it is masked.
func (e *Env) forgeToken(ctx context.Context, kind, host string) string {
	if e.forgeTokens[kind] == "" {
		token := ""
		for _, name := range slices.Backward(forge.TokenVariables(kind)) {
			token = cmp.Or(e.System.Get(name), token)
		}
		if argv := forge.TokenCommand(kind, host); token == "" && argv != nil {
			if path, err := exec.LookPath(argv[0]); err == nil {
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				var out bytes.Buffer
				cmd := exec.CommandContext(ctx, path, argv[1:]...)
				cmd.Stdout, cmd.WaitDelay = &out, time.Second
				if cmd.Run() == nil {
					token = strings.TrimSpace(out.String())
				}
			}
		}
		if e.forgeTokens == nil {
			e.forgeTokens = map[string]string{}
		}
		e.forgeTokens[kind] = token
		e.System.Secrets().Add("forge_token", token)
	}
	return e.forgeTokens[kind]
}

// hideTokens takes the tokens of forges and trackers, and the password of the board's database, out of the environment, which agents,
// checks and hooks inherit: they are the supervisor's alone. Without a forge, imported issues and such a board they are the person's, as before.
func (e *Env) hideTokens(ctx context.Context, d *verb.Service) {
	if assembly.IsShared(d.Board.Store) {
		e.System.Secrets() // which masks those of the environment
		e.System.Password = cmp.Or(e.System.Get(assembly.PasswordVariable), e.System.Password)
		for _, name := range []string{assembly.PasswordVariable, "PGSSLPASSWORD"} {
			e.unset(name)
		}
	}
	if d.Board.Config().Land.Forge == "none" && !importsIssues(ctx, d) {
		return
	}
	e.System.Secrets() // which masks those of the environment
	for _, kind := range forge.TrackerKinds {
		if slices.ContainsFunc(forge.TokenVariables(kind), func(name string) bool { return e.System.Get(name) != "" }) {
			e.forgeToken(ctx, kind, "")
		}
		for _, name := range append(forge.TokenVariables(kind), "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN") {
			e.unset(name)
		}
	}
}

// unset takes a variable from this process and from all that it starts.
func (e *Env) unset(name string) {
	_ = os.Unsetenv(name)
	e.System.Environ = slices.DeleteFunc(slices.Clone(e.System.Environ), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

// importsIssues reports whether something on the board came from a tracker.
func importsIssues(ctx context.Context, d *verb.Service) bool {
	s, err := d.Board.View(ctx)
	return err == nil && slices.ContainsFunc(s.Imports, func(i *blackboard.Import) bool {
		kind := ""
		if i != nil {
			kind, _, _ = i.Place()
		}
		return kind != ""
	})
}
