package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"liza/pkg/board/store/postgres/pgtest"
)

// database is the one server of the tests of this package.
var database = sync.OnceValues(func() (*pgtest.Server, error) {
	databaseMade.Store(true)
	return pgtest.New()
})

var databaseMade atomic.Bool

func closeDatabase() {
	if databaseMade.Load() {
		if s, err := database(); err == nil {
			s.Close()
		}
	}
}

var databases atomic.Int64

// cmdDatabase makes a database of the script's own: $DATABASE on the server whose socket is in $DBHOST.
func cmdDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: database")
	}
	s, err := database()
	ts.Check(err)
	conn, err := pgx.Connect(context.Background(), s.URL())
	ts.Check(err)
	defer conn.Close(context.Background())
	name := fmt.Sprintf("test%d", databases.Add(1))
	_, err = conn.Exec(context.Background(), "CREATE DATABASE "+name)
	ts.Check(err)
	ts.Setenv("DATABASE", name)
	ts.Setenv("DBHOST", s.Dir())
	host, err := os.Hostname()
	ts.Check(err)
	ts.Setenv("HOSTNAME", host)
}

// cmdSQL runs a statement in the script's database and prints what it gives, a row a line.
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	s, err := database()
	ts.Check(err)
	conn, err := pgx.Connect(context.Background(), strings.Replace(s.URL(), "/postgres?", "/"+ts.Getenv("DATABASE")+"?", 1))
	ts.Check(err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(context.Background(), strings.Join(args, " "))
	ts.Check(err)
	for rows.Next() {
		values, err := rows.Values()
		ts.Check(err)
		fmt.Fprintln(ts.Stdout(), values...)
	}
	if err := rows.Err(); (err != nil) != neg {
		ts.Fatalf("%s: %v", args, err)
	}
}

// hasDatabase reports whether this machine has the programs of PostgreSQL.
func hasDatabase() (bool, error) {
	_, err := pgtest.Programs()
	if errors.Is(err, pgtest.ErrNotHere) {
		return false, nil
	}
	return err == nil, err
}

// cmdCutoff keeps everybody out of the script's database, and with off lets them in again.
func cmdCutoff(ts *testscript.TestScript, neg bool, args []string) {
	s, err := database()
	ts.Check(err)
	conn, err := pgx.Connect(context.Background(), s.URL())
	ts.Check(err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", ts.Getenv("DATABASE"), len(args) > 0))
	ts.Check(err)
	_, err = conn.Exec(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", ts.Getenv("DATABASE"))
	ts.Check(err)
}
