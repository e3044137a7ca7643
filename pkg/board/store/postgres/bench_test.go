package postgres

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
	"liza/pkg/board/store/storetest"
)

// boardOf is a state with tasks of about 1 kB.
func boardOf(tasks int) *blackboard.State {
	s := storetest.First()
	s.SetTasks(nil, nil)
	for i := range tasks {
		t := &blackboard.Task{ID: fmt.Sprintf("task-%d", i+1), Status: blackboard.Unclaimed, Created: "2026-01-19T14:00:00Z", SpecRef: "specs/vision.md",
			Description: strings.Repeat("What is to be done, in words that people read: \"quoted\".\n", 9), DoneWhen: "prints 42", Scope: "IN: one file"}
		for range 3 {
			t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T14:00:00Z", Event: "created", Agent: "planner-1", Reason: "of usual length"})
		}
		s.AddTasks(t)
	}
	return s
}

// claim changes what a claim does: a task, an agent, an entry in the journal. The task stays as long as it was.
func claim(i int) func(*blackboard.State) error {
	return func(s *blackboard.State) error {
		t := s.Task(s.TaskAt(i * 7 % s.TaskCount()).ID)
		t.Status, t.AssignedTo, t.LeaseExpires = blackboard.Claimed, "coder-1", blackboard.Time(fmt.Sprintf("2026-01-19T15:00:%02dZ", i%60))
		a := s.Agents["coder-1"]
		a.CurrentTask, a.Heartbeat = t.ID, t.LeaseExpires
		s.Record(blackboard.Entry{Timestamp: "2026-01-19T15:00:00Z", Action: "claimed", Task: t.ID, Detail: fmt.Sprint(i)})
		return nil
	}
}

func board(b *testing.B, tasks int) *Store {
	b.Helper()
	sharedWasMade.Store(true)
	s := opened(b, optionsOn(sharedServer(b), b))
	if err := s.Create(b.Context(), boardOf(tasks)); err != nil {
		b.Fatal(err)
	}
	if _, err := s.pool.Exec(b.Context(), "VACUUM ANALYZE liza.entries"); err != nil {
		b.Fatal(err)
	}
	return s
}

var sizes = []int{10, 300, 10000}

// BenchmarkClaim is a warm claim on boards of several sizes: in PostgreSQL, beside the bare transaction of the same writes
// with nothing decided, and in a file.
func BenchmarkClaim(b *testing.B) {
	for _, tasks := range sizes {
		s := board(b, tasks)
		b.Run(fmt.Sprintf("postgres/%d", tasks), func(b *testing.B) { claims(b, s) })
		b.Run(fmt.Sprintf("bare/%d", tasks), func(b *testing.B) { bare(b, s) })
		b.Run(fmt.Sprintf("file/%d", tasks), func(b *testing.B) { claims(b, boardFile(b, tasks)) })
	}
}

