package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"liza/pkg/base/safefile"
	"liza/pkg/board/store"
)

// An UnreachableError is returned when the database could not be reached. Nothing was written.
type UnreachableError struct {
	Board string
	Err   error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cannot reach the database of board %s: %s", e.Board, message(e.Err))
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable makes supervisors wait until the database is back.
func (e *UnreachableError) Unreachable() bool { return true }

// Next returns the next command for a person.
func (e *UnreachableError) Next() string { return "liza doctor" }

// An UncertainError is returned when the connection was lost after a write was sent, and did not come back in time to find
// out whether it was committed.
type UncertainError struct {
	Board string
	Err   error
}

func (e *UncertainError) Error() string {
	return fmt.Sprintf("the connection to the database of board %s was lost while a write was under way: whether it was made is not known: %s", e.Board, message(e.Err))
}

// Unwrap returns the cause.
func (e *UncertainError) Unwrap() error { return e.Err }

// Unreachable makes supervisors wait until the database is back.
func (e *UncertainError) Unreachable() bool { return true }

// Next returns the next command for a person.
func (e *UncertainError) Next() string { return "liza status" }

// A PermissionError is returned when the role of the database lacks a privilege.
type PermissionError struct{ Err error }

func (e *PermissionError) Error() string {
	return "the database does not allow it: " + message(e.Err)
}

// Unwrap returns the cause.
func (e *PermissionError) Unwrap() error { return e.Err }

// Next returns the next command for a person.
func (e *PermissionError) Next() string { return "liza help store" }

// A PoolerError is returned when a prepared statement is missing in the next transaction, or another program's has its name.
type PoolerError struct{ Err error }

func (e *PoolerError) Error() string {
	return "the database is reached over a pooler that gives each transaction another connection; it has to be in session mode: " + message(e.Err)
}

// Unwrap returns the cause.
func (e *PoolerError) Unwrap() error { return e.Err }

// Next returns the next command for a person.
func (e *PoolerError) Next() string { return "liza doctor, after pool_mode = session" }

// message is an error on one line; pgx puts no password into it.
func message(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Config parses a URL as libpq does: passwords come from the environment, ~/.pgpass or the service file. A connection without
// encryption to another host requires sslmode=disable.
func Config(address string, lockTimeout time.Duration) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("cannot read the address of the database: %w", err) // without the password
	}
	if err := encrypted(address, &cfg.Config); err != nil {
		return nil, err
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	var settings strings.Builder
	set := func(name, value string) {
		if _, given := cfg.RuntimeParams[name]; !given {
			fmt.Fprintf(&settings, "SET %s = '%s';", name, value)
		}
	}
	set("application_name", "liza")
	set("lock_timeout", fmt.Sprint(lockTimeout.Milliseconds()))
	// A host that is gone must not keep the lock.
	set("idle_in_transaction_session_timeout", fmt.Sprint(lockTimeout.Milliseconds()))
	set("tcp_keepalives_idle", "5")
	set("tcp_keepalives_interval", "2")
	set("tcp_keepalives_count", "3")
	// Every question goes by an index, and none is worth planning twice.
	set("enable_seqscan", "off")
	set("plan_cache_mode", "force_generic_plan")
	// Not as parameters of the start, for which one round trip less would do: pgbouncer refuses those that it does not know.
	cfg.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		_, err := conn.Exec(ctx, settings.String()).ReadAll()
		return err
	}
	return cfg, nil
}

// Bare returns the address of the database that a URL and the environment name, without a password.
func Bare(address string) (string, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return "", fmt.Errorf("cannot read the address of the database: %w", err)
	}
	at := url.URL{Scheme: "postgres", User: url.User(cfg.User), Path: "/" + cfg.Database,
		RawQuery: url.Values{"host": {cfg.Host}, "port": {fmt.Sprint(cfg.Port)}, "passfile": {os.DevNull}}.Encode()}
	return at.String(), nil
}

// TryOpen connects to the database of an address and disconnects.
func TryOpen(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// encrypted removes the addresses of other hosts that would be reached without encryption.
func encrypted(address string, cfg *pgconn.Config) error {
	u, err := url.Parse(address)
	if isURL := err == nil && u.Scheme != ""; isURL && u.Query().Get("sslmode") == "disable" || !isURL && slices.Contains(strings.Fields(address), "sslmode=disable") {
		return nil
	}
	plain := func(host string, tls bool) bool { return !tls && !local(host) }
	var fallbacks []*pgconn.FallbackConfig
	for _, f := range cfg.Fallbacks {
		if !plain(f.Host, f.TLSConfig != nil) {
			fallbacks = append(fallbacks, f)
		}
	}
	cfg.Fallbacks = fallbacks
	if plain(cfg.Host, cfg.TLSConfig != nil) {
		return fmt.Errorf("the connection to %s would not be encrypted; write sslmode=disable into the URL if that is meant", cfg.Host)
	}
	return nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// persist tries again while the connection is lost or the database says so, as long as the lock may be waited for.
func (s *Store) persist(ctx context.Context, attempt func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.isDown(); err != nil {
		return err
	}
	wait := pause
	for {
		began := time.Now()
		err := attempt(ctx)
		if ctx.Err() == nil {
			s.asked(began, err)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || lost(err)):
			return s.given(err, ctx.Err())
		case code(err) == "55P03": // lock_not_available
			return s.locked(safefile.Holder{})
		case !lost(err):
			if refused, ok := errors.AsType[*pgconn.ConnectError](err); ok { // a wrong password, a database that lets nobody in
				return s.given(refused, nil)
			}
			return explained(err)
		case s.triedEnough():
			return s.given(err, nil)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return s.given(err, ctx.Err())
		case <-timer.C:
		}
		wait = min(2*wait, mostPause)
	}
}

// given is why there is no further attempt.
func (s *Store) given(err, ended error) error {
	if ended != nil {
		return fmt.Errorf("cannot use the database of board %s: %w", s.o.Board, ended)
	}
	away := &UnreachableError{Board: s.o.Board, Err: err}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down.err, s.down.at = away, time.Now()
	return away
}

// asked notes whether the database answered.
func (s *Store) asked(began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil, !lost(err):
		s.down = down{}
	case s.down.since.IsZero():
		s.down.since, s.down.first = began, err
	}
}

