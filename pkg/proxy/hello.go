package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// hello reads the first message of a tunnel to port 443, which has to be that of TLS and to name the host that was asked for:
// many hosts share an address, and the name in it says which of them is meant. It returns the bytes that were read. The standard
// library reads the message, in whatever records it comes, up to its own bound of 64 kB.
func (p *Proxy) hello(in net.Conn, from io.Reader, t target) ([]byte, error) {
	defer context.AfterFunc(p.ctx, func() { _ = in.Close() })()
	_ = in.SetReadDeadline(time.Now().Add(helloTime))
	h := &heard{Conn: in, from: from}
	named, errNamed := "", errors.New("it has a name")
	err := tls.Server(h, &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		named = info.ServerName
		return nil, errNamed
	}}).HandshakeContext(p.ctx)
	_ = in.SetReadDeadline(time.Time{})
	switch {
	case named != "" && strings.EqualFold(named, t.name):
		return h.bytes.Bytes(), nil
	case h.bytes.Len() == 0: // nothing was asked for
		return nil, err
	case named != "":
		other := target{name: strings.ToLower(named), port: t.port}
		return nil, p.refuse(other, Refusal{Host: other.short(), Why: fmt.Sprintf("a connection that was asked for %s names it instead", t.short()), Next: "add " + other.short() + " to sandbox.allow.hosts"})
	}
	why := "a connection to its port 443 does not begin with TLS"
	if errors.Is(err, errNamed) {
		why = "a connection to its port 443 does not say which host it is for (SNI)"
	}
	return nil, p.refuse(t, Refusal{Host: t.String(), Why: why, Next: "add " + t.String() + ", with its port, to sandbox.allow.hosts"})
}

// unrecognized is the alert of TLS that ends a connection because of the name in it.
const unrecognized = "\x15\x03\x01\x00\x02\x02\x70"

// heard is a connection that keeps what is read of it, and to which nothing is written.
type heard struct {
	net.Conn
	from  io.Reader
	bytes bytes.Buffer
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.from.Read(b)
	h.bytes.Write(b[:n])
	return n, err
}

func (h *heard) Write(b []byte) (int, error) { return len(b), nil }
func (h *heard) Close() error                { return nil }
