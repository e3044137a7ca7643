package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// tunnel answers CONNECT: it carries bytes both ways, and looks at none but the first on port 443. Of a host that a person has
// written with its port, or as an address, it looks at none at all.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, t target) {
	out, err := p.dial(p.ctx, t) // not the request's: that ends when the client has no more to say
	in, buffered, hijack := http.NewResponseController(w).Hijack()
	if hijack != nil {
		http.Error(w, "liza: the connection cannot be taken over", http.StatusInternalServerError)
		if err == nil {
			_ = out.Close()
		}
		return
	}
	if err != nil {
		defer func() { _ = in.Close() }()
		status, text := answer(err)
		// The reason of a refused CONNECT is all that most programs show of it.
		reason := http.StatusText(status)
		if refused := (*Refusal)(nil); errors.As(err, &refused) {
			reason = "Forbidden by Liza: " + refused.Host + " is not in sandbox.allow.hosts"
		}
		_ = in.SetDeadline(time.Now().Add(headerTime))
		_, _ = fmt.Fprintf(in, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", status, reason, len(text)+1, strings.ReplaceAll(text, "\n", " "))
		return
	}
	_ = in.SetDeadline(time.Time{})
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_, _ = in.Close(), out.Close()
		return
	}
	// Bytes that came right behind the request are in the buffer.
	from := io.MultiReader(io.LimitReader(buffered, int64(buffered.Reader.Buffered())), in)
	if explicit, _ := p.allowed(t); t.port == 443 && !explicit {
		first, err := p.hello(in, from, t)
		if err != nil {
			_ = in.SetDeadline(time.Now().Add(headerTime))
			_, _ = io.WriteString(in, unrecognized)
			_, _ = in.Close(), out.Close()
			return
		}
		from = io.MultiReader(bytes.NewReader(first), from)
	}
	carry(p.ctx, in, out, from)
}

// carry copies between two connections until both directions have ended, nothing has moved for
// long, or ctx is done; then both are closed.
func carry(ctx context.Context, in, out net.Conn, fromIn io.Reader) {
	shut := sync.OnceFunc(func() { _, _ = in.Close(), out.Close() })
	defer shut()
	defer context.AfterFunc(ctx, shut)()
	idle := time.AfterFunc(tunnelIdle, shut)
	defer idle.Stop()

	var both sync.WaitGroup
	one := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(to, watched{from, idle})
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			_ = half.CloseWrite()
			return
		}
		shut()
	}
	both.Go(func() { one(out, fromIn) })
	both.Go(func() { one(in, out) })
	both.Wait()
}

// watched puts off the end of an idle tunnel with each piece that is read.
type watched struct {
	io.Reader
	idle *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if n > 0 {
		w.idle.Reset(tunnelIdle)
	}
	return n, err
}

// through connects to a target through another proxy, which resolves names and answers for their addresses.
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