func claims(b *testing.B, st store.Store) {
	if err := st.Update(b.Context(), op, claim(0)); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		if err := st.Update(b.Context(), op, claim(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func boardFile(b *testing.B, tasks int) *store.File {
	b.Helper()
	dir := b.TempDir()
	for _, name := range []string{".liza", ".git"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	o := store.Options{Path: filepath.Join(dir, ".liza", "state.yaml"), GitDir: filepath.Join(dir, ".git"), Now: now}
	if err := store.Create(b.Context(), o, boardOf(tasks)); err != nil {
		b.Fatal(err)
	}
	f, err := store.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// bare writes the rows of one claim again and again, in as many round trips.
func bare(b *testing.B, s *Store) {
	before, err := s.look(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	next, entries, err := s.engine.Change(b.Context(), op, before.content, claim(3))
	if err != nil || next == nil {
		b.Fatal(err)
	}
	after, added, _ := before.diff(next)
	lines, _, err := history.Journal{}.Lines(next.Revision(), history.Begins, entries)
	if err != nil {
		b.Fatal(err)
	}
	var sections, keys, bodies []string
	var values []*string
	var places []int64
	var shapes, indents []int16
	var positions []int32
	for _, r := range added {
		v := string(after.valueOf(r))
		sections, keys, bodies, values = append(sections, r.section), append(keys, r.key), append(bodies, r.body), append(values, &v)
		places, shapes, indents, positions = append(places, r.place), append(shapes, r.shape), append(indents, r.indent), append(positions, r.position)
	}
	conn, err := s.pool.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	revision := 1_000_000
	for b.Loop() {
		revision++
		lock, batch := &pgx.Batch{}, &pgx.Batch{}
		lock.Queue("BEGIN")
		lock.Queue(lockBoard, s.o.Board)
		if err := conn.SendBatch(b.Context(), lock).Close(); err != nil {
			b.Fatal(err)
		}
		var id [16]byte
		_, _ = rand.Read(id[:])
		batch.Queue(endEntries, before.board, revision, sections, places)
		batch.Queue(addEntries, before.board, revision, sections, places, shapes, indents, positions, keys, bodies, values)
		batch.Queue(addJournal, before.board, revision, []string{op.Agent}, []string{"claimed"}, []string{"task-1"}, []string{string(lines)})
		batch.Queue(insertRevision, before.board, revision, id, op.Name, op.Agent)
		batch.Queue(raiseRevision, before.board, revision, before.journal)
		batch.Queue(notify, channel(before.board), fmt.Sprint(revision))
		batch.Queue("COMMIT")
		if err := conn.SendBatch(b.Context(), batch).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDelta is what a second host does after each write of the first: it reads what changed.
func BenchmarkDelta(b *testing.B) {
	for _, tasks := range sizes {
		s := board(b, tasks)
		other := opened(b, s.o)
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			if _, err := other.View(b.Context()); err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				b.StopTimer()
				i++
				if err := s.Update(b.Context(), op, claim(i)); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := other.View(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkClients is how many claims a second one board takes from several hosts.
func BenchmarkClients(b *testing.B) {
	for _, clients := range []int{1, 8, 32, 128} {
		s := board(b, 300)
		var stores []*Store
		for range clients {
			c := opened(b, s.o)
			if err := c.Update(b.Context(), op, claim(0)); err != nil { // the first one prepares its statements
				b.Fatal(err)
			}
			stores = append(stores, c)
		}
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			var next atomic.Int64
			var wait sync.WaitGroup
			for _, c := range stores {
				wait.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := c.Update(b.Context(), op, claim(int(i))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkAgents is what a thousand agents wait for who claim at the same time: on one board from twenty hosts, and on a
// hundred boards with ten each. A host has one store, which its agents share.
func BenchmarkAgents(b *testing.B) {
	for _, c := range []struct {
		name                  string
		boards, hosts, agents int // hosts of each board, agents of each host
	}{{"one board, 20 hosts with 50 agents", 1, 20, 50}, {"100 boards with 10 agents", 100, 1, 10}} {
		var stores []*Store
		for range c.boards {
			first := board(b, 300)
			for n := range c.hosts {
				s := first
				if n > 0 {
					s = opened(b, first.o)
				}
				if _, err := s.View(b.Context()); err != nil {
					b.Fatal(err)
				}
				stores = append(stores, s)
			}
		}
		b.Run(c.name, func(b *testing.B) {
			var waits []time.Duration
			began := time.Now()
			for b.Loop() {
				waits = append(waits, allClaim(b, stores, c.agents)...)
			}
			took := time.Since(began)
			slices.Sort(waits)
			for name, percent := range map[string]int{"median": 50, "95th": 95, "longest": 100} {
				b.ReportMetric(float64(waits[(len(waits)-1)*percent/100].Microseconds())/1000, "ms-"+name)
			}
			b.ReportMetric(float64(len(waits))/took.Seconds(), "claims/s")
			b.ReportMetric(0, "ns/op")
		})
		for _, s := range stores {
			s.Close() // the server has 300 connections
		}
	}
}

// allClaim lets each agent of each store claim once, all at the same time, and says what each waited.
func allClaim(b *testing.B, stores []*Store, agents int) (waits []time.Duration) {
	var all sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	for n, s := range stores {
		for i := range agents {
			all.Go(func() {
				<-start
				began := time.Now()
				if err := s.Update(b.Context(), op, claim(n*agents+i)); err != nil {
					b.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, time.Since(began))
			})
		}
	}
	close(start)
	all.Wait()
	return waits
}
