package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// A forwarded server says what it was sent; at /set it tries what a page of an agent may not do.
func forwardTo(t *testing.T, handler http.Handler) (f Forward, stop context.CancelFunc) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f = Forward{Listener: listener, Token: "T0KEN", Port: 3000, Explain: func(err error) Problem { return Problem{Message: err.Error(), Next: "liza open"} },
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- f.Serve(ctx) }()
	t.Cleanup(func() {
		if stop(); <-served != nil {
			t.Error("it does not end in order")
		}
	})
	return f, stop
}

// ask sends a request with the cookie of the forwarding and headers, "Name: value".
func (f Forward) ask(t *testing.T, path string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.origin()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(f.Listener.Addr().String(), ":")
	r.Header.Set("Cookie", cookie+"_"+port+"="+f.Token)
	for _, h := range headers {
		if name, value, _ := strings.Cut(h, ": "); name == "Host" {
			r.Host = value
		} else if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func TestOnlyWhoHasTheTokenIsForwarded(t *testing.T) {
	t.Parallel()
	f, _ := forwardTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "inside", r.URL.Path, r.Host, r.Header["Origin"], r.Referer())
	}))
	_, port, _ := strings.Cut(f.Listener.Addr().String(), ":")
	mine, other := f.origin(), "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		path    string
		headers []string
		status  int
	}{
		"with its cookie":                         {"/a", nil, 200},
		"by the machine's other name":             {"/a", []string{"Host: localhost:" + port}, 200},
		"a request of its own page":               {"/a", []string{"Origin: " + mine, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: empty"}, 200},
		"led here by another page":                {"/a", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: document"}, 200},
		"with another cookie of its name":         {"/a", []string{"Cookie: liza_token_" + port + "=evil; liza_token_" + port + "=T0KEN"}, 200},
		"no cookie":                               {"/a", []string{"Cookie: "}, 401},
		"the cookie of another port":              {"/a", []string{"Cookie: liza_token_1=T0KEN"}, 401},
		"a wrong cookie":                          {"/a", []string{"Cookie: liza_token_" + port + "=T0KEM"}, 401},
		"a wrong token":                           {"/.liza/T0KEM", []string{"Cookie: "}, 401},
		"a part of the token":                     {"/.liza/T0KE", []string{"Cookie: "}, 401},
		"a name that a page gave to this machine": {"/a", []string{"Host: evil.example:" + port}, 403},
		"a name without the port":                 {"/a", []string{"Host: 127.0.0.1"}, 403},
		"the token by such a name":                {"/.liza/T0KEN", []string{"Host: evil.example:" + port}, 403},
		"a page of another port":                  {"/a", []string{"Origin: " + other}, 403},
		"a page without an origin":                {"/a", []string{"Origin: null"}, 403},
		"a frame in another port's page":          {"/a", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe"}, 403},
		"a script of another port's page":         {"/a", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: script"}, 403},
		"a WebSocket of another port's page":      {"/a", []string{"Origin: " + other, "Connection: Upgrade", "Upgrade: websocket"}, 403},
		"a service worker":                        {"/sw.js", []string{"Service-Worker: script"}, 403},
	} {
		status, text, _ := f.ask(t, c.path, c.headers...)
		if status != c.status || (status == 200) != strings.HasPrefix(text, "inside /a localhost:3000") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if _, text, _ := f.ask(t, "/a", "Origin: "+mine, "Referer: "+mine+"/b?c"); text != "inside /a localhost:3000 [http://localhost:3000] http://localhost:3000/b?c\n" {
		t.Errorf("the server is called as %s", text)
	}
	status, _, header := f.ask(t, f.entry(), "Cookie: ")
	if set := header.Get("Set-Cookie"); status != 200 || set != "liza_token_"+port+"=T0KEN; Path=/; HttpOnly; SameSite=Strict" || header.Get("Cache-Control") != "no-store" || header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the token is answered with %d, %v", status, header)
	}
}

// A browser sends all cookies of this machine to each of its ports, those of Liza's page among them.
func TestAForwardedServerAndLizaShareNoCookie(t *testing.T) {
	t.Parallel()
	f, _ := forwardTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, set := range []string{"liza_token_7717=evil; Path=/", " liza_token=evil", "session=s; Path=/; HttpOnly"} {
			w.Header().Add("Set-Cookie", set)
		}
		w.Header().Set("Clear-Site-Data", `"*"`)
		w.Header().Set("Strict-Transport-Security", "max-age=1")
		w.Header().Set("Location", "http://localhost:3000/next?a=b")
		fmt.Fprint(w, r.Header["Cookie"])
	}))
	_, port, _ := strings.Cut(f.Listener.Addr().String(), ":")
	status, text, header := f.ask(t, "/", "Cookie: a=1; liza_token_7717=secret;liza_token_"+port+`=T0KEN; b="{2}"`)
	if status != 200 || text != `[a=1; b="{2}"]` {
		t.Errorf("the server gets %d %s", status, text)
	}
	if set := header["Set-Cookie"]; len(set) != 1 || set[0] != "session=s; Path=/; HttpOnly" || header.Get("Clear-Site-Data")+header.Get("Strict-Transport-Security") != "" {
		t.Errorf("the browser gets %v", header)
	}
	if header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("pages of others may have it: %v", header)
	}
	if to := header.Get("Location"); to != "/next?a=b" {
		t.Errorf("a redirect leads to %s, out of the forwarding", to)
	}
	if _, text, _ := f.ask(t, "/"); text != "[]" {
		t.Errorf("without others: %s", text)
	}
}

