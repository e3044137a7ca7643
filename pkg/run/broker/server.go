// Package broker carries commands out of the run of an agent program: a client inside the run sends a
// command line over a Unix socket, and the server outside carries it out and sends back what it prints
// and its exit code. The socket alone identifies the run: each run has its own. The package knows no
// commands, and nothing that it sends has a meaning on one machine only.
//
// A connection carries one command. All of it are frames: version, kind, length, content. The client
// sends one request. From then on it sends only what the server asks for, one piece of stdin or of a
// file at a time: so the server cannot be flooded, stdin stays where it is until a command reads it, and
// the client opens the files that a command names, with the rights and the paths of the run.
//
//   - Folder: where the sockets of a run are. MakeFolder, RemoveStale.
//   - Serve, Server.Close, Call, Handler: the side of the supervisor.
//   - Client.Do: the side of the run.
package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"liza/pkg/base/safefile"
)

const (
	maxCalls = 32               // most commands of a run at one time; others wait
	opening  = 10 * time.Second // longest time for a client to send its request
	ending   = 10 * time.Second // longest time for commands to end after the run
	crashed  = 1                // exit code of a command that could not be carried out

	// A run that calls without end, in a loop that went wrong, would take the board's lock from the others all the time:
	// after so many commands each further one waits for its turn.
	atOnce    = 100
	perSecond = 20
)

// Handler carries out a command and returns its exit code. ctx ends with the run; Gone reports a client that disconnects
// earlier.
type Handler func(ctx context.Context, c *Call) int

// Call is one command from a run.
type Call struct {
	Request
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Gone           <-chan struct{} // closed when the client disconnects

	box     *outbox
	asking  sync.Mutex // one request for data at a time
	mu      sync.Mutex
	asked   int        // bytes that the client may send now; 0: none
	answers chan reply // to a request for data
}

type reply struct {
	data []byte
	err  error
}

var errGone = errors.New("the command that was to be read from has ended")

// Server is the side of the supervisor. Serve makes it, Close ends it.
type Server struct {
	listener net.Listener
	handler  Handler
	over     context.Context
	end      context.CancelFunc
	calls    sync.WaitGroup
	slots    chan struct{}
	pace     *rate.Limiter
	belongs  func(pid int) bool
}

// Serve answers connections of the listener, until Close. A client must belong to the run: belongs reports that for its
// process id, if the system knows it; nil: every client does.
func Serve(l net.Listener, h Handler, belongs func(pid int) bool) *Server {
	return serve(l, h, belongs, rate.NewLimiter(perSecond, atOnce))
}

func serve(l net.Listener, h Handler, belongs func(pid int) bool, pace *rate.Limiter) *Server {
	s := &Server{listener: l, handler: h, belongs: belongs, slots: make(chan struct{}, maxCalls), pace: pace}
	s.over, s.end = context.WithCancel(context.Background())
	s.calls.Go(s.accept)
	return s
}

// Close ends all commands, as an interrupt would, and reports whether all have ended in time. No further one begins.
func (s *Server) Close() bool {
	s.end()
	_ = s.listener.Close() // nothing else can be done about it
	ended := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(ended)
	}()
	late := time.NewTimer(ending)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-late.C:
		return false
	}
}

