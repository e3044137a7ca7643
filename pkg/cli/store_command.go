package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/store"
	"liza/pkg/store/postgres"
	"liza/pkg/verb"
)

func newStore(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "store", Category: "people", Usage: "where the board is: a file, or a PostgreSQL database for a team on several hosts",
		Description: "Without a command it says where the board of this project is." +
			examples("liza store", "liza store roles"),
		Commands: []*urfave.Command{newStoreShow(env), newStoreMove(env), newStoreRoles(env), newStoreUpgrade(env)},
	}
}

func newStoreShow(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "list", Usage: "say where the board is, and at which revision",
		Description: "For a board in a database it also says how far the clock of this host is off." + examples("liza store", "liza store list --json") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.onReader(func(ctx context.Context, d *verb.Service, _ []string) error {
			s, err := d.View(ctx)
			if err != nil {
				return err
			}
			place := storePlace{Kind: "file", Board: ".liza/state.yaml", Revision: s.Revision}
			shared, ok := d.Store.(store.Shared)
			if !ok {
				return env.Print(place, "board  %s, revision %d\nnext: liza store move URL puts it into a database, for a team on several hosts\n", place.Board, place.Revision)
			}
			at, err := addressOf(d)
			if err != nil {
				return err
			}
			offset := shared.ClockOffset()
			place.Kind, place.Board, place.Clock = "postgres", at.String(), offset.Seconds()
			return env.Print(place, "board  %s, revision %d\ncopy   .liza/state.yaml\nclock  this host's is %s of the database\n", place.Board, place.Revision, aheadOrBehind(offset))
		}),
	}
}

func newStoreRoles(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "roles", ArgsUsage: "[URL]", Usage: "print the SQL of the database's roles, with no right that they do not need",
		Description: "Three roles: one that makes the tables, one for hosts, one that only looks through the views. Passwords and addresses are for you to add." +
			examples("liza store roles | psql -d liza", "liza store roles postgres://liza@db/liza") + exitsText(0, 1, 2),
		Action: env.do(func(ctx context.Context, args []string) error {
			database := ""
			if len(args) > 0 {
				at, err := postgres.ParseAddress(args[0])
				if err != nil {
					return err
				}
				if u, err := url.Parse(at.URL); err == nil {
					database = strings.Trim(u.Path, "/")
				}
			}
			sql := postgres.Roles(database)
			return env.Print(map[string]string{"sql": sql}, "%s", sql)
		}),
	}
}

func newStoreUpgrade(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "upgrade", Usage: "bring the tables of the database up to date with this program",
		Description: "To be run once, by a role that may change the schema, when a new version of Liza says so. Programs of the version before are refused from then\n" +
			"on, so stop the teams of all hosts first." + examples("liza store upgrade", "PGUSER=liza_owner liza store upgrade") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.onReader(func(ctx context.Context, d *verb.Service, _ []string) error {
			up, ok := d.Store.(interface{ Upgrade(context.Context) error })
			if !ok {
				return usagef("liza store", "the board of this project is a file: there is nothing to bring up to date")
			}
			if err := up.Upgrade(ctx); err != nil {
				return err
			}
			return env.Print(map[string]bool{"upgraded": true}, "the tables are those of this program\n")
		}),
	}
}

// aheadOrBehind says how far a clock is off.
func aheadOrBehind(offset time.Duration) string {
	offset = offset.Round(time.Millisecond)
	if offset < 0 {
		return fmt.Sprintf("%s behind that", -offset)
	}
	return fmt.Sprintf("%s ahead of that", offset)
}
