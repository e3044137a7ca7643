package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// A database that is away for longer than a lease ends no agent: each one that waits, claims or registers goes on when it is
// back, in the same process, with the password that ~/.pgpass has then.
func TestAgentsOutliveADatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		away, back func(f *outage)
	}{
		{"stopped", func(f *outage) { f.server.Stop(syscall.SIGINT) }, func(f *outage) {
			if err := f.server.Start(); err != nil {
				f.Fatal(err)
			}
		}},
		{"refuses", func(f *outage) { f.hosts[0].link.set(cut) }, func(f *outage) { f.hosts[0].link.set(through) }},
		{"hangs", func(f *outage) { f.hosts[0].link.set(silent) }, func(f *outage) { f.hosts[0].link.set(through) }},
		{"password changed", func(f *outage) { f.setPassword("two") }, func(f *outage) { f.pgpass("two") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &outage{newFaulty(t, rand.New(rand.NewPCG(1, 25)), "north")}
			f.setPassword("one")
			f.pgpass("one")
			f.add(12)
			f.shortLeases()
			h := f.hosts[0]
			h.f.runs.Go(h.keepRunning)
			defer f.stop()
			f.goesOn(20)
			members := f.allMembers()
			c.away(f)
			f.wait(20 * time.Second) // four claims that failed ended an agent
			c.back(f)
			if back := f.allMembers(); back != members {
				f.Fatalf("the members are of process %d, and were of process %d", back, members)
			}
			f.goesOn(20)
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.ended) > 0 {
				t.Errorf("liza run ended: %v", h.ended)
			}
			said, err := os.ReadFile(filepath.Join(f.dir, "north.log"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(said)) {
				if strings.Contains(line, "ended:") || strings.Contains(line, "another process") {
					t.Errorf("it says: %s", line)
				}
			}
		})
	}
}

// outage is a team of one host whose database goes away.
type outage struct{ *faulty }

// shortLeases makes outages short that are longer than a lease.
func (f *outage) shortLeases() {
	err := f.board.Update(f.Context(), store.Op{Name: "limits"}, func(st *blackboard.State) error {
		st.Config["lease_duration"] = 6
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

// allMembers waits until all agents of the run have a lease, and returns their process.
func (f *outage) allMembers() int {
	f.Helper()
	for until := time.Now().Add(3 * time.Minute); ; f.wait(100 * time.Millisecond) {
		s := f.state()
		n := map[blackboard.Role]int{}
		pids := map[int]bool{}
		for _, e := range s.Agents {
			if expires, ok := e.LeaseExpires.At(); ok && expires.After(f.board.Now()) {
				n[e.Role]++
				pids[e.PID] = true
			}
		}
		if n[blackboard.RoleCoder] == 4 && n[blackboard.RoleReviewer] == 2 && len(pids) == 1 {
			for pid := range pids {
				return pid
			}
		}
		if time.Now().After(until) {
			f.Fatalf("the agents with a lease are %v, of processes %v", n, pids)
		}
	}
}

// setPassword lets nobody in over the link without it, and ends who is in.
func (f *outage) setPassword(text string) {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.server.URL())
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close(f.Context())
	hba := filepath.Join(f.server.Dir(), "data", "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all team scram-sha-256\nlocal all all trust\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	for _, sql := range []string{
		"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'team') THEN CREATE ROLE team SUPERUSER LOGIN; END IF; END $$",
		fmt.Sprintf("ALTER ROLE team PASSWORD '%s'", text),
		"SELECT pg_reload_conf()",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'team'",
	} {
		if _, err := conn.Exec(f.Context(), sql); err != nil {
			f.Fatal(err)
		}
	}
}

// pgpass tells the host the password.
func (f *outage) pgpass(text string) {
	f.Helper()
	path := filepath.Join(f.dir, "home-north", ".pgpass")
	if err := os.WriteFile(path, []byte("*:*:*:team:"+text+"\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(f.dir, "north", ".liza", "config.yaml")
	settings, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.timing = "lock_timeout=1,"
	settings = []byte(strings.NewReplacer("postgres://liza@", "postgres://team@").Replace(string(settings)))
	if err := os.WriteFile(file, settings, 0o644); err != nil {
		f.Fatal(err)
	}
}

// The first Ctrl-C ends a run whose agents wait for a database that refuses.
func TestAnInterruptedRunDoesNotWaitForADatabaseThatRefuses(t *testing.T) {
	t.Parallel()
	f := &outage{newFaulty(t, rand.New(rand.NewPCG(1, 25)), "north")}
	f.add(6)
	f.shortLeases()
	h := f.hosts[0]
	h.f.runs.Go(h.keepRunning)
	defer f.stop()
	f.goesOn(10)
	h.link.set(cut)
	f.saysNow("waits for the board")
	f.wait(3 * time.Second) // all of them do
	h.mu.Lock()
	run := h.cmd
	h.mu.Unlock()
	began := time.Now()
	if err := run.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	f.saysNow("error: ") // of the end
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// saysNow waits until the run has printed a text.
func (f *outage) saysNow(text string) {
	f.Helper()
	for until := time.Now().Add(time.Minute); ; f.wait(50 * time.Millisecond) {
		said, _ := os.ReadFile(filepath.Join(f.dir, "north.log"))
		if strings.Contains(string(said), text) {
			return
		}
		if time.Now().After(until) {
			f.Fatalf("it does not say %q:\n%s", text, said)
		}
	}
}
