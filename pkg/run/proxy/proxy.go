// Package proxy lets the programs of one run reach the allowed hosts, and nothing else. It is an HTTP proxy on a Unix socket
// (CONNECT, and plain HTTP with an absolute URI), the only way out of a sandbox without a network (specs/security.md).
//
// It resolves a name only after a pattern has allowed it, so that names carry nothing out; it dials the very address that was
// checked. It refuses addresses of this machine and of private networks, for any name, except those that a person has written
// as an address or with a port. It refuses at once, with a sentence that names the setting: programs wait for half a minute
// without an answer. It opens no TLS.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Options has the permissions of the proxy of one run.
type Options struct {
	// Hosts that may be reached: api.example.com, *.example.com (which is not example.com itself), on
	// ports 80 and 443 or, with :PORT, on that one. Only an address, or a name with a port, may lead
	// to this machine or a private network.
	Hosts []string
	Quiet []string // hosts whose refusal is not reported

	// Registries are hosts that another setting allows; a refusal of one names that setting.
	Registries []string

	// Upstream returns the person's own proxy for a URL by the variables of the environment (HTTPS_PROXY, NO_PROXY); nil:
	// none. Hosts that a person has written with a port or as an address are reached directly.
	Upstream func(*url.URL) (*url.URL, error)

	// Refused is called once for each refused host, for the first hundred; never by two goroutines at a time. May be nil.
	Refused func(Refusal)

	// For tests; nil: those of the system.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	Own    func() []netip.Addr // addresses of this machine
}

// A Refusal is a host that a program requested and may not reach.
type Refusal struct {
	Host  string // as written in sandbox.allow.hosts
	Why   string
	Next  string // setting to change
	Quiet bool
}

func (r Refusal) Error() string { return "cannot reach " + r.Host + ": " + r.Why }

// A Proxy serves one run until it is closed.
type Proxy struct {
	o                        Options
	hosts, quiet, registries []pattern
	server                   *http.Server
	plain                    *httputil.ReverseProxy
	transport                *http.Transport

	ctx  context.Context
	stop context.CancelFunc
	busy sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	refused map[string]bool
	telling sync.Mutex
}

// Serve begins to serve on a listener, a Unix socket of this user alone. It closes the listener also on an error.
func Serve(l net.Listener, o Options) (*Proxy, error) {
	p := &Proxy{o: o, refused: map[string]bool{}}
	for _, list := range []struct {
		to   *[]pattern
		from []string
	}{{&p.hosts, o.Hosts}, {&p.quiet, o.Quiet}, {&p.registries, o.Registries}} {
		var err error
		if *list.to, err = parsePatterns(list.from); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	if p.o.Lookup == nil {
		p.o.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if p.o.Dial == nil {
		p.o.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
		}
	}
	if p.o.Own == nil {
		p.o.Own = ownAddresses
	}
	p.begin(&bounded{Listener: l, free: make(chan struct{}, maxConnections)})
	return p, nil
}

func (p *Proxy) begin(l net.Listener) {
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			t, err := parseTarget(addr, 0)
			if err != nil {
				return nil, err
			}
			return p.dial(ctx, t)
		},
		DisableCompression: true, MaxIdleConns: 16, MaxConnsPerHost: 64, IdleConnTimeout: idleTime, MaxResponseHeaderBytes: 1 << 20,
	}
	silent := log.New(io.Discard, "", 0)
	p.plain = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Host = r.Out.URL.Host },
		Transport: p.transport, FlushInterval: -1, ErrorLog: silent,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { p.failed(w, err) },
	}
	p.server = &http.Server{
		Handler: p, ErrorLog: silent, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
	}
	p.busy.Go(func() { _ = p.server.Serve(l) })
}

// Close ends every connection; it returns after all have ended.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	err := p.server.Close()
	p.busy.Wait()
	p.transport.CloseIdleConnections()
	return err
}

// enter counts a request that Close has to wait for; there are none after it.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.busy.Add(1)
	}
	return !p.closed
}

// allowed reports whether a target is named at all, and by an entry that means this very place.
func (p *Proxy) allowed(t target) (explicit bool, err error) {
	allowed := false
	for _, h := range p.hosts {
		if h.matches(t) {
			allowed, explicit = true, explicit || h.explicit()
		}
	}
	if allowed {
		return explicit, nil
	}
	r := Refusal{Host: t.short(), Why: "it is not among the hosts that are allowed", Next: "add " + t.short() + " to sandbox.allow.hosts"}
	if slices.ContainsFunc(p.registries, func(x pattern) bool { return x.matches(t) }) {
		r.Next = "set sandbox.allow.registries, or " + r.Next
	}
	return false, p.refuse(t, r)
}

