package cli

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/store/postgres"
	"liza/pkg/team/move"
	"liza/pkg/verb/verb"
)

func newStore(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "store", Category: "repair", Usage: "move the board: a file, or a PostgreSQL database for a team on several hosts",
		Description: "liza config store says where the board is. specs/hosts.md has the roles of the database, with no right that they do not need." +
			examples("liza store move postgres://liza@db/liza/payments", "liza store move file"),
		Commands: []*urfave.Command{newStoreMove(env), newStoreKey(env), newStoreUpgrade(env)},
	}
}

func newStoreKey(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "key", ArgsUsage: "FILE", Usage: "write the key of approvals, for another machine",
		Description: "liza init --join URL --key FILE takes it on that machine. Keep the file like a password, and remove it afterwards; - is stdout. Only a person may." +
			examples("liza store key key", "ssh first liza -C pay store key - | liza init --join postgres://liza@db/liza/payments --key -") + exitsText(0, 1, 2, 3, 4),
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error { return env.exportKey(ctx, d, args[0]) }),
	}
}

func newStoreMove(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "move", ArgsUsage: "URL|file", Usage: "move the board into a PostgreSQL database, or back into a file",
		Description: "With URL (postgres://USER@HOST/DATABASE[/BOARD]) the board of this project goes into the database, with its journal and archive; other hosts then\n" +
			"use liza init --join. With file it becomes .liza/state.yaml of this host again, byte for byte, and the other hosts have no board any more; the database keeps\n" +
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

func newStoreUpgrade(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "upgrade", Usage: "bring the tables of the database up to date with this program",
		Description: "To be run once, by a role that may change the schema, when a new version of Liza says so. Programs of the version before are refused from then\n" +
			"on, so stop the teams of all hosts first." + examples("liza store upgrade", "PGUSER=liza_owner liza store upgrade") + exitsText(0, 1, 2, 3, 4, 8),
		Action: env.onReader(func(ctx context.Context, d *verb.Service, _ []string) error {
			up, ok := d.Board.Store.(interface{ Upgrade(context.Context) error })
			if !ok {
				return usagef("liza config store", "the board of this project is a file: there is nothing to bring up to date")
			}
			if err := up.Upgrade(ctx); err != nil {
				return err
			}
			return env.Print(map[string]bool{"upgraded": true}, "the tables are those of this program\n")
		}),
	}
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
