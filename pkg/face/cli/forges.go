package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/code/forge"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/importer"
	"liza/pkg/verb/landing"
	"liza/pkg/verb/verb"
)

// forges reaches the forges and trackers of a project with the tokens of the person.
type forges struct {
	system *assembly.Environment
	tokens map[string]string // by kind of forge, once they were looked for
}

// forges returns the forges of this process; each token is looked for once.
func (e *Env) forges() *forges {
	if e.reached == nil {
		e.reached = &forges{system: &e.System, tokens: map[string]string{}}
	}
	return e.reached
}

// options says which forge is meant, with the token of the person. Refusals name the settings of section.
func (f *forges) options(ctx context.Context, d *verb.Service, cfg config.Land, section string) (forge.Options, error) {
	refused := func(next, format string, args ...any) (forge.Options, error) {
		return forge.Options{}, &transition.Refusal{Exit: transition.ExitRefused, Next: next, Message: fmt.Sprintf(format, args...)}
	}
	if cfg.Forge == "none" {
		return refused("liza config land.forge github|gitlab|gitea", "no forge is configured: land.forge is none")
	}
	host := cfg.URL
	if host == "" {
		host = map[string]string{forge.GitHub: "https://github.com", forge.GitLab: "https://gitlab.com"}[cfg.Forge]
	}
	o := forge.Options{Kind: cfg.Forge, API: cfg.API, Web: strings.TrimSuffix(host, "/"), Repo: cfg.Repo, Now: f.system.Now, Wait: pause}
	if o.API == "" && host == "" {
		return refused("liza config "+section+".url https://HOST", "the address of the forge is not known: %s.url is empty", section)
	}
	o.API = cmp.Or(o.API, forge.API(cfg.Forge, host))
	if o.Repo == "" {
		remote, err := d.Board.Repo.RemoteURL(ctx, cfg.Remote)
		if err != nil {
			return o, err
		}
		at, repo, _, err := forge.Locate(remote)
		if err != nil || !sameHost(at, host) {
			return refused("liza config "+section+".repo OWNER/NAME", "the remote %s is not on %s, so the repository on the forge is not known", cfg.Remote, cmp.Or(host, o.API))
		}
		o.Repo = repo
	}
	err := f.giveToken(ctx, &o, host)
	return o, err
}

// giveToken puts the person's token into the options.
func (f *forges) giveToken(ctx context.Context, o *forge.Options, host string) error {
	if o.Token = f.token(ctx, o.Kind, host); o.Token == "" {
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

// token returns the token of the person: from the environment, else from the command line of the forge. It is masked from then on.
func (f *forges) token(ctx context.Context, kind, host string) string {
	if f.tokens[kind] == "" {
		token := ""
		for _, name := range slices.Backward(forge.TokenVariables(kind)) {
			token = cmp.Or(f.system.Get(name), token)
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
		f.tokens[kind] = token
		f.system.Secrets().Add("forge_token", token)
	}
	return f.tokens[kind]
}

// hide takes the tokens of forges and trackers, and the password of the board's database, out of the environment, which agents,
// checks and hooks inherit: they are the supervisor's alone. Without a forge, imported issues and such a board they are the person's, as before.
func (f *forges) hide(ctx context.Context, d *verb.Service) {
	if assembly.IsShared(d.Board.Store) {
		f.system.Secrets() // which masks those of the environment
		f.system.Password = cmp.Or(f.system.Get(assembly.PasswordVariable), f.system.Password)
		for _, name := range []string{assembly.PasswordVariable, "PGSSLPASSWORD"} {
			f.unset(name)
		}
	}
	if d.Board.Config().Land.Forge == "none" && !importsIssues(ctx, d) {
		return
	}
	f.system.Secrets() // which masks those of the environment
	for _, kind := range forge.TrackerKinds {
		if slices.ContainsFunc(forge.TokenVariables(kind), func(name string) bool { return f.system.Get(name) != "" }) {
			f.token(ctx, kind, "")
		}
		for _, name := range append(forge.TokenVariables(kind), "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN") {
			f.unset(name)
		}
	}
}

// unset takes a variable from this process and from all that it starts.
func (f *forges) unset(name string) {
	_ = os.Unsetenv(name)
	f.system.Environ = slices.DeleteFunc(slices.Clone(f.system.Environ), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
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

// lander returns the Lander of the project, with the token of the person.
func (f *forges) lander(ctx context.Context, d *verb.Service) (*landing.Lander, error) {
	cfg := d.Board.Config().Land
	o, err := f.options(ctx, d, cfg, "land")
	if err != nil {
		return nil, err
	}
	client, err := forge.New(o)
	if err != nil {
		return nil, &transition.Refusal{Exit: transition.ExitUsage, Next: "liza config land", Message: err.Error()}
	}
	l := &landing.Lander{Service: d, Forge: client, Pause: pause}
	if o.Web != "" {
		l.File = o.File
	}
	return l, nil
}

// tracker says where a tracker is, with the token of the person. The forge of land is taken when it is of this kind.
func (f *forges) tracker(ctx context.Context, d *verb.Service, kind, repo string) (forge.Options, error) {
	land, own := d.Board.Config().Land, d.Board.Config().Import
	if land.Forge != kind {
		return f.options(ctx, d, config.Land{Forge: kind, URL: own.URL, API: own.API, Repo: cmp.Or(repo, own.Repo), Remote: land.Remote}, "import")
	}
	land.Repo = cmp.Or(repo, own.Repo, land.Repo)
	return f.options(ctx, d, land, "land")
}

// returner tells trackers what has landed.
func (f *forges) returner(d *verb.Service) *importer.Returner {
	return &importer.Returner{Service: d, Pause: pause, Tracker: func(ctx context.Context, kind, repo string) (forge.Tracker, error) {
		o, err := f.tracker(ctx, d, kind, repo)
		if err != nil {
			return nil, err
		}
		return forge.NewTracker(o)
	}}
}