// What comes before and behind an answer is not looked at, so it does not come.
func TestNothingComesAroundAForwardedAnswer(t *testing.T) {
	t.Parallel()
	f, _ := forwardTo(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "liza_token=evil")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Set-Cookie")
		w.Header().Set("Trailer", "Announced")
		fmt.Fprint(w, "the answer")
		w.Header().Set("Announced", "evil")
		w.Header().Set(http.TrailerPrefix+"Set-Cookie", "liza_token=evil")
	}))
	conn, err := net.Dial("tcp", f.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	host := f.Listener.Addr().String()
	_, port, _ := strings.Cut(host, ":")
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nCookie: %s_%s=T0KEN\r\nConnection: close\r\n\r\n", host, cookie, port)
	answer, err := io.ReadAll(conn)
	if text := string(answer); err != nil || !strings.HasPrefix(text, "HTTP/1.1 200 ") || !strings.Contains(text, "the answer") || strings.Contains(text, "evil") || strings.Contains(text, "Trailer") {
		t.Errorf("%v:\n%s", err, text)
	}
}

func TestWebSocketsAreForwardedUntilTheEnd(t *testing.T) {
	t.Parallel()
	f, stop := forwardTo(t, websocket.Handler(func(c *websocket.Conn) { _, _ = io.Copy(c, c) }))
	_, port, _ := strings.Cut(f.Listener.Addr().String(), ":")
	config, err := websocket.NewConfig("ws://"+f.Listener.Addr().String()+"/hmr", f.origin())
	if err != nil {
		t.Fatal(err)
	}
	config.Header.Set("Cookie", "liza_token_"+port+"=T0KEN")
	conn, err := config.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text := ""
	if err := errors.Join(websocket.Message.Send(conn, "hello"), websocket.Message.Receive(conn, &text)); err != nil || text != "hello" {
		t.Errorf("the echo is %q, %v", text, err)
	}
	stop()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if err := websocket.Message.Receive(conn, &text); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is open after the end")
	}
	if conn, err := net.Dial("tcp", f.Listener.Addr().String()); err == nil {
		conn.Close()
		t.Error("something listens after the end")
	}
}

func TestAServerThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	f := Forward{Token: "T", Explain: func(err error) Problem { return Problem{Message: err.Error(), Next: "liza open task-1"} },
		Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("nothing listens on port 3000") }}
	w := httptest.NewRecorder()
	f.proxy(t.Context()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusBadGateway || w.Body.String() != "liza: nothing listens on port 3000\nnext: liza open task-1\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
