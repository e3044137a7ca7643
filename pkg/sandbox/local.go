package sandbox

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
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
	fmt.Fprintf(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	answer := bufio.NewReader(out)
	r, err := http.ReadResponse(answer, &http.Request{Method: http.MethodConnect})
	if err != nil || r.StatusCode != http.StatusOK {
		return
	}
	carry(in, out, answer)
}
