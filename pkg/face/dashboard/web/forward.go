package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// A Forward shows one person a server inside a run, at an address of its own: what an agent's program serves must never have the
// origin of Liza's page. Who has not opened Address gets nothing, and neither does a page of another origin.
type Forward struct {
	Listener net.Listener // on the loopback device
	Token    string
	Port     int // of the server
	Dial     func(context.Context) (net.Conn, error)
	Explain  func(error) Problem
}

// Bounds of one forward: connections of browsers, and how long one of them or of the server may be silent.
const (
	mostForwarded = 64
	forwardedIdle = time.Hour
)

// openServer begins a forwarding for the page.
func (o Options) openServer(w http.ResponseWriter, r *http.Request) (any, error) {
	data, err := body(w, r)
	if err != nil {
		return nil, err
	}
	task, in := r.PathValue("task"), struct{ Port int }{}
	if len(data) > 0 && json.Unmarshal(data, &in) != nil || in.Port < 0 || in.Port > 65535 {
		return nil, badInput("the body must be a JSON object whose port is from 1 to 65535, or missing")
	}
	if !loopback(r.Host) {
		return nil, Problem{Code: "refused", Message: "the server of a run is opened on the machine of the run only", Next: "liza open " + task}
	}
	address, err := o.Open(r.Context(), task, in.Port)
	return map[string]string{"task": task, "address": address}, err
}

// Address is what the person opens first.
func (f Forward) Address() string { return f.origin() + f.entry() }

func (f Forward) origin() string { return "http://" + f.Listener.Addr().String() }
func (f Forward) entry() string  { return "/.liza/" + f.Token }

// inner is the server as it calls itself.
func (f Forward) inner() string { return "localhost:" + strconv.Itoa(f.Port) }

// Serve forwards until ctx ends.
func (f Forward) Serve(ctx context.Context) error {
	server := &http.Server{Handler: f.handler(ctx), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(netutil.LimitListener(f.Listener, mostForwarded)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot go on forwarding: %w", err)
	}
	return nil
}

// handler guards the way to the server.
func (f Forward) handler(ctx context.Context) http.Handler {
	proxy, wrong := f.proxy(ctx), make(guesses, 1)
	_, port, _ := net.SplitHostPort(f.Listener.Addr().String())
	cookie := cookie + "_" + port
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entry := strings.HasPrefix(r.URL.Path, "/.liza/")
		switch {
		case r.Host != "127.0.0.1:"+port && r.Host != "localhost:"+port: // a page could have given its own name to this machine
			refuse(w, http.StatusForbidden, "this address is for its own machine; '"+r.Host+"' is not its name")
		case entry && same(r.URL.Path, f.entry()):
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: f.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Referrer-Policy", "no-referrer")
			_, _ = io.WriteString(w, "<!doctype html><meta http-equiv=refresh content=\"0;url=/\">\n") // after a redirect from another page a browser keeps the cookie back
		case entry || !hasCookie(r, cookie, f.Token):
			wrong.wait(r)
			refuse(w, http.StatusUnauthorized, "the token is missing or wrong, or its forwarding has ended; next: liza open TASK")
		case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+r.Host, foreign(r):
			refuse(w, http.StatusForbidden, "the request comes from another page, which reaches nothing here")
		case r.Header.Get("Service-Worker") != "": // it would outlive the forwarding, and have the pages of the next one that gets this port
			refuse(w, http.StatusForbidden, "no service worker is installed at an address that is for now only")
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.Error(w, "liza: "+text, status)
}

// proxy passes requests to the server as if they had been made to its own address, upgrades to WebSocket among them.
func (f Forward) proxy(ctx context.Context) *httputil.ReverseProxy {
	ours := func(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), cookie) } // of this and of other ports: a browser sends all of them
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", f.inner(), f.inner()
			var cookies []string
			for _, line := range r.In.Header["Cookie"] {
				cookies = append(cookies, slices.DeleteFunc(strings.Split(line, ";"), ours)...)
			}
			if r.Out.Header.Del("Cookie"); len(cookies) > 0 {
				r.Out.Header.Set("Cookie", strings.TrimSpace(strings.Join(cookies, ";")))
			}
			if r.Out.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", "http://"+f.inner())
			}
			if page, err := url.Parse(r.Out.Referer()); err == nil && page.Host == r.In.Host {
				page.Host = f.inner()
				r.Out.Header.Set("Referer", page.String())
			}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header["Set-Cookie"] = slices.DeleteFunc(r.Header["Set-Cookie"], ours)
			r.Header.Del("Clear-Site-Data") // browsers clear that of all ports
			r.Header.Del("Strict-Transport-Security")
			r.Header.Set("Cross-Origin-Resource-Policy", "same-origin")
			if to, err := url.Parse(r.Header.Get("Location")); err == nil && to.Port() == strconv.Itoa(f.Port) && loopback(to.Host) {
				to.Scheme, to.Host = "", ""
				r.Header.Set("Location", to.String())
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			p := f.Explain(err)
			text := p.Message
			if p.Next != "" {
				text += "\nnext: " + p.Next
			}
			refuse(w, http.StatusBadGateway, text)
		},
		Transport: bare{&http.Transport{MaxConnsPerHost: mostForwarded, IdleConnTimeout: time.Minute, DisableCompression: true,
			DialContext: func(dialing context.Context, _, _ string) (net.Conn, error) {
				conn, err := f.Dial(dialing)
				if err != nil {
					return nil, err
				}
				return &forwarded{conn, context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
			}}},
	}
}

// bare gives answers without what comes before and behind them, responses of 1xx and trailers: their headers pass no ModifyResponse.
type bare struct{ http.RoundTripper }

func (b bare) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r.WithContext(untraced{r.Context()}))
	if err != nil {
		return nil, err
	}
	alone := *answer // the trailers come into the other one
	alone.Trailer = nil
	alone.Header.Del("Trailer")
	return &alone, nil
}

// untraced is a context without its values, a trace of responses of 1xx among them.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }

// forwarded is a connection that ends with its forwarding, or after a long silence.
type forwarded struct {
	net.Conn
	forget func() bool
}

func (c *forwarded) Read(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(forwardedIdle))
	return c.Conn.Read(p)
}

func (c *forwarded) Write(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(forwardedIdle))
	return c.Conn.Write(p)
}

func (c *forwarded) Close() error {
	c.forget()
	return c.Conn.Close()
}
