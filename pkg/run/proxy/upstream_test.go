package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// company is a proxy that answers every CONNECT itself; what it was asked is sent.
func company(t *testing.T, status string) (address string, asked <-chan *http.Request) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	seen := make(chan *http.Request, 4)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				seen <- r
				fmt.Fprintf(c, "HTTP/1.1 %s\r\n\r\nfirst words of the target", status)
			}
			c.Close()
		}
	}()
	return l.Addr().String(), seen
}

func askThrough(t *testing.T, up, target string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Serve(l, Options{Hosts: []string{"api.example.com"}, Upstream: func(*url.URL) (*url.URL, error) { return url.Parse(up) }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	all, _ := io.ReadAll(c)
	return string(all)
}

func TestAPersonsOwnProxyIsTheWayOut(t *testing.T) {
	t.Parallel()
	address, asked := company(t, "200 OK")
	got := askThrough(t, "http://ada:secret@"+address, "api.example.com:80")
	if !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.HasSuffix(got, "first words of the target") {
		t.Errorf("answered %q", got)
	}
	r := <-asked
	if user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); r.Host != "api.example.com:80" || user != "ada" || password != "secret" {
		t.Errorf("asked for %s as %s", r.Host, user)
	}
	if got := askThrough(t, "http://"+address, "other.example.com:443"); !strings.HasPrefix(got, "HTTP/1.1 403") || len(asked) > 0 {
		t.Errorf("a host that nobody allowed: %q", got)
	}
}

func TestAProxyThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	address, _ := company(t, "407 Proxy Authentication Required")
	if got := askThrough(t, "http://"+address, "api.example.com:443"); !strings.HasPrefix(got, "HTTP/1.1 502") || !strings.Contains(got, "407") {
		t.Errorf("answered %q", got)
	}
	if got := askThrough(t, "socks5://"+address, "api.example.com:443"); !strings.Contains(got, "socks5 is not http or https") {
		t.Errorf("answered %q", got)
	}
}
