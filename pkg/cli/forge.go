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

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/forge"
	"liza/pkg/landing"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

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
	cfg := d.Config().Land
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
	o := forge.Options{Kind: cfg.Forge, API: cfg.API, Repo: cfg.Repo, Now: e.Now, Wait: pause}
	if o.API == "" && host == "" {
		return refused("liza config set "+section+".url https://HOST", "the address of the forge is not known: %s.url is empty", section)
	}
	o.API = cmp.Or(o.API, forge.API(cfg.Forge, host))
	if o.Repo == "" {
		remote, err := d.Repo.RemoteURL(ctx, cfg.Remote)
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
			token = cmp.Or(e.Get(name), token)
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
		e.secrets().Add("forge_token", token)
	}
	return e.forgeTokens[kind]
}

// hideTokens takes the tokens of forges and trackers, and the password of the board's database, out of the environment, which agents,
// checks and hooks inherit: they are the supervisor's alone. Without a forge, imported issues and such a board they are the person's, as before.
func (e *Env) hideTokens(ctx context.Context, d *verb.Service) {
	if isShared(d.Store) {
		e.secrets() // which masks those of the environment
		e.password = cmp.Or(e.Get(passwordVariable), e.password)
		for _, name := range []string{passwordVariable, "PGSSLPASSWORD"} {
			e.unset(name)
		}
	}
	if d.Config().Land.Forge == "none" && !importsIssues(ctx, d) {
		return
	}
	e.secrets() // which masks those of the environment
	for _, kind := range forge.TrackerKinds {
		if slices.ContainsFunc(forge.TokenVariables(kind), func(name string) bool { return e.Get(name) != "" }) {
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
	e.Environ = slices.DeleteFunc(slices.Clone(e.Environ), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

// importsIssues reports whether something on the board came from a tracker.
func importsIssues(ctx context.Context, d *verb.Service) bool {
	s, err := d.View(ctx)
	return err == nil && slices.ContainsFunc(s.Imports, func(i *blackboard.Import) bool {
		kind := ""
		if i != nil {
			kind, _, _ = i.Place()
		}
		return kind != ""
	})
}
