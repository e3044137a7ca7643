package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres"
	"liza/pkg/team/assembly"
	"liza/pkg/team/move"
	"liza/pkg/verb/verb"
)

func newStore(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "store", Category: "repair", Usage: "where the board is: a file, or a PostgreSQL database for a team on several hosts",
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
			s, err := d.Board.View(ctx)
			if err != nil {
				return err
			}
			place := move.Place{Kind: "file", Board: ".liza/state.yaml", Revision: s.Revision}
			shared, ok := d.Board.Store.(store.Shared)
			if !ok {
				return env.Print(place, "board  %s, revision %d\nnext: liza store move URL puts it into a database, for a team on several hosts\n", place.Board, place.Revision)
			}
			at, err := assembly.AddressOf(d)
			if err != nil {
				return err
			}
			offset := shared.ClockOffset()
			place.Kind, place.Board, place.Clock = "postgres", at.String(), offset.Seconds()
			return env.Print(place, "board  %s, revision %d\ncopy   .liza/state.yaml\nclock  this host's is %s of the database\n", place.Board, place.Revision, aheadOrBehind(offset))
		}),
	}
}

func newStoreMove(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "move", ArgsUsage: "URL|file", Usage: "move the board into a PostgreSQL database, or back into a file",
		Description: "With URL (postgres://USER@HOST/DATABASE[/BOARD]) the board of this project goes into the database, with its journal and archive; other hosts then\n" +
			"use liza join. With file it becomes .liza/state.yaml of this host again, byte for byte, and the other hosts have no board any more; the database keeps\n" +
			"what it had under a name that ends in ~moved. Refused while agents work. When it is interrupted, do it again." +
			examples("liza store move postgres://liza@db/liza/payments", "liza store move file") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.do(env.slow("moving the board", func(ctx context.Context, args []string) error {
			done, err := move.Board(ctx, &env.System, args[0])
			if err != nil {
				return err
			}
			return env.Print(done, "%s", done.Text)
		})),
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
			up, ok := d.Board.Store.(interface{ Upgrade(context.Context) error })
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

// unreachable is the exit code of a command that could not reach the database of the board.
const unreachable = 8

// explainDatabase is the exit code of an error of a board in a database, and the command that helps; 0 for any other error.
func explainDatabase(err error) (code int, next string) {
	if x, ok := errors.AsType[*postgres.UnreachableError](err); ok {
		return unreachable, x.Next()
	} else if x, ok := errors.AsType[*postgres.UncertainError](err); ok {
		return 9, x.Next()
	} else if _, ok := errors.AsType[*postgres.AddressError](err); ok {
		return 2, "liza help init"
	} else if x, ok := errors.AsType[*postgres.SchemaError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.NoBoardError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.ArrivingError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.ExistsError](err); ok {
		return 4, x.Next()
	} else if x, ok := errors.AsType[*postgres.PermissionError](err); ok {
		return 4, x.Next()
	}
	return 0, ""
}