// dial connects to the address that it has checked, whatever the name leads to a moment later.
func (p *Proxy) dial(ctx context.Context, t target) (net.Conn, error) {
	explicit, err := p.allowed(t)
	if err != nil {
		return nil, err
	}
	if up, err := p.upstream(t); !explicit && (up != nil || err != nil) {
		if err != nil {
			return nil, fmt.Errorf("cannot use the proxy of your environment: %w", err)
		}
		return through(ctx, up, t)
	}
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		asking, done := context.WithTimeout(ctx, lookupTime)
		defer done()
		if addrs, err = p.o.Lookup(asking, t.name); err != nil {
			return nil, fmt.Errorf("cannot find the address of %s: %w", t.name, err)
		}
	}
	if !explicit {
		own := p.o.Own()
		for _, a := range addrs {
			if where := notPublic(a, own); where != "" {
				return nil, p.refuse(t, Refusal{Host: t.String(), Why: fmt.Sprintf("it has the address %s, which is of %s", a.Unmap(), where), Next: "add " + t.String() + ", with its port, to sandbox.allow.hosts"})
			}
		}
	}
	err = fmt.Errorf("cannot find an address of %s", t.host())
	for _, a := range addrs {
		var c net.Conn
		dialling, done := context.WithTimeout(ctx, dialTime)
		c, err = p.o.Dial(dialling, netip.AddrPortFrom(a.Unmap(), t.port))
		done()
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// refuse records a refusal, and reports it once for each host.
func (p *Proxy) refuse(t target, r Refusal) error {
	r.Quiet = slices.ContainsFunc(p.quiet, func(x pattern) bool { return x.matches(t) })
	p.mu.Lock()
	known := p.refused[r.Host] || len(p.refused) >= maxRefusals
	if !known {
		p.refused[r.Host] = true
	}
	p.mu.Unlock()
	if !known && p.o.Refused != nil {
		p.telling.Lock()
		defer p.telling.Unlock()
		p.o.Refused(r)
	}
	return &r
}

// failed answers a failed request: 403 for a refusal, else 502.
func (p *Proxy) failed(w http.ResponseWriter, err error) {
	status, text := answer(err)
	w.Header().Set("Connection", "close")
	http.Error(w, text, status)
}

func answer(err error) (status int, text string) {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return http.StatusForbidden, "liza: " + r.Error() + "; next: " + r.Next + " in .liza/config.yaml"
	}
	return http.StatusBadGateway, "liza: " + err.Error()
}

// bounded is a listener that rejects connections above its limit.
type bounded struct {
	net.Listener
	free chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.free <- struct{}{}:
			return &counted{Conn: c, free: sync.OnceFunc(func() { <-b.free })}, nil
		default:
			_ = c.SetDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(c, "HTTP/1.1 503 Too many connections\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		}
	}
}

type counted struct {
	net.Conn
	free func()
}

func (c *counted) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite ends one direction, as the tunnel wants it.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// upstream is the proxy through which the person reaches a target, nil for none.
func (p *Proxy) upstream(t target) (*url.URL, error) {
	if p.o.Upstream == nil {
		return nil, nil
	}
	scheme := "https"
	if t.port == 80 {
		scheme = "http"
	}
	return p.o.Upstream(&url.URL{Scheme: scheme, Host: t.String()})
}

// ServeHTTP answers one request: CONNECT HOST:PORT, or one with an absolute URI.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		return
	}
	defer p.busy.Done()
	if r.Method == http.MethodConnect {
		t, err := parseTarget(r.RequestURI, 443)
		if err != nil {
			http.Error(w, "liza: the target of CONNECT cannot be used: "+err.Error(), http.StatusBadRequest)
			return
		}
		p.tunnel(w, r, t)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil || r.URL.Opaque != "" {
		http.Error(w, "liza: this is a proxy: it takes CONNECT HOST:PORT, and http:// in full", http.StatusBadRequest)
		return
	}
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		http.Error(w, "liza: the host of the URI cannot be used: "+err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := p.allowed(t); err != nil {
		p.failed(w, err)
		return
	}
	r.URL.Host = t.String() // in one notation, for the transport's pool too
	p.plain.ServeHTTP(w, r)
}

// The limits of one proxy. A program that exceeds them harms only itself.
const (
	maxConnections = 256
	maxRefusals    = 100
	maxHeader      = 64 << 10
	headerTime     = 10 * time.Second
	lookupTime     = 5 * time.Second
	dialTime       = 10 * time.Second
	helloTime      = 30 * time.Second // until a tunnel has named its host
	idleTime       = 2 * time.Minute  // of a connection between two requests
	tunnelIdle     = 30 * time.Minute // of a tunnel; models think for a long time
)
