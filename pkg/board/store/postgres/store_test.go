package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/seal"
	"liza/pkg/board/store"
	"liza/pkg/board/store/storetest"
)

// turns counts how often a connection waits for an answer to what it has sent.
type turns struct {
	net.Conn
	answered atomic.Bool
	count    *atomic.Int64
}

func (c *turns) Write(b []byte) (int, error) {
	if c.answered.Swap(false) {
		c.count.Add(1)
	}
	return c.Conn.Write(b)
}

// A read may have begun before the question was sent, so what counts is that it brought something.
func (c *turns) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, err
}

func TestAWriteTakesTwoRoundTripsAndAReadOne(t *testing.T) {
	t.Parallel()
	made := newBoard(t)
	var count atomic.Int64
	s, err := open(made.o, func(cfg *pgx.ConnConfig) {
		dial := cfg.DialFunc
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			return &turns{Conn: c, count: &count}, err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	write := func() {
		if err := s.Update(t.Context(), op, numberedNote); err != nil {
			t.Fatal(err)
		}
	}
	write() // connects, and has the statements prepared
	count.Store(0)
	for range 10 {
		write()
	}
	if n := count.Load(); n != 20 {
		t.Errorf("10 writes took %d round trips, want 20", n)
	}
	count.Store(0)
	for range 10 {
		if _, err := s.View(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := count.Load(); n != 10 {
		t.Errorf("10 reads took %d round trips, want 10", n)
	}
}

// received counts the bytes that come in.
type received struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *received) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// P-175: a change costs what changed, with ten tasks and with two thousand.
func TestReadingAChangeCostsWhatChangedHoweverLargeTheBoardIs(t *testing.T) {
	t.Parallel()
	cost := map[int]int64{}
	for _, tasks := range []int{10, 2000} {
		sharedWasMade.Store(true)
		s := opened(t, optionsOn(sharedServer(t), t))
		if err := s.Create(t.Context(), boardOf(tasks)); err != nil {
			t.Fatal(err)
		}
		var bytes atomic.Int64
		other, err := open(s.o, func(cfg *pgx.ConnConfig) {
			dial := cfg.DialFunc
			cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := dial(ctx, network, address)
				return &received{Conn: c, bytes: &bytes}, err
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(other.Close)
		textOf(t, other)
		if err := s.Update(t.Context(), op, claim(1)); err != nil {
			t.Fatal(err)
		}
		bytes.Store(0)
		textOf(t, other)
		cost[tasks] = bytes.Load()
		if tasks == 2000 { // of a small board the database may just as well read all
			scansNothingElse(t, s)
		}
	}
	if cost[10] < 500 || cost[2000] > cost[10]+100 {
		t.Errorf("bytes read after one claim, by size of the board: %v", cost)
	}
}

// scansNothingElse looks at the plan that the database has for reading what changed.
func scansNothingElse(t *testing.T, s *Store) {
	t.Helper()
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, sql := range []string{"ANALYZE liza.entries", "PREPARE delta (text, bigint) AS " + readDelta} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE delta('%s', 1)", s.o.Board), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if strings.Contains(plan, "Removed by Filter") || strings.Contains(plan, "Seq Scan on entries") || !strings.Contains(plan, "entries_written") || !strings.Contains(plan, "entries_ended") {
		t.Errorf("the plan is\n%s", plan)
	}
}

// handmade is a file as people write them.
const handmade = `# The board of the payments team.
version: 1
revision: 41 # Liza counts

# What we want.
goal:
  id: goal-1   # the first
  description: "Greeting CLI"
  status: IN_PROGRESS
tasks:
  # easy ones first
  - id: task-1
    description: |
      One.
        - id: looks like a task
    status: UNCLAIMED
    mine: kept

  # then the others
  - {id: task-2, description: Two, status: UNCLAIMED} # in flow style
agents:
    coder-1:
        role: coder
        status: IDLE
sprint: {id: sprint-1, goal_ref: goal-1, status: IN_PROGRESS}
config:
  lease_duration: 1800
our_own: [x, y]
# the end
`

const handmadeJournal = `# Liza v1 wrote this
- timestamp: 2026-01-19T14:00:00Z
  agent: human
  action: initialized
- {timestamp: 2026-01-19T14:00:00Z, rev: 41, agent: coder-1, action: claimed, task: task-1, detail: "x"}
`

func TestAFileThatMovesThereAndBackIsTheSameFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"with comments":      handmade,
		"without a line end": strings.TrimSuffix(handmade, "\n# the end\n"),
		"in flow style":      "{version: 1, revision: 41, tasks: [{id: task-1, status: UNCLAIMED}], agents: {}, goal: {id: goal-1}, sprint: {id: s}, config: {}}\n",
		"from Windows":       strings.ReplaceAll(handmade, "\n", "\r\n"),
		"with a mark":        "\ufeff" + handmade,
		"quoted revision":    strings.Replace(handmade, "revision: 41 #", "revision: !!int '41' #", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sharedWasMade.Store(true)
			s := opened(t, optionsOn(sharedServer(t), t))
			if err := s.Import(t.Context(), []byte(text), handmadeJournal); err != nil {
				t.Fatal(err)
			}
			again := opened(t, s.o)
			got, journal, err := again.Export(t.Context())
			if err != nil || string(got) != text || journal != handmadeJournal {
				t.Fatalf("%v:\n%s\n%s", err, got, journal)
			}
			var exists *ExistsError
			if err := again.Import(t.Context(), []byte(text), ""); !errors.As(err, &exists) {
				t.Errorf("importing over it gives %v", err)
			}
			compareWithFile(t, again, text)
		})
	}
}

// A move that was killed can be begun again by who began it, and by nobody else.
func TestAMoveThatWasKilledIsBegunAgain(t *testing.T) {
	t.Parallel()
	sharedWasMade.Store(true)
	o := optionsOn(sharedServer(t), t)
	o.Mover = "north"
	if err := opened(t, o).Import(t.Context(), []byte(handmade), handmadeJournal); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Mover = "south"
	var exists *ExistsError
	if err := opened(t, other).Import(t.Context(), []byte(handmade), ""); !errors.As(err, &exists) {
		t.Errorf("another mover: %v", err)
	}
	newer := strings.Replace(handmade, "revision: 41", "revision: 42", 1)
	s := opened(t, o)
	if err := s.Import(t.Context(), []byte(newer), handmadeJournal); err != nil {
		t.Fatal(err)
	}
	if err := s.Moved(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, _, err := s.Export(t.Context()); err != nil || string(text) != newer {
		t.Errorf("%v:\n%s", err, text)
	}
}

// compareWithFile changes the board and a file with the same text.
func compareWithFile(t *testing.T, s *Store, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{".liza", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, ".liza", "state.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := store.Open(store.Options{Path: path, GitDir: filepath.Join(dir, ".git"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for _, st := range []store.Store{file, s} {
			if err := st.Update(t.Context(), op, func(b *blackboard.State) error {
				b.Task("task-1").Status = blackboard.Claimed
				b.Task("task-1").Iteration = i
				b.AddTasks(&blackboard.Task{ID: fmt.Sprintf("task-%d", 3+i), Description: "Three"})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if a, b, c := textOf(t, file), textOf(t, s), textOf(t, opened(t, s.o)); a != b || a != c {
			t.Fatalf("the file is\n%s\nand the board\n%s\nor\n%s", a, b, c)
		}
	}
}

func TestAPersonsEditIsMergedAndCommentsStay(t *testing.T) {
	t.Parallel()
	s := newBoard(t)
	base := textOf(t, s)
	if err := s.Update(t.Context(), op, numberedNote); err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(base, "description: Two", "description: Zwei # better", 1)
	done, err := s.Edit(t.Context(), op, []byte(base), []byte(mine))
	if err != nil || done.Revision != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	now := textOf(t, opened(t, s.o))
	if !strings.Contains(now, "Zwei # better") || !strings.Contains(now, "note-2") {
		t.Errorf("the board is\n%s", now)
	}
	var conflict *store.ConflictError
	if _, err := s.Edit(t.Context(), op, []byte(base), []byte(strings.Replace(base, "description: Two", "description: Deux", 1))); !errors.As(err, &conflict) {
		t.Errorf("the same place again gives %v", err)
	}
	if revision, _, err := s.Restore(t.Context(), op, 2); err != nil || revision != 4 {
		t.Fatalf("restored as %d, %v", revision, err)
	}
	if now := textOf(t, s); strings.Contains(now, "Zwei") || !strings.Contains(now, "note-2") {
		t.Errorf("after the restore the board is\n%s", now)
	}
	entries, err := s.Journal(t.Context(), history.Filter{Last: 1})
	if err != nil || len(entries) != 1 || entries[0].Action != "restored" {
		t.Errorf("the journal ends with %+v, %v", entries, err)
	}
}

func TestWhatIsForgottenIsNowhere(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	made := newBoard(t)
	o := made.o
	o.Mask = func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	stale, s := opened(t, made.o), opened(t, o)
	say := func(st *Store, text string) {
		t.Helper()
		if err := st.Update(t.Context(), op, func(b *blackboard.State) error {
			b.Goal.Summary = text
			b.Record(blackboard.Entry{Timestamp: "2026-01-19T15:00:00Z", Action: "note", Detail: text})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	say(made, secret)
	if _, err := stale.View(t.Context()); err != nil {
		t.Fatal(err)
	}
	say(made, "harmless")
	if err := s.Forget(t.Context(), op, func(text []byte) bool { return strings.Contains(string(text), secret) }); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"entries", "journal", "revisions", "boards"} {
		var n int
		if err := s.pool.QueryRow(t.Context(), fmt.Sprintf("SELECT count(*) FROM liza.%s x WHERE x::text LIKE '%%%s%%'", table, secret)).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows of %s have it (%v)", n, table, err)
		}
	}
	if broken, err := s.JournalBroken(t.Context()); err != nil || broken != nil {
		t.Errorf("the journal's chain: %+v, %v", broken, err)
	}
	var missing *store.NoSnapshotError
	if _, err := s.Content(t.Context(), 2); !errors.As(err, &missing) {
		t.Errorf("the state that had it gives %v", err)
	}
	if a, b := textOf(t, stale), textOf(t, opened(t, o)); a != b {
		t.Errorf("who read it before sees\n%s\nwant\n%s", a, b)
	}
	say(stale, "goes on")
	if broken, err := s.JournalBroken(t.Context()); err != nil || broken != nil {
		t.Errorf("the journal's chain after the next write: %+v, %v", broken, err)
	}
}

func TestOldRevisionsAreThinnedOutAndReadersThatAreFarBehindReadAll(t *testing.T) {
	t.Parallel()
	s := newBoard(t)
	stale := opened(t, s.o)
	if _, err := stale.View(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), op, func(b *blackboard.State) error {
		b.RemoveTasks(func(x *blackboard.Task) bool { return x.ID == "task-2" })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if err := s.Update(t.Context(), op, func(b *blackboard.State) error { b.Task("task-1").Iteration++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	s.thin(t.Context(), recent+22)
	all, err := s.Revisions(t.Context())
	if err != nil || len(all) != 12 || all[0].Revision != 32 || all[10].Revision != 22 || all[11].Revision != 1 {
		t.Errorf("what is kept: %v, %v", all, err)
	}
	var rows int
	if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM liza.entries e JOIN liza.boards b ON b.id = e.board WHERE b.name = $1 AND e.section = 'tasks' AND e.key = 'task-1'`, s.o.Board).Scan(&rows); err != nil || rows != 12 {
		t.Errorf("%d rows of the task are left, want 12 (%v)", rows, err)
	}
	if a, b := textOf(t, stale), textOf(t, s); a != b {
		t.Errorf("who was far behind sees\n%s\nwant\n%s", a, b)
	}
	first, _, err := s.Past(t.Context(), 20)
	if err != nil || first.Revision != 1 || first.Task("task-2") == nil {
		t.Errorf("the newest up to 20 is %+v, %v", first, err)
	}
}

func TestTheTimeIsTheDatabases(t *testing.T) {
	t.Parallel()
	o := newBoard(t).o
	o.Now = nil
	s := opened(t, o)
	if _, err := s.View(t.Context()); err != nil {
		t.Fatal(err)
	}
	if off := s.ClockOffset().Abs(); off > 5*time.Second {
		t.Fatalf("the database of this host is %s off", off)
	}
	s.mu.Lock() // as if this host's clock were an hour late
	s.clock.there, s.clock.trip = s.clock.there.Add(time.Hour), time.Hour
	s.mu.Unlock()
	if off := s.ClockOffset(); off > -59*time.Minute {
		t.Errorf("the offset is %s", off)
	}
	if err := s.Update(t.Context(), op, func(b *blackboard.State) error { b.Record(blackboard.Entry{Action: "note"}); return nil }); err != nil {
		t.Fatal(err)
	}
	entries, err := s.Journal(t.Context(), history.Filter{Last: 1})
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	at, err := time.Parse(time.RFC3339, string(entries[0].Timestamp))
	if err != nil || time.Until(at).Abs() > time.Minute { // the write asked the database for the time
		t.Errorf("the entry is of %s (%v)", entries[0].Timestamp, err)
	}
}

func TestAWatcherHearsOfWritesAfterItsConnectionWasLost(t *testing.T) {
	t.Parallel()
	own := ownServer(t)
	o := optionsOn(own, t)
	s, other := opened(t, o), opened(t, o)
	if err := s.Create(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	signals := s.Watch(t.Context())
	for range 3 {
		if _, err := other.pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'liza' AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
		if err := other.Update(t.Context(), op, numberedNote); err != nil {
			t.Fatal(err)
		}
		want := textOf(t, other)
		for late := time.After(poll + mostPause + 5*time.Second); ; {
			select {
			case <-signals:
			case <-late:
				t.Fatal("no signal came")
			}
			if textOf(t, s) == want {
				break
			}
		}
	}
}

func TestAConnectionInTheClearToAnotherHostMustBeAskedFor(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://liza@db.example/liza":                          "encrypted",
		"postgres://liza@db.example/liza?sslmode=prefer":           "encrypted",
		"postgres://liza@db.example/liza?sslmode=allow":            "refused",
		"postgres://liza@db.example/liza?sslmode=require":          "encrypted",
		"postgres://liza@db.example/liza?sslmode=disable":          "plain",
		"postgres://liza@db.example,127.0.0.1/liza":                "encrypted",
		"postgres://liza@127.0.0.1/liza":                           "plain",
		"postgres://liza@localhost/liza?sslmode=disable":           "plain",
		"postgres://liza@/liza?host=/run/postgresql":               "plain",
		"host=db.example dbname=liza user=liza":                    "encrypted",
		"host=db.example dbname=liza user=liza sslmode=disable":    "plain",
		"postgres://liza@db.example/liza?options=sslmode%3Ddisabl": "encrypted",
	} {
		cfg, err := Config(url, time.Second)
		got := "encrypted"
		switch {
		case err != nil:
			got = "refused"
		case cfg.TLSConfig == nil:
			got = "plain"
		}
		if err == nil {
			for _, f := range cfg.Fallbacks {
				if f.TLSConfig == nil && !local(f.Host) {
					got = "plain"
				}
			}
		}
		if got != want && !(want == "plain" && strings.Contains(url, "127.0.0.1") && err == nil) {
			t.Errorf("%s is %s (%v), want %s", url, got, err, want)
		}
	}
}

func TestNoPasswordIsInAnError(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://liza:hunter2@127.0.0.1:1/liza?sslmode=disable&connect_timeout=1",
		"postgres://liza:hunter2@db.example/liza?sslmode=allow",
		"postgres://liza:hunter2@db.example:notaport/liza",
		"host=127.0.0.1 port=1 password=hunter2 sslmode=nonsense",
	} {
		s, err := Open(Options{URL: url, Board: "x", Options: store.Options{LockTimeout: time.Millisecond}})
		if err == nil {
			_, err = s.View(t.Context())
			s.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error is %v", url, err)
		}
	}
}

func TestADatabaseThatCannotBeReachedOrHasNoBoardSaysSo(t *testing.T) {
	t.Parallel()
	o := optionsOn(sharedServer(t), t)
	var missing *NoBoardError
	there := newBoard(t) // so that the tables are there
	if _, err := opened(t, o).View(t.Context()); !errors.As(err, &missing) || !slices.Contains(missing.Others, there.o.Board) {
		t.Errorf("a board that is not there gives %v", err)
	}
	if err := opened(t, o).Update(t.Context(), op, numberedNote); !errors.As(err, &missing) {
		t.Errorf("writing to it gives %v", err)
	}
	o.URL, o.LockTimeout = "postgres://liza@127.0.0.1:1/liza", 100*time.Millisecond
	var unreachable *UnreachableError
	if err := opened(t, o).Update(t.Context(), op, numberedNote); !errors.As(err, &unreachable) {
		t.Errorf("a server that is not there gives %v", err)
	}
}

func TestALockThatStaysHeldIsSaid(t *testing.T) {
	t.Parallel()
	made := newBoard(t)
	o := made.o
	o.LockTimeout = 200 * time.Millisecond
	s := opened(t, o)
	tx, err := made.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), lockBoard, o.Board); err != nil {
		t.Fatal(err)
	}
	var locked *store.LockedError
	if err := s.Update(t.Context(), op, numberedNote); !errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
	if _, err := s.View(t.Context()); err != nil { // readers wait for nobody
		t.Error(err)
	}
}

// Who has a copy to show does not wait long for a database that does not answer, and not again at once.
func TestWhoHasACopyGivesUpSoonAndDoesNotAskAgainAtOnce(t *testing.T) {
	t.Parallel()
	var dials atomic.Int64
	o := Options{URL: "postgres://liza@localhost/liza", Board: "payments", Patience: time.Nanosecond, Options: store.Options{Now: now}}
	s, err := open(o, func(cfg *pgx.ConnConfig) {
		if cfg.ConnectTimeout > patientConnect {
			t.Errorf("an attempt to connect may take %s", cfg.ConnectTimeout)
		}
		cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
		cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, &net.OpError{Op: "dial", Err: errors.New("nobody there")}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var away *UnreachableError
	if _, err := s.View(t.Context()); !errors.As(err, &away) {
		t.Fatalf("the error is %v", err)
	}
	asked := dials.Load()
	if asked == 0 {
		t.Fatal("it did not try")
	}
	s.mu.Lock()
	s.down.at = time.Now().Add(time.Hour) // this moment goes on
	s.mu.Unlock()
	for range 3 {
		if _, err := s.View(t.Context()); !errors.As(err, &away) {
			t.Fatalf("the error is %v", err)
		}
	}
	if dials.Load() != asked {
		t.Error("it tried again at once")
	}
	s.mu.Lock()
	s.down.at = time.Now().Add(-downFor)
	s.mu.Unlock()
	if _, err := s.View(t.Context()); !errors.As(err, &away) || dials.Load() == asked {
		t.Errorf("it did not try again: %v", err)
	}
}

// Tables of version 2 have the key of approvals itself; afterwards they name it, as the hosts do that have it.
func TestAnUpgradeTakesTheKeyOfApprovalsOutOfTheDatabase(t *testing.T) {
	t.Parallel()
	s := newBoard(t)
	secret := strings.Repeat("5a", 32)
	k, err := seal.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	text, err := migrations.ReadFile("migrations/003.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{fmt.Sprintf("UPDATE liza.boards SET seal = '%s' WHERE name = '%s'", secret, s.o.Board), string(text)} {
		tx, err := s.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		statement = strings.ReplaceAll(statement, "seal <> ''", "name = '"+s.o.Board+"'") // other tests have boards beside this one
		if _, err := tx.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if name, err := s.SealKey(t.Context()); err != nil || name != k.Name() {
		t.Errorf("the database has %q, %v; want the name %s", name, err, k.Name())
	}
}
