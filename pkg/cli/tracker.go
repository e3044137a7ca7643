package cli

import (
	"cmp"
	"context"

	"liza/pkg/config"
	"liza/pkg/forge"
	"liza/pkg/importer"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// trackerOptions say where a tracker is, and bring the token along: a forge is that of land when it is of this kind.
func (e *Env) trackerOptions(ctx context.Context, d *verb.Service, kind, repo string) (forge.Options, error) {
	land, own := d.Config().Land, d.Config().Import
	switch {
	case kind == forge.Jira || kind == forge.Linear:
		o := forge.Options{Kind: kind, API: own.API, Now: e.Now, Wait: pause, Email: e.Get("JIRA_EMAIL")}
		if o.API == "" && (own.URL != "" || kind == forge.Linear) {
			o.API = forge.API(kind, own.URL)
		}
		if o.API == "" {
			return o, &transition.Refusal{Exit: transition.ExitRefused, Next: "liza config set import.url https://TEAM.atlassian.net", Message: "the address of jira is not known: import.url is empty"}
		}
		err := e.giveToken(ctx, &o, own.URL)
		return o, err
	case land.Forge != kind:
		return e.forgeOptions(ctx, d, config.Land{Forge: kind, URL: own.URL, API: own.API, Repo: cmp.Or(repo, own.Repo), Remote: land.Remote}, "import")
	}
	land.Repo = cmp.Or(repo, own.Repo, land.Repo)
	return e.forgeOptions(ctx, d, land, "land")
}

// returner tells trackers and files what has landed.
func (e *Env) returner(d *verb.Service) *importer.Returner {
	return &importer.Returner{Service: d, Pause: pause, Tracker: func(ctx context.Context, kind, repo string) (forge.Tracker, error) {
		o, err := e.trackerOptions(ctx, d, kind, repo)
		if err != nil {
			return nil, err
		}
		return forge.NewTracker(o)
	}}
}
