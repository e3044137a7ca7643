package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
