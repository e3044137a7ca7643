package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/board/store/storetest"
)

// shared is the server of most tests.
var shared = sync.OnceValues(pgtest.New)

var sharedWasMade atomic.Bool

func sharedServer(t testing.TB) *pgtest.Server {
	t.Helper()
	s, err := shared()
	return must(t, s, err)
}

func must(t testing.TB, s *pgtest.Server, err error) *pgtest.Server {
	t.Helper()
	if errors.Is(err, pgtest.ErrNotHere) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ownServer is one that a test may stop.
func ownServer(t testing.TB) *pgtest.Server {
	t.Helper()
	s, err := pgtest.New()
	must(t, s, err)
	t.Cleanup(s.Close)
	return s
}

func TestMain(m *testing.M) {
	if address := os.Getenv(writerMark); address != "" {
		if err := writeNotes(address); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if sharedWasMade.Load() {
		if s, err := shared(); err == nil {
			s.Close()
		}
	}
	os.Exit(code)
}

var boards atomic.Int64

func now() time.Time { return time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC) }

// options are those of a new board on a server.
func optionsOn(s *pgtest.Server, t testing.TB) Options {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, t.Name()))
	return Options{URL: s.URL(), Board: fmt.Sprintf("%.40s-%d", name, boards.Add(1)), Options: store.Options{Now: now}}
}

func opened(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// newBoard makes a board on the shared server with the state that the suite begins with.
func newBoard(t testing.TB) *Store {
	t.Helper()
	sharedWasMade.Store(true)
	s := opened(t, optionsOn(sharedServer(t), t))
	if err := s.Create(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAPasswordIsUsedWhereTheEnvironmentHasNone(t *testing.T) {
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
	for variable, want := range map[string]string{"": "kept", "given": "given"} {
		t.Setenv("PGPASSWORD", variable)
		s, err := open(Options{URL: "postgres://liza@db.example.com/liza", Password: "kept", Board: "b"}, func(cfg *pgx.ConnConfig) {
			if cfg.Password != want {
				t.Errorf("with PGPASSWORD=%q the password is %q, want %q", variable, cfg.Password, want)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}
