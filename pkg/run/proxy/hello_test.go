package proxy

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// records splits the handshake of a client into records of so many bytes.
type records struct {
	net.Conn
	size int
}

func (r records) Write(b []byte) (int, error) {
	var out bytes.Buffer
	head, body := b[:5], b[5:]
	for len(body) > 0 && head[0] == 22 {
		n := min(r.size, len(body))
		out.Write([]byte{head[0], head[1], head[2], byte(n >> 8), byte(n)})
		out.Write(body[:n])
		body = body[n:]
	}
	if head[0] != 22 {
		out.Write(b)
	}
	for piece := range bytes.SplitSeq(out.Bytes(), nil) { // and single bytes on the way
		if _, err := r.Conn.Write(piece); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// An allowed name leads to an address that many hosts share: which of them is meant says the first message of TLS.
func TestATunnelNamesTheHostThatItWasAskedFor(t *testing.T) {
	t.Parallel()
	w := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "reached "+r.TLS.ServerName) }))
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.StartTLS()
	t.Cleanup(w.Close)
	for name, tt := range map[string]struct {
		asked, named string
		size         int
		why          string // of the refusal; "": it is let through
	}{
		"the same":                     {"api.example.com:443", "api.example.com", 1 << 14, ""},
		"in capitals":                  {"api.example.com:443", "API.Example.com", 1 << 14, ""},
		"in many records":              {"api.example.com:443", "api.example.com", 40, ""},
		"another":                      {"api.example.com:443", "evil.example", 1 << 14, "a connection that was asked for api.example.com names it instead"},
		"another in many records":      {"api.example.com:443", "evil.example", 40, "names it instead"},
		"another allowed one":          {"api.example.com:443", "other.example.com", 1 << 14, "names it instead"},
		"none":                         {"api.example.com:443", "", 1 << 14, "does not say which host it is for (SNI)"},
		"none, where a person said so": {"odd.example.com:443", "", 1 << 14, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := begin(t, w, Options{Hosts: []string{"api.example.com", "other.example.com", "odd.example.com:443"}}, nil)
			c := x.connect()
			_, _ = io.WriteString(c, "CONNECT "+tt.asked+" HTTP/1.1\r\nHost: x\r\n\r\n")
			answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
			if _, err := io.ReadFull(c, answer); err != nil {
				t.Fatal(err)
			}
			client := tls.Client(records{c, tt.size}, &tls.Config{ServerName: tt.named, InsecureSkipVerify: true}) //nolint:gosec // the test's own server
			got := ""
			_, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: "+tt.named+"\r\nConnection: close\r\n\r\n")
			if err == nil {
				all, _ := io.ReadAll(client)
				got = string(all)
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			if tt.why == "" {
				if !strings.Contains(got, "reached "+tt.named) || len(x.refused) > 0 {
					t.Errorf("%v %s %v", err, got, x.refused)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "unrecognized name") || strings.Contains(got, "reached") {
				t.Errorf("the program sees %v %s", err, got)
			}
			if len(x.refused) != 1 || !strings.Contains(x.refused[0].Why, tt.why) {
				t.Errorf("people are told %+v", x.refused)
			}
		})
	}
}

func TestATunnelToPort443IsTLS(t *testing.T) {
	t.Parallel()
	x := begin(t, world(t), Options{Hosts: []string{"api.example.com"}}, nil)
	got := x.raw("CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\nGET /x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
	if strings.Contains(got, "host=evil.example") || !strings.HasSuffix(got, unrecognized) {
		t.Errorf("%q", got)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.refused) != 1 || x.refused[0].Host != "api.example.com:443" || !strings.Contains(x.refused[0].Why, "does not begin with TLS") {
		t.Errorf("people are told %+v", x.refused)
	}
}
