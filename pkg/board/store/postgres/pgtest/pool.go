package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

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
