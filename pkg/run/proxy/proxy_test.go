package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// public is the address of everything that is out there in these tests.
var public = netip.MustParseAddr("93.184.216.34")

// A place is a proxy, one server that stands for all of the world, and what was seen of them.
type place struct {
	t      *testing.T
	socket string
	proxy  *Proxy

	mu      sync.Mutex
	names   []string // looked up
	dialled []string
	refused []Refusal
}

func (x *place) note(list *[]string, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*list = append(*list, text)
}

func (x *place) seen(list *[]string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(*list)
}

// begin serves with these hosts. What a name leads to is in addrs, else it is public.
func begin(t *testing.T, world *httptest.Server, o Options, addrs map[string]string) *place {
	t.Helper()
	folder, err := os.MkdirTemp("", "p") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	x := &place{t: t, socket: filepath.Join(folder, "s")}
	o.Lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		x.note(&x.names, name)
		list := []netip.Addr{public}
		if text, ok := addrs[name]; ok {
			list = nil
			for _, one := range strings.Fields(text) {
				list = append(list, netip.MustParseAddr(one))
			}
		}
		return list, nil
	}
	o.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		x.note(&x.dialled, addr.String())
		return (&net.Dialer{}).DialContext(ctx, "tcp", world.Listener.Addr().String())
	}
	o.Own = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("93.184.216.1")} }
	o.Refused = func(r Refusal) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.refused = append(x.refused, r)
	}
	l, err := net.Listen("unix", x.socket)
	if err != nil {
		t.Fatal(err)
	}
	if x.proxy, err = Serve(l, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.proxy.Close()
		_ = os.RemoveAll(folder)
	})
	return x
}

func (x *place) connect() net.Conn {
	x.t.Helper()
	c, err := net.Dial("unix", x.socket)
	if err != nil {
		x.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	x.t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw sends bytes and returns all that comes back until the connection ends.
func (x *place) raw(text string) string {
	x.t.Helper()
	c := x.connect()
	if _, err := io.WriteString(c, text); err != nil {
		return err.Error()
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil {
		return err.Error()
	}
	_ = c.(*net.UnixConn).CloseWrite() // one that has no more to say is gone for a server of HTTP
	rest, _ := io.ReadAll(c)
	return string(first) + string(rest)
}

// client speaks through the proxy, as programs do.
func (x *place) client() *http.Client {
	t := &http.Transport{
		Proxy:       http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", x.socket) },
	}
	x.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: 20 * time.Second}
}

func world(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s host=%s secret=%s body=%s", r.Method, r.URL.Path, r.Host, r.Header.Get("Proxy-Authorization"), body)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestPlainRequestsReachTheHostsThatAreAllowed(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{Hosts: []string{"api.example.com", "*.example.org", "local.example:8080"}}, nil)
	for _, at := range []string{"api.example.com", "API.example.com:80", "a.b.example.org", "local.example:8080"} {
		req, _ := http.NewRequest("POST", "http://"+at+"/v1", strings.NewReader("hello"))
		req.Header.Set("Proxy-Authorization", "Basic xyz")
		resp, err := x.client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if text := string(body); resp.StatusCode != 200 || !strings.HasPrefix(text, "POST /v1 host=") || !strings.HasSuffix(text, "secret= body=hello") {
			t.Errorf("%s: %d %s", at, resp.StatusCode, text)
		}
	}
	if got := x.seen(&x.dialled); !slices.Contains(got, "93.184.216.34:8080") {
		t.Errorf("dialled %v", got)
	}
}

func TestATunnelCarriesBothWaysUntilBothHaveEnded(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{Hosts: []string{"api.example.com"}}, nil)
	// Some programs ask for a tunnel for plain HTTP as well. The first bytes come right behind the request.
	got := x.raw("CONNECT api.example.com:80 HTTP/1.1\r\nHost: api.example.com\r\n\r\nGET /x HTTP/1.1\r\nHost: inside\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, "GET /x host=inside") {
		t.Error(got)
	}
	if got := x.seen(&x.dialled); !slices.Equal(got, []string{"93.184.216.34:80"}) {
		t.Errorf("dialled %v", got)
	}
}

// A refusal comes at once, is told once, and nothing is looked up for it.
func TestARefusalNamesTheSettingAndIsToldOnce(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{Hosts: []string{"api.example.com"}, Quiet: []string{"*.stats.example"}, Registries: []string{"packages.example"}}, nil)
	for host, want := range map[string]string{
		"evil.example:443":      "liza: cannot reach evil.example: it is not among the hosts that are allowed; next: add evil.example to sandbox.allow.hosts in .liza/config.yaml",
		"evil.example:22":       "next: add evil.example:22 to sandbox.allow.hosts",
		"packages.example:443":  "next: set sandbox.allow.registries, or add packages.example to sandbox.allow.hosts",
		"a.stats.example:443":   "next: add a.stats.example to",
		"api.example.com:22":    "next: add api.example.com:22 to",
		"127.0.0.1:80":          "next: add 127.0.0.1 to",
		"[::1]:443":             "next: add [::1]:443 to",
		"secret-in-a-name.x:80": "not among the hosts",
	} {
		for range 3 {
			got := x.raw("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
			if !regexp.MustCompile(`^HTTP/1.1 403 Forbidden by Liza: \S+ is not in sandbox.allow.hosts\r\n`).MatchString(got) || !strings.Contains(got, want) {
				t.Errorf("%s: %s", host, got)
			}
		}
		got := x.raw("GET http://" + host + "/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", host, got)
		}
	}
	if names, dialled := x.seen(&x.names), x.seen(&x.dialled); len(names)+len(dialled) > 0 {
		t.Errorf("looked up %v, dialled %v", names, dialled)
	}
	quiet := 0
	for _, r := range x.refused {
		if r.Quiet {
			quiet++
		}
	}
	if len(x.refused) != 8 || quiet != 1 {
		t.Errorf("told of %v", x.refused)
	}
}

