package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// through connects to a target by way of another proxy. Names are looked up there: what they lead to, that proxy answers for.
func through(ctx context.Context, up *url.URL, t target) (net.Conn, error) {
	port, isTLS := "80", up.Scheme == "https"
	switch {
	case isTLS:
		port = "443"
	case up.Scheme != "http":
		return nil, fmt.Errorf("cannot use the proxy of your environment: its scheme %s is not http or https", up.Scheme)
	}
	if up.Port() != "" {
		port = up.Port()
	}
	ctx, done := context.WithTimeout(ctx, dialTime)
	defer done()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(up.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("cannot reach the proxy of your environment: %w", err)
	}
	if isTLS {
		conn = tls.Client(conn, &tls.Config{ServerName: up.Hostname()})
	}
	if err := connect(conn, up, t); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("cannot reach %s by the proxy of your environment: %w", t, err)
	}
	return conn, nil
}

// connect asks a proxy for a tunnel.
func connect(conn net.Conn, up *url.URL, t target) error {
	_ = conn.SetDeadline(time.Now().Add(headerTime))
	request := "CONNECT " + t.String() + " HTTP/1.1\r\nHost: " + t.String() + "\r\n"
	if up.User != nil {
		password, _ := up.User.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := fmt.Fprint(conn, request+"\r\n"); err != nil {
		return err
	}
	// One byte at a time: what comes behind the answer is the target's.
	answer, err := http.ReadResponse(bufio.NewReaderSize(oneByOne{conn}, 16), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return conn.SetDeadline(time.Time{})
}

// oneByOne reads single bytes.
type oneByOne struct{ net.Conn }

func (o oneByOne) Read(b []byte) (int, error) { return o.Conn.Read(b[:min(1, len(b))]) }