func (s *Store) triedEnough() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.down.since.IsZero() && time.Since(s.down.since) > cmp.Or(s.o.Patience, s.o.LockTimeout)
}

// busy is why the turn of writers did not come: the one who has it waits for the database, or for the lock of the board.
func (s *Store) busy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.first != nil {
		return &UnreachableError{Board: s.o.Board, Err: s.down.first}
	}
	return s.locked(s.turns)
}

const (
	patientConnect = 2 * time.Second // longest attempt to connect for a host that has a copy to show
	downFor        = time.Second
)

func (s *Store) isDown() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Patience > 0 && s.down.err != nil && time.Since(s.down.at) < downFor {
		return s.down.err
	}
	return nil
}

// explained gives errors of the database that people meet their sentence.
func explained(err error) error {
	switch code(err) {
	case "3F000", "42P01": // no schema, no table
		return &SchemaError{}
	case "42501": // insufficient_privilege
		return &PermissionError{err}
	case "42P05", "26000": // a prepared statement that exists already, or does not
		return &PoolerError{err}
	}
	return err
}

// lost reports whether trying again may help: the connection is gone, the database is being restarted, or it asks for it.
func lost(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "57P"), strings.HasPrefix(pg.Code, "40"):
			return true
		}
		return pg.Code == "53300" || pg.Code == "25P03" // too many connections; idle for too long, see Config
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// decided reports whether an error of the last step says that nothing was written.
func decided(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Severity != "FATAL" && pg.Severity != "PANIC" && !strings.HasPrefix(pg.Code, "08") && !strings.HasPrefix(pg.Code, "57P")
}

func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// channel returns the name of the channel that writers of a board notify.
func channel(board string) string { return "liza_" + board }

var _ store.Project = (*Store)(nil)

// schema is the newest version of the tables; migrations has as many files.
const schema = 3

// A SchemaError is returned for tables of a version that this program does not know.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string {
	if e.Version == 0 {
		return "the database has no board: it has no tables of Liza"
	}
	if e.Version < schema {
		return fmt.Sprintf("the database has tables of version %d; this program needs %d", e.Version, schema)
	}
	return fmt.Sprintf("the database has tables of version %d; this program is older and knows %d", e.Version, schema)
}

// Next returns the next step for a person.
func (e *SchemaError) Next() string {
	switch {
	case e.Version == 0:
		return "liza init GOAL --store URL"
	case e.Version < schema:
		return "liza store upgrade"
	}
	return "install the version of liza that the other hosts have"
}

// Address is the address of a board: postgres://USER@HOST/DATABASE/BOARD, with the parameters of libpq behind a question
// mark.
type Address struct {
	URL   string // address of the database
	Board string // "" if it is missing
}

// An AddressError is returned for an address that cannot be used.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return "cannot use the address of the store: " + e.Reason }

// ParseAddress parses an address. It refuses one with a password, which process lists and config.yaml would show.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return Address{}, &AddressError{bad.Err.Error()} // without the address: it may have a password
	case err != nil:
		return Address{}, &AddressError{"it is not a URL"}
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return Address{}, &AddressError{"it must begin with postgres://"}
	}
	for _, secret := range []string{"password", "sslpassword"} {
		if u.Query().Has(secret) {
			return Address{}, errPassword
		}
	}
	if _, has := u.User.Password(); has {
		return Address{}, errPassword
	}
	database, board, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if board != "" {
		if err := CheckBoard(board); err != nil {
			return Address{}, err
		}
	}
	u.Path = ""
	if database != "" {
		u.Path = "/" + database
	}
	return Address{URL: u.String(), Board: board}, nil
}

var errPassword = &AddressError{"it has a password, which others would see; put it into ~/.pgpass, a service file or the variable PGPASSWORD"}

func (a Address) String() string {
	u, err := url.Parse(a.URL)
	if err != nil || a.Board == "" {
		return a.URL
	}
	if u.Path == "" { // the database that libpq takes
		u.Path = "/"
	}
	u.Path += "/" + a.Board
	return u.String()
}

const longestName = 60

// CheckBoard returns an error unless name can name a board.
func CheckBoard(name string) error {
	ok := name != "" && len(name) <= longestName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && !strings.HasPrefix(name, "-")
	if !ok {
		return &AddressError{fmt.Sprintf("'%s' is not a valid name of a board: lower-case letters, digits, - and _, at most %d", name, longestName)}
	}
	return nil
}

// BoardName converts a text to the name of a board.
func BoardName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := ""
	for _, w := range words {
		if len(name)+len(w) >= 40 {
			break
		}
		name = strings.TrimPrefix(name+"-"+w, "-")
	}
	return name
}
