package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
)

// forwardLocal makes a port of the machine's loopback one of the wall's: a program that talks to a model on this machine does
// not ask a proxy for it. Each connection goes through the proxy all the same, which knows whether it may.
func forwardLocal(port int, proxy string) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return fmt.Errorf("cannot listen for %s: %v", address, err)
	}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go connect(in, address, proxy)
		}
	}()
	return nil
}

// connect carries one connection through the proxy.
func connect(in net.Conn, address, proxy string) {
	defer in.Close()
	out, err := net.Dial("unix", proxy)
	if err != nil {
		return
	}
	defer out.Close()
	if from, err := askFor(out, address); err == nil {
		carry(in, out, from)
	}
}

// askFor asks a proxy for a tunnel, and returns what to read from it. It does without net/http, whose libraries would cost the launcher
// as much as all the rest of its start.
func askFor(proxy net.Conn, address string) (io.Reader, error) {
	if _, err := fmt.Fprintf(proxy, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return nil, err
	}
	answer := bufio.NewReader(proxy)
	head := textproto.NewReader(answer)
	status, err := head.ReadLine()
	if err != nil {
		return nil, err
	}
	if _, status, _ = strings.Cut(status, " "); !strings.HasPrefix(status, "200 ") {
		return nil, errors.New(status)
	}
	_, err = head.ReadMIMEHeader()
	return answer, err
}
