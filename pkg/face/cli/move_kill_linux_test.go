package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb/verbtest"
)

// moving is a host that moves its board, and is killed with SIGKILL when so many pieces have come over its link to the database, of questions and of answers.
type moving struct {
	*sprint
	link *link
	db   *pgx.Conn
	url  string // of the board, over the link

	mu     sync.Mutex
	pid    int
	pieces int // that may still come
}

// A board that is moved to a database and back, killed before each piece that is sent or received, ends as the same file, byte for byte,
// with its journal; at no time two of them take what is written.
func TestAMoveThatIsKilledAtEachStepLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(m.Dir, ".liza", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	board, journal := read("state.yaml"), read("log.yaml")
	kills := m.untilMoved(m.url)
	if at := read("config.yaml"); !strings.Contains(at, "store") {
		t.Fatalf("config.yaml does not say where the board is:\n%s", at)
	}
	if got := read("log.yaml"); got != journal {
		t.Error("the journal differs on the way there")
	}
	m.must("validate")
	kills += m.untilMoved("file")
	if got := read("state.yaml"); got != board {
		t.Errorf("the board differs:\n%s\nbefore:\n%s", got, board)
	}
	if got := read("log.yaml"); got != journal {
		t.Error("the journal differs")
	}
	m.must("validate")
	m.Sound()
	if kills < long(6, 24) {
		t.Errorf("only %d kills", kills)
	}
	t.Logf("%d kills", kills)
}

func newMoving(t *testing.T) *moving {
	t.Helper()
	if here, _ := hasDatabase(); !here {
		t.Skip("NOT RUN: PostgreSQL is not here")
	}
	server, err := database()
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	name := fmt.Sprintf("test%d", databases.Add(1))
	if _, err := db.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	way, err := os.MkdirTemp("/tmp", "liza-move-") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(way) })
	m := &moving{sprint: &sprint{Place: verbtest.New(t), liza: lizaProgram(t)}, link: newLink(t, way, server.Dir())}
	m.url = fmt.Sprintf("postgres://liza@/%s/pay?host=%s", name, url.QueryEscape(way))
	if m.db, err = pgx.Connect(t.Context(), strings.Replace(server.URL(), "/postgres?", "/"+name+"?", 1)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.db.Close(context.Background()) })
	m.link.passes = m.piece

	// Merged tasks with their commits, two of them in the archive, an open one with a comment, and a note.
	m.Merges(4)
	m.AddTask("open")
	m.must("tell", "planner", "keep the flags stable")
	m.must("gc", "--older", "0s")
	text, err := os.ReadFile(m.Project.State())
	if err != nil {
		t.Fatal(err)
	}
	verbtest.Write(t, m.Project.State(), strings.Replace(string(text), "  - id: open\n", "  # the first thing\n  - id: open   # mine\n", 1))
	m.must("pause", "open", "--reason", "not now")
	return m
}

// piece kills the process when its time has come.
func (m *moving) piece() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pid == 0 {
		return
	}
	if m.pieces--; m.pieces < 0 {
		_ = syscall.Kill(m.pid, syscall.SIGKILL)
	}
}

// untilMoved moves again and again, killed one piece later each time, until that is late enough; the short form goes in larger steps,
// from another piece in each run. It returns how often it was killed.
func (m *moving) untilMoved(to string) (kills int) {
	m.TB.Helper()
	for step := rand.IntN(long(12, 1)); ; step += long(12, 1) {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(m.TB.Context(), time.Minute)
		cmd := m.command(ctx, &out, "store", "move", to)
		m.mu.Lock()
		err := cmd.Start()
		if err != nil {
			m.TB.Fatal(err)
		}
		m.pid, m.pieces = cmd.Process.Pid, step
		m.mu.Unlock()
		err = cmd.Wait()
		m.mu.Lock()
		m.pid = 0
		m.mu.Unlock()
		cancel()
		m.onePlace()
		if err == nil || strings.Contains(out.String(), "the board is a file already") || strings.Contains(out.String(), "the board is in a database already") { // killed with all but its last sentence done
			return kills
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			m.TB.Fatalf("after %d kills the move ends with %v\n%s", kills, err, out.String())
		}
		kills++
	}
}

// onePlace fails when the file and the database both take what is written: a board in the database that is not marked as being
// moved, while this host has none there.
func (m *moving) onePlace() {
	m.TB.Helper()
	config, err := os.ReadFile(filepath.Join(m.Dir, ".liza", "config.yaml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.TB.Fatal(err)
	}
	var open, marked int
	err = m.db.QueryRow(m.TB.Context(), `SELECT count(*), count(f.path) FROM liza.boards b LEFT JOIN liza.files f ON f.board = b.id AND f.path = '.arriving' WHERE b.name = 'pay'`).Scan(&open, &marked)
	if err != nil && !strings.Contains(err.Error(), "does not exist") { // no tables yet
		m.TB.Fatal(err)
	}
	isFile := !strings.Contains(string(config), "postgres://")
	if isFile && open > marked {
		m.TB.Errorf("the board is the file, and there is one in the database as well")
	}
	if isFile {
		if s, err := m.Store.View(m.TB.Context()); err != nil || s.Task("open") == nil || s.Task("open").Status != blackboard.Unclaimed {
			m.TB.Errorf("the file cannot be read: %v", err)
		}
	}
}

func (m *moving) must(args ...string) {
	m.TB.Helper()
	var out bytes.Buffer
	if err := m.command(m.TB.Context(), &out, args...).Run(); err != nil {
		m.TB.Fatalf("liza %v: %v\n%s", args, err, out.String())
	}
}