func (s *Server) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.over.Done():
			return
		}
		if s.pace.Wait(s.over) != nil {
			return
		}
		conn, err := s.listener.Accept()
		if err == nil {
			s.calls.Go(func() {
				defer func() { <-s.slots }()
				if pid := peer(conn); s.belongs != nil && pid != 0 && !s.belongs(pid) {
					_ = conn.Close() // a process of another run, or of nobody
					return
				}
				s.answer(conn)
			})
			continue
		}
		<-s.slots
		select { // too many open files, perhaps: it passes
		case <-s.over.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// answer carries out the one command of a connection.
func (s *Server) answer(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(opening))
	defer context.AfterFunc(s.over, func() { _ = conn.SetReadDeadline(time.Now()) })()
	box := newOutbox(conn)
	k, content, err := readFrame(conn, maxRequest)
	var request Request
	if err == nil && k == kindRequest {
		err = json.Unmarshal(content, &request)
	} else if err == nil {
		err = errFrame
	}
	if err != nil || s.over.Err() != nil {
		if errors.Is(err, errVersion) {
			_ = box.send(kindErr, []byte("error: "+err.Error()+"\nnext: end this run; the next one has one version of liza\n"))
		}
		box.exit(crashed)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if s.over.Err() != nil { // it ended between the two
		_ = conn.SetReadDeadline(time.Now())
	}
	gone := make(chan struct{})
	c := &Call{Request: request, Gone: gone, box: box, answers: make(chan reply, 1)}
	c.Stdin, c.Stdout, c.Stderr = c.Open(""), output{box, kindOut}, output{box, kindErr}
	var listening sync.WaitGroup
	listening.Go(func() {
		defer close(gone)
		c.listen(conn)
	})
	box.exit(s.run(c))
	_ = conn.Close() // ends listen
	listening.Wait()
}

// run calls the handler; its panic ends the command alone.
func (s *Server) run(c *Call) (code int) {
	defer func() {
		if r := recover(); r != nil {
			_, _ = fmt.Fprintf(c.Stderr, "error: this is a bug in liza: %v\nnext: liza status\n", r)
			code = crashed
		}
	}()
	return s.handler(s.over, c)
}

// listen receives the client's data. More than was requested ends the connection.
func (c *Call) listen(conn net.Conn) {
	for {
		k, content, err := readFrame(conn, maxChunk)
		if err != nil {
			return
		}
		c.mu.Lock()
		most := c.asked
		c.asked = 0
		c.mu.Unlock()
		switch {
		case k == kindData && most > 0 && len(content) <= most:
			c.answers <- reply{data: content}
		case k == kindFault && most > 0:
			c.answers <- reply{err: errors.New(string(content))}
		default:
			_ = conn.Close() // the command is told by Gone
			return
		}
	}
}

// Open returns a file that the command names, or stdin for "". The client opens it.
func (c *Call) Open(name string) io.Reader { return &input{call: c, file: name} }

// input asks the client for each piece.
type input struct {
	call *Call
	file string
	end  error
}

func (i *input) Read(p []byte) (int, error) {
	if i.end != nil || len(p) == 0 {
		return 0, i.end
	}
	data, err := i.call.ask(ask{File: i.file, Most: min(len(p), maxChunk)})
	if err == nil && len(data) == 0 {
		err = io.EOF
	}
	i.end = err
	return copy(p, data), err
}

func (c *Call) ask(q ask) ([]byte, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	content, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.asked = q.Most
	c.mu.Unlock()
	if err := c.box.send(kindAsk, content); err != nil {
		return nil, err
	}
	select {
	case a := <-c.answers:
		return a.data, a.err
	case <-c.Gone:
		return nil, errGone
	}
}

// output is stdout or stderr of a command.
type output struct {
	box  *outbox
	kind kind
}

func (o output) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := o.box.send(o.kind, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Socket is the name of the broker's socket in the folder of a run.
const Socket = "broker.sock"

// longest is how long the path of a socket may be: macOS has 104 bytes for it, Linux 108.
const longest = 103

// Folder is the folder of one run. The same agent of the same project has the same path again, so that the remainder of a
// killed supervisor is found and removed.
type Folder struct {
	Path     string
	Listener net.Listener // listener of the broker
	open     *os.File     // the folder itself, to distinguish it from a later one
}

// Adopt returns the folder of a run whose listener, which may be nil, another process has passed on.
func Adopt(path string, listener *os.File) (f *Folder, err error) {
	f = &Folder{Path: path}
	if f.open, err = os.Open(path); err == nil && listener != nil {
		f.Listener, err = net.FileListener(listener)
	}
	if err != nil {
		_ = f.open.Close()
		return nil, fmt.Errorf("cannot adopt the folder of a run: %w", err)
	}
	return f, nil
}

// PathOf is the path of the folder of that name, whether there is one or not.
func PathOf(base, project, name string) string { return folderOf(base, project, name) }

// Answered reports whether somebody listens on a socket, even when that one has no time now.
func Answered(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		_ = conn.Close() // nothing was said
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

// FileOf is the socket of a listener, for another process. Unlike its File it can be passed on without making the listener one
// that cannot be closed.
func FileOf(l net.Listener) (f *os.File, err error) {
	raw, err := l.(*net.UnixListener).SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) {
		var own int
		if own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			f = os.NewFile(uintptr(own), "socket")
		}
	})
	return f, errors.Join(err, failed)
}

