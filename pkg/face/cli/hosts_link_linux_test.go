package cli_test

import (
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// What a link does with what comes.
type linkMode int

const (
	through linkMode = iota
	cut              // connections end, and new ones are refused
	silent           // nothing arrives, and nobody is told
	slow             // each answer takes 300 ms longer
)

// A link is the way of one host to the database's socket, in a folder of its own.
type link struct {
	dir, to string
	listen  net.Listener
	mu      sync.Mutex
	changed *sync.Cond
	mode    linkMode
	conns   map[net.Conn]bool
	passes  func() // called before something is passed on; may be nil
}

func newLink(t *testing.T, dir, to string) *link {
	t.Helper()
	l := &link{dir: dir, to: to, conns: map[net.Conn]bool{}}
	l.changed = sync.NewCond(&l.mu)
	var err error
	if l.listen, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.listen.Close()
		l.set(cut)
	})
	go func() {
		for {
			from, err := l.listen.Accept()
			if err != nil {
				return
			}
			go l.carry(from)
		}
	}()
	return l
}

func (l *link) set(mode linkMode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = mode
	if mode == cut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
	l.changed.Broadcast()
}

// now waits while the link is silent.
func (l *link) now() linkMode {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mode == silent {
		l.changed.Wait()
	}
	return l.mode
}

func (l *link) carry(from net.Conn) {
	defer from.Close()
	if l.now() == cut {
		return
	}
	to, err := net.Dial("unix", filepath.Join(l.to, ".s.PGSQL.5432"))
	if err != nil {
		return
	}
	defer to.Close()
	l.mu.Lock()
	l.conns[from], l.conns[to] = true, true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.pass(to, from, false) })
	both.Go(func() { l.pass(from, to, true) })
	both.Wait()
	l.mu.Lock()
	delete(l.conns, from)
	delete(l.conns, to)
	l.mu.Unlock()
}

func (l *link) pass(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		switch l.now() {
		case cut:
			return
		case slow:
			if answers {
				<-time.After(300 * time.Millisecond)
			}
		}
		if n > 0 && l.passes != nil {
			l.passes()
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