func TestANameThatLeadsToThisMachineOrAPrivateNetworkIsRefused(t *testing.T) {
	t.Parallel()
	leads := map[string]string{
		"loop.example": "127.0.0.1", "meta.example": "169.254.169.254", "lan.example": "192.168.1.7", "mixed.example": "93.184.216.34 10.0.0.1", "mapped.example": "::ffff:127.0.0.1",
		"six.example": "fd00::1", "me.example": "93.184.216.1", "nat.example": "64:ff9b::7f00:1", "wild.private.example": "10.0.0.2", "named.example": "10.0.0.3", "localhost": "127.0.0.1",
	}
	hosts := []string{"*.private.example:8443", "named.example:443", "127.0.0.1:11434", "10.0.0.9", "localhost:8080"}
	for name := range leads {
		hosts = append(hosts, name)
	}
	x := begin(t, world(t), Options{Hosts: hosts}, leads)
	for _, at := range []string{"loop.example:443", "meta.example:80", "lan.example:443", "mixed.example:443", "mapped.example:443", "six.example:443", "me.example:80", "nat.example:443", "wild.private.example:8443", "named.example:80", "localhost:80"} {
		got := x.raw("CONNECT " + at + " HTTP/1.1\r\nHost: x\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, "next: add "+at+", with its port, to sandbox.allow.hosts") {
			t.Errorf("%s: %s", at, got)
		}
		if got := x.raw("GET http://" + at + "/latest/meta-data HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
			t.Errorf("%s: %s", at, got)
		}
	}
	if got := x.seen(&x.dialled); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
	// What a person has written down as an address or with a port is meant.
	for _, at := range []string{"named.example:443", "127.0.0.1:11434", "10.0.0.9:80", "localhost:8080", "127.0.0.1:8080"} {
		if got := x.raw("GET http://" + at + "/ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s: %s", at, got)
		}
	}
	if got := x.seen(&x.dialled); len(got) != 5 {
		t.Errorf("dialled %v", got)
	}
}

// The second answer of a name server does not count: what is dialled is what was checked.
func TestTheAddressThatWasCheckedIsDialled(t *testing.T) {
	t.Parallel()
	w := world(t)
	x := begin(t, w, Options{Hosts: []string{"turns.example"}}, nil)
	asked := 0
	x.proxy.o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		asked++
		if asked > 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{public}, nil
	}
	if got := x.raw("CONNECT turns.example:80 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Error(got)
	}
	if got := x.seen(&x.dialled); asked != 1 || !slices.Equal(got, []string{"93.184.216.34:80"}) {
		t.Errorf("asked %d times, dialled %v", asked, got)
	}
	if got := x.raw("CONNECT turns.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("the second time: %s", got)
	}
}

