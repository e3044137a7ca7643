package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/verb/verb/verbtest"
)

// killMark names the point at which a process of the tests kills itself, or a file that gets the names of all points.
const killMark = "CLI_TEST_KILL_AT"

func dieAt(point, due string) {
	if filepath.IsAbs(due) {
		f, err := os.OpenFile(due, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			fmt.Fprintln(f, point)
			err = f.Close()
		}
		if err != nil {
			panic(err)
		}
	} else if point == due {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// A movable board is a project with a second host, which joins when the board is in the database.
type movable struct {
	*testing.T
	*sprint
	url, other string
	kept       []string // notes that were accepted
	refused    []string
}

// newDatabase makes a database on the server of this package's tests.
func newDatabase(t *testing.T) (url string) {
	t.Helper()
	s, err := database()
	if errors.Is(err, pgtest.ErrNotHere) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	name := fmt.Sprintf("test%d", databases.Add(1))
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(s.URL(), "/postgres?", "/"+name+"?", 1)
}

// at runs liza in a folder; kill is killMark.
func (m *movable) at(dir, kill string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(m.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := m.command(ctx, &out, args...)
	cmd.Dir, cmd.WaitDelay = dir, 30*time.Second
	cmd.Env = append(cmd.Env, killMark+"="+kill)
	err := cmd.Run()
	return out.String(), err
}

func (m *movable) must(dir string, args ...string) string {
	m.Helper()
	out, err := m.at(dir, "", args...)
	if err != nil {
		m.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// write has a host write a note; it reports whether the board took it. Where it does not, agents are refused too.
func (m *movable) write(dir string) bool {
	m.Helper()
	text := fmt.Sprintf("note-number-%d.", len(m.kept)+len(m.refused))
	out, err := m.at(dir, "", "tell", "planner", text)
	if err == nil {
		m.kept = append(m.kept, text)
		return true
	}
	refused := func(out string, err error) {
		m.Helper()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 4 || !strings.Contains(out, "next: liza ") {
			m.Errorf("a write during the move: %v\n%s", err, out)
		}
	}
	refused(out, err)
	refused(m.at(dir, "", "--as", "coder-1", "register"))
	m.refused = append(m.refused, text)
	return false
}

func (m *movable) isFile() bool {
	config, err := os.ReadFile(filepath.Join(m.Dir, ".liza", "config.yaml"))
	return err != nil || !strings.Contains(string(config), "postgres:")
}

// killedAt moves the board, is killed, has both hosts write, and moves again.
func (m *movable) killedAt(point, to string) {
	m.Helper()
	out, err := m.at(m.Dir, point, "store", "move", to)
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		m.Fatalf("move %s was not killed at %s: %v\n%s", to, point, err, out)
	}
	here, there := m.write(m.Dir), m.write(m.other)
	if here && there && m.isFile() {
		m.Errorf("killed at %s on the way to %s, the board is in two places, and both take writes", point, to)
	}
	if out, err := m.at(m.Dir, "", "store", "move", to); err != nil && !strings.Contains(out, "already") {
		m.Fatalf("after a kill at %s the move is not completed: %v\n%s", point, err, out)
	}
	if file := to == "file"; m.isFile() != file || !m.write(m.Dir) || m.write(m.other) == file {
		m.Errorf("killed at %s, the board is not where it was moved to: %s", point, to)
	}
	// A process that had the file open before.
	err = m.Store.Update(m.Context(), store.Op{Name: "test"}, func(s *blackboard.State) error { s.Config["max_coder_iterations"] = 20 + len(m.kept); return nil })
	if moved := new(store.MovedError); errors.As(err, &moved) == (to == "file") || err != nil && !errors.As(err, &moved) {
		m.Errorf("killed at %s on the way to %s, a process that had the file open writes there: %v", point, to, err)
	}
	m.whole(point)
}

// whole looks for each note on the board.
func (m *movable) whole(point string) {
	m.Helper()
	if out := m.must(m.Dir, "validate"); !strings.Contains("\n"+out, "\nVALID") {
		m.Errorf("killed at %s: %s", point, out)
	}
	board, err := os.ReadFile(filepath.Join(m.Dir, ".liza", "state.yaml"))
	if err != nil {
		m.Fatal(err)
	}
	journal, err := os.ReadFile(filepath.Join(m.Dir, ".liza", "log.yaml"))
	if err != nil {
		m.Fatal(err)
	}
	for _, text := range m.kept {
		if n := bytes.Count(board, []byte(text)); n != 1 {
			m.Errorf("killed at %s: the board has %s %d times", point, text, n)
		}
	}
	for _, text := range m.refused {
		if bytes.Contains(board, []byte(text)) {
			m.Errorf("killed at %s: the board has %s, which was refused", point, text)
		}
	}
	if n := bytes.Count(journal, []byte("action: note")); n != len(m.kept) {
		m.Errorf("killed at %s: the journal has %d notes, want %d", point, n, len(m.kept))
	}
	if left, _ := filepath.Glob(filepath.Join(m.Dir, ".git", "liza", "conflict-*")); len(left) > 0 {
		m.Errorf("killed at %s: %v", point, left)
	}
}

// `liza store move`, killed with SIGKILL between each two of its steps, both ways: no board is in two places that take writes, nothing that
// was accepted is lost, nobody works on half a board, and the same command completes the move. A run of the short form tries every second step.
func TestAMoveOfTheBoardThatIsKilledAtEachStepIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	m := &movable{T: t, url: newDatabase(t), sprint: &sprint{Place: verbtest.New(t), liza: lizaProgram(t)}}
	to := strings.Replace(m.url, "?", "/pay?", 1)
	origin := filepath.Join(t.TempDir(), "origin.git")
	m.Git(m.Dir, "clone", "-q", "--bare", ".", origin)
	m.Git(m.Dir, "remote", "add", "origin", origin)
	m.other = filepath.Join(t.TempDir(), "other")
	m.Git(m.Dir, "clone", "-q", origin, m.other)
	m.write(m.Dir)

	points := map[string][]string{}
	for _, where := range []string{to, "file"} {
		file := filepath.Join(t.TempDir(), "points")
		if out, err := m.at(m.Dir, file, "store", "move", where); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, _ := os.ReadFile(file)
		points[where] = strings.Fields(string(text))
		if where == to {
			m.must(m.other, "init", "--join", to)
		}
	}
	if len(points[to]) < 5 || len(points["file"]) < 7 {
		t.Fatalf("the points are %v", points)
	}
	for i := rand.IntN(long(2, 1)); i < max(len(points[to]), len(points["file"])); i += long(2, 1) {
		m.killedAt(points[to][i%len(points[to])], to)
		m.killedAt(points["file"][i%len(points["file"])], "file")
	}
}
