// Package pgtest starts a PostgreSQL for tests, from the programs of the distribution's package.
package pgtest

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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL of a test, in a folder of its own, reached by a socket there.
type Server struct {
	bin, dir string // dir is its folder: the socket is there
	cmd      *exec.Cmd
	done     chan struct{}
}

// ErrNotHere is why the tests cannot run on this machine.
var ErrNotHere = errors.New("NOT RUN: no PostgreSQL server here (initdb and postgres in PATH or /usr/lib/postgresql/*/bin)")

// Programs is the folder of initdb and postgres.
func Programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(all) == 0 {
		return "", ErrNotHere
	}
	return filepath.Dir(all[len(all)-1]), nil
}

// program runs one, of PostgreSQL or by its path, as a user who may: the server refuses to run as root.
func (s *Server) program(name string, args ...string) (*exec.Cmd, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	if os.Getuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			return nil, fmt.Errorf("%w: root cannot be another user", ErrNotHere)
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

// New makes a server and starts it.
func New() (*Server, error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
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
		err = s.Start()
	}
	if err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	return s, nil
}

// Start starts it, and waits until it answers.
func (s *Server) Start() error {
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
		conn, err := pgx.Connect(ctx, s.URL())
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

// Stop ends the server: SIGINT is a fast, SIGQUIT an immediate shutdown.
func (s *Server) Stop(signal syscall.Signal) {
	_ = s.cmd.Process.Signal(signal)
	<-s.done
}

// Close ends it and removes its folder.
func (s *Server) Close() {
	s.Stop(syscall.SIGQUIT)
	os.RemoveAll(s.dir)
}

// Dir is the folder that has the socket.
func (s *Server) Dir() string { return s.dir }

// URL is the address of its database.
func (s *Server) URL() string {
	return "postgres://liza@/postgres?host=" + url.QueryEscape(s.dir)
}

// ErrNoPooler is why tests of one cannot run on this machine.
var ErrNoPooler = errors.New("NOT RUN: pgbouncer is not on this machine")

// Pooler starts a pgbouncer in front of the server, and gives the address by which it is reached. mode is session or transaction.
func (s *Server) Pooler(mode string) (address string, end func(), err error) {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		return "", nil, ErrNoPooler
	}
	dir, err := os.MkdirTemp(s.dir, "pool-")
	if err != nil {
		return "", nil, err
	}
	text := fmt.Sprintf("[databases]\n* = host=%s user=liza\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 6432\nauth_type = any\npool_mode = %s\n", s.dir, dir, mode)
	if mode == "transaction" {
		text += "default_pool_size = 1\n" // so that the transactions of two meet on one connection for certain
	}
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	if err := os.Chmod(dir, 0o777); err != nil { // it is another user's, see program
		return "", nil, err
	}
	cmd, err := s.program(path, "-q", file)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		_ = cmd.Wait()
	}
	address = "postgres://liza@/postgres?port=6432&host=" + url.QueryEscape(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			return address, end, conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			end()
			return "", nil, err
		case <-tick.C:
		}
	}
}