func TestHostileRequestsReachNobodyElse(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{Hosts: []string{"ok.example"}}, nil)
	long := strings.Repeat("a", maxHeader+8192)
	for name, request := range map[string]string{
		"no proxy request":       "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"https in plain":         "GET https://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"another scheme":         "GET ftp://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a user in the URI":      "GET http://ok.example:80@evil.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a user in CONNECT":      "CONNECT ok.example:443@evil.example:443 HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a path in CONNECT":      "CONNECT ok.example:443/../evil.example:443 HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a fragment":             "CONNECT evil.example:443#ok.example:443 HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"escapes":                "GET http://ok.example%2eevil.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a decimal address":      "CONNECT 2130706433:80 HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a short address":        "CONNECT 127.1:80 HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"an octal address":       "GET http://0177.0.0.1/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"a huge header":          "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nX: " + long + "\r\n\r\n",
		"a huge line":            "CONNECT " + long + ":443 HTTP/1.1\r\n\r\n",
		"no HTTP":                "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"two lengths":            "POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nabcd",
		"a bad encoding":         "POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		"a space before a colon": "GET http://ok.example/ HTTP/1.1\r\nHost : evil.example\r\n\r\n",
	} {
		got := x.raw(request)
		if status, _, _ := strings.Cut(got, "\r\n"); !strings.HasPrefix(status, "HTTP/1.") || strings.Contains(status, " 200") {
			t.Errorf("%s: %q", name, status)
		}
	}
	if got := x.seen(&x.dialled); len(got) > 0 {
		t.Errorf("dialled %v", got)
	}
	// What follows a request that is allowed is judged by itself, and another Host does not count.
	c := x.connect()
	_, _ = io.WriteString(c, "POST http://ok.example/a HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.example/b HTTP/1.1\r\nHost: ok.example\r\n\r\n")
	all, _ := io.ReadAll(c)
	if got := string(all); !strings.Contains(got, "POST /a host=ok.example:80") || strings.Contains(got, "/b host=") || !strings.Contains(got, "403") && strings.Count(got, "HTTP/1.1") > 1 {
		t.Errorf("a hidden request: %s", all)
	}
	for _, name := range x.seen(&x.names) {
		if name != "ok.example" {
			t.Errorf("looked up %s", name)
		}
	}
}

func TestMoreConnectionsThanTheBoundAreTurnedAwayAtOnce(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{Hosts: []string{"ok.example"}}, nil)
	for range maxConnections {
		x.connect()
	}
	// The proxy takes connections in order, so this one comes after all of those.
	got, _ := http.ReadResponse(bufio.NewReader(x.connect()), nil)
	if got == nil || got.StatusCode != 503 {
		t.Errorf("beyond the bound: %+v", got)
	}
}

func TestRefusalsBeyondTheBoundAreNotToldAnyMore(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{}, nil)
	for i := range maxRefusals + 20 {
		if got := x.raw(fmt.Sprintf("CONNECT a%d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", i)); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
			t.Fatal(got)
		}
	}
	if len(x.refused) != maxRefusals {
		t.Errorf("told of %d refusals, want %d", len(x.refused), maxRefusals)
	}
}

func TestCloseEndsTunnelsAndRemovesTheSocket(t *testing.T) {
	t.Parallel()
	held, release := make(chan struct{}), make(chan struct{})
	w := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one")
		_ = http.NewResponseController(w).Flush()
		close(held)
		<-release
	}))
	defer w.Close()
	defer close(release)
	x := begin(t, w, Options{Hosts: []string{"ok.example"}}, nil)
	tunnel, plain := x.connect(), x.connect()
	_, _ = io.WriteString(tunnel, "CONNECT ok.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := bufio.NewReader(tunnel).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%s %v", line, err)
	}
	_, _ = io.WriteString(plain, "GET http://ok.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	<-held
	if err := x.proxy.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []net.Conn{tunnel, plain} {
		if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection lives on after Close")
		}
	}
	if _, err := os.Stat(x.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// pipes is a listener whose connections are in memory, for time that is not real.
type pipes struct {
	c    chan net.Conn
	done chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.c:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error   { close(l.done); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func TestWhatIsSlowEndsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		p := &Proxy{refused: map[string]bool{}, hosts: []pattern{{target: target{name: "ok.example"}}, {target: target{name: "hangs.example"}}}, o: Options{
			Own: func() []netip.Addr { return nil },
			Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
				if name == "hangs.example" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return []netip.Addr{public}, nil
			},
			Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
				far, near := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, far) }()
				return near, nil
			},
		}}
		p.begin(l)
		ends := func(first string) (string, time.Duration) {
			mine, theirs := net.Pipe()
			l.c <- theirs
			begun := time.Now()
			go func() { _, _ = io.WriteString(mine, first) }()
			all, _ := io.ReadAll(mine)
			return string(all), time.Since(begun)
		}
		if _, after := ends("CONNECT ok.exa"); after != headerTime {
			t.Errorf("half a header is waited for during %s, want %s", after, headerTime)
		}
		if got, after := ends("CONNECT ok.example:443 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03"); after != helloTime || !strings.Contains(got, "200") {
			t.Errorf("a tunnel that does not name its host lives for %s, want %s: %s", after, helloTime, got)
		}
		if got, after := ends("CONNECT ok.example:80 HTTP/1.1\r\nHost: x\r\n\r\n"); after != tunnelIdle || !strings.Contains(got, "200") {
			t.Errorf("an idle tunnel lives for %s, want %s: %s", after, tunnelIdle, got)
		}
		if got, after := ends("CONNECT hangs.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"); after != lookupTime || !strings.Contains(got, "502") {
			t.Errorf("a name that is not found is waited for during %s, want %s: %s", after, lookupTime, got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAListOfHostsThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	if p, err := Serve(l, Options{Hosts: []string{"http://x"}}); err == nil {
		_ = p.Close()
		t.Error("a URL is taken for a host")
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}
