package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/store"
	"liza/pkg/store/storetest"
)

// server is a PostgreSQL of a test, in a folder of its own, reached by a socket there.
type server struct {
	bin, dir string
	cmd      *exec.Cmd
	done     chan struct{}
}

// errNotHere is why the tests cannot run on this machine.
var errNotHere = errors.New("NOT RUN: no PostgreSQL server here (initdb and postgres in PATH or /usr/lib/postgresql/*/bin)")

func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(all) == 0 {
		return "", errNotHere
	}
	return filepath.Dir(all[len(all)-1]), nil
}

// program runs one as a user who may: the server refuses to run as root.
func (s *server) program(name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	if os.Getuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			return nil, fmt.Errorf("%w: root cannot be another user", errNotHere)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return nil, err
		}
	}
	return cmd, nil
}

// newServer makes a server and starts it.
func newServer() (*server, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	s := &server{bin: bin}
	// The folder of temporary files may be that of one user, as in CI, and its path too long for a socket.
	if s.dir, err = os.MkdirTemp("/tmp", "liza-pg-"); err != nil {
		return nil, err
	}
	init, err := s.program("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "liza", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
	if err == nil {
		var out []byte
		if out, err = init.CombinedOutput(); err != nil {
			err = fmt.Errorf("initdb: %w: %s", err, out)
		}
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	return s, nil
}

func (s *server) start() error {
	cmd, err := s.program("postgres", "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=300", "-c", "shared_buffers=64MB", "-c", "log_min_messages=fatal")
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.done = cmd, make(chan struct{})
	go func() { _ = cmd.Wait(); close(s.done) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			return fmt.Errorf("the server ended: %s", said.String())
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// stop ends the server: SIGINT is a fast, SIGQUIT an immediate shutdown.
func (s *server) stop(signal syscall.Signal) {
	_ = s.cmd.Process.Signal(signal)
	<-s.done
}

func (s *server) close() {
	s.stop(syscall.SIGQUIT)
	os.RemoveAll(s.dir)
}

func (s *server) url() string {
	return "postgres://liza@/postgres?host=" + url.QueryEscape(s.dir)
}

// shared is the server of most tests.
var shared = sync.OnceValues(newServer)

var sharedWasMade atomic.Bool

func sharedServer(t testing.TB) *server {
	t.Helper()
	s, err := shared()
	return must(t, s, err)
}

func must(t testing.TB, s *server, err error) *server {
	t.Helper()
	if errors.Is(err, errNotHere) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ownServer is one that a test may stop.
func ownServer(t testing.TB) *server {
	t.Helper()
	s, err := newServer()
	must(t, s, err)
	t.Cleanup(s.close)
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
			s.close()
		}
	}
	os.Exit(code)
}

var boards atomic.Int64

func now() time.Time { return time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC) }

// options are those of a new board on a server.
func (s *server) options(t testing.TB) Options {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, t.Name()))
	return Options{URL: s.url(), Board: fmt.Sprintf("%.40s-%d", name, boards.Add(1)), Options: store.Options{Now: now}}
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
	s := opened(t, sharedServer(t).options(t))
	if err := s.Create(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	return s
}
