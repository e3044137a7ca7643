package sandbox

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// CannotEnter is the exit code of the launcher if the sandbox could not be made. The program was not started then.
const CannotEnter = 125

// Entered reports whether a command line is the launcher's, and returns its arguments.
func Entered(args []string) ([]string, bool) {
	if len(args) < 4 || args[0] != wallCommand || args[2] != "--" {
		return nil, false
	}
	return args[1:], true
}

// forward gives everything that connects to the listener a connection to the proxy.
func forward(listener net.Listener, proxy string) {
	for {
		inner, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go func() {
			defer inner.Close()
			outer, err := net.Dial("unix", proxy)
			if err != nil {
				return
			}
			defer outer.Close()
			carry(inner, outer, outer)
		}()
	}
}

// carry copies both directions until both have ended; fromOuter reads the data from outside.
func carry(inner, outer net.Conn, fromOuter io.Reader) {
	var both sync.WaitGroup
	both.Go(func() { pass(outer, inner) })
	both.Go(func() { pass(inner, fromOuter) })
	both.Wait()
}

// pass copies one direction and passes on its end.
func pass(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
