package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Migrations are numbered files that are run once each, in order. A library for them would bring its own
// command, drivers and template language for what is a loop.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock keeps two programs from running migrations at once.
const migrationLock = 0x6c697a61

// Migrate brings the tables up to date. It does nothing when they are.
func Migrate(ctx context.Context, conn *pgx.Conn) error {
	if version, err := version(ctx, conn); err != nil || version == schema {
		return err
	} else if version > schema {
		return &SchemaError{version}
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		done, err := version(ctx, tx) // somebody else may have run them meanwhile
		if err != nil {
			return err
		}
		if done == 0 {
			if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS liza; CREATE TABLE liza.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"); err != nil {
				return err
			}
		}
		for n := done + 1; n <= schema; n++ {
			text, err := migrations.ReadFile(fmt.Sprintf("migrations/%03d.sql", n))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return fmt.Errorf("migration %d: %w", n, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO liza.migrations (version) VALUES ($1)", n); err != nil {
				return err
			}
		}
		return nil
	})
}

// known refuses tables that this program does not know, at each new connection: they may be brought up to date while it runs.
func known(ctx context.Context, conn *pgx.Conn) error {
	version, err := version(ctx, conn)
	if err != nil || version == 0 || version == schema {
		return err
	}
	return &SchemaError{version}
}

// Upgrade makes the tables, or brings them up to date.
func (s *Store) Upgrade(ctx context.Context) error {
	return s.persist(ctx, func(ctx context.Context) error {
		conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		return Migrate(ctx, conn)
	})
}

// version is that of the tables, 0 when there are none.
func version(ctx context.Context, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (n int, err error) {
	var there bool
	// Not to_regclass: it may remember in one transaction that there was none.
	if err := db.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'liza' AND tablename = 'migrations')").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM liza.migrations").Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