// longestService is the longest path of the socket of a service in the folder of a run for which there has to be room: PostgreSQL's, and some.
const longestService = "run/.s.PGSQL.5432.and-some-more"

// Base returns the folder for folders of runs: the person's runtime folder (XDG_RUNTIME_DIR) if its path leaves room for those of sockets, else /tmp.
func Base(runtime string) string {
	name := filepath.Join(runtime, "liza-"+strconv.Itoa(os.Getuid()), "00000000", longestService)
	if info, err := os.Stat(runtime); filepath.IsAbs(runtime) && len(name) <= longest && err == nil && info.IsDir() {
		return filepath.Clean(runtime)
	}
	return "/tmp"
}

// folderOf is the path of the folder of that agent's run.
func folderOf(base, project, agent string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + agent))
	return filepath.Join(base, "liza-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:4]))
}

// MakeFolder makes the folder of a run with the broker's socket. It removes the folder of an earlier run of that agent, and
// those of other killed supervisors.
func MakeFolder(base, project, agent string) (*Folder, error) {
	f := &Folder{Path: folderOf(base, project, agent)}
	err := alone(filepath.Dir(f.Path), func() (err error) {
		if err = errors.Join(sweep(filepath.Dir(f.Path)), safefile.RemoveTree(f.Path)); err == nil {
			err = os.Mkdir(f.Path, 0o700)
		}
		if err == nil {
			f.open, err = os.Open(f.Path)
		}
		if err == nil {
			f.Listener, err = f.Listen(Socket)
		}
		return err
	})
	if err != nil {
		_ = f.open.Close() // of nil: an error that says so
		return nil, fmt.Errorf("cannot make the folder of a run: %w", err)
	}
	return f, nil
}

// Listen opens a socket in the folder, for its owner only. It is removed with the folder.
func (f *Folder) Listen(name string) (net.Listener, error) {
	path := filepath.Join(f.Path, name)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // a later run may have its own in this place by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Remove removes the folder, once, after its server is closed. A folder that replaced it belongs to a later run, and stays.
// An answer at the socket means nothing here: a program that starts at this moment has a copy of it.
func (f *Folder) Remove() error {
	defer f.open.Close()
	own, err := f.open.Stat()
	if err != nil {
		return err
	}
	return alone(filepath.Dir(f.Path), func() error {
		if now, err := os.Lstat(f.Path); err != nil || !os.SameFile(own, now) {
			return nil // it is gone
		}
		return safefile.RemoveTree(f.Path)
	})
}

// RemoveStale removes the folders of runs whose supervisors were killed. A folder whose socket is answered belongs to a
// running one, and stays.
func RemoveStale(base string) error {
	dir := filepath.Dir(folderOf(base, "", ""))
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return alone(dir, func() error { return sweep(dir) })
}

func sweep(dir string) (err error) {
	all, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, folder := range all { // one without a socket is of a process that was killed while it made it: others wait for the lock
		if !Answered(filepath.Join(folder, Socket)) {
			err = errors.Join(err, safefile.RemoveTree(folder))
		}
	}
	return err
}

// alone does something in the folder that holds those of all runs, while no other process does. /tmp is
// everybody's: a folder that is not ours alone is not used.
func alone(dir string, do func() error) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close() // it gives the lock back
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if own, ok := info.Sys().(*syscall.Stat_t); !ok || int(own.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be changed by others: its owner must be uid %d and its mode 0700; remove it, or set XDG_RUNTIME_DIR", dir, os.Getuid())
	}
	if err := flock(f); err != nil {
		return fmt.Errorf("cannot lock %s: %w", dir, err)
	}
	return do()
}

// flock waits for the lock of an open folder, which is held for a few file operations at a time.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
