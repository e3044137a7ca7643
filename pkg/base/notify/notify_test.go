package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)

func clock() time.Time { return at }

func plain(text string) string { return text }

// receiver answers with one status after the other, then 200.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []*http.Request
	bodies   []string
}

func receive(t *testing.T, statuses ...int) *receiver {
	r := &receiver{statuses: statuses}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
		if len(r.statuses) > 0 {
			status := r.statuses[0]
			r.statuses = r.statuses[1:]
			w.Header().Set("Location", "http://"+req.Host+"/elsewhere")
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) hook() *Webhook {
	return &Webhook{URL: r.URL + "/hook", AllowHosts: []string{"127.0.0.1"}, RequireHTTPS: true, Session: "project", waits: []time.Duration{0, 0}}
}

func message(content string) Message {
	m := New("blocked", "BLOCKED#3", content)
	m.ID, m.Task = "n-17", "task-3"
	return m
}

// K-19: 500, 500, 200 is delivered with the third attempt, signed, with one id; a redirect is not
// followed; a dead endpoint is an error of the delivery.
func TestAWebhookIsTriedThreeTimes(t *testing.T) {
	t.Parallel()
	r := receive(t, 500, 500)
	w := r.hook()
	w.Key = "the-key"
	tries, err := w.Send(t.Context(), message("why ghp_SECRET?"), clock, func(s string) string { return strings.ReplaceAll(s, "ghp_SECRET", "[REDACTED:x]") })
	if tries != 3 || err != nil || len(r.got) != 3 {
		t.Fatalf("%d attempts, %v, %d requests", tries, err, len(r.got))
	}
	for i, req := range r.got {
		sign := hmac.New(sha256.New, []byte("the-key"))
		sign.Write([]byte(r.bodies[i]))
		if req.Header.Get("X-Liza-Signature") != "sha256="+hex.EncodeToString(sign.Sum(nil)) || req.Header.Get("X-Liza-Id") != "n-17" || req.Header.Get("Content-Type") != "application/json" || req.Method != "POST" {
			t.Errorf("request %d: %s %v", i, req.Method, req.Header)
		}
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(r.bodies[2]), &body); err != nil {
		t.Fatal(err)
	}
	if body["content"] != "why [REDACTED:x]?" || body["task_id"] != "task-3" || body["session"] != "project" || body["sent_at"] != "2026-01-19T14:00:00Z" || body["id"] != "n-17" {
		t.Errorf("the body is %v", body)
	}

	r = receive(t, 302, 307, 301)
	if tries, err = r.hook().Send(t.Context(), message("x"), clock, plain); tries != 3 || err == nil || len(r.got) != 3 {
		t.Errorf("a redirect: %d attempts, %v, %d requests", tries, err, len(r.got))
	}
	for _, req := range r.got {
		if req.URL.Path != "/hook" {
			t.Errorf("a redirect was followed to %s", req.URL)
		}
	}
	dead := r.hook()
	r.Close()
	dead.URL += "?key=confidential"
	if tries, err = dead.Send(t.Context(), message("x"), clock, plain); tries != 3 || err == nil || strings.Contains(err.Error(), "confidential") {
		t.Errorf("a dead endpoint: %d attempts, %v", tries, err)
	}
}

// K-19, N-33: nothing is sent to an address that is not public, however it is written, no matter who
// says so, and whatever the second answer of the name service is.
func TestAWebhookNeverReachesAPrivateAddress(t *testing.T) {
	t.Parallel()
	r := receive(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), ":")
	names := map[string][]string{
		"localhost.example.org": {"127.0.0.1"}, "second.example.org": {"93.184.215.14", "127.0.0.1"}, "six.example.org": {"2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::1"},
		"mapped.example.org": {"::ffff:127.0.0.1"}, "local.example.org": {"fe80::1%lo"}, "cgnat.example.org": {"100.64.1.1"}, "none.example.org": {},
		"unique.example.org": {"fd00::1"}, "multi.example.org": {"224.0.0.1"}, "nat64.example.org": {"64:ff9b::7f00:1"}, "sixtofour.example.org": {"2002:7f00:1::"}, "compatible.example.org": {"::127.0.0.1"},
	}
	hosts := []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "0.0.0.0", "[::]", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1",
		"169.254.169.254", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]", "ada:pw@93.184.215.14", "ada@localhost.example.org", "127.0.0.1.", "2130706433."}
	for name := range names {
		hosts = append(hosts, name)
	}
	for _, host := range hosts {
		w := &Webhook{URL: "http://" + host + ":" + port + "/", waits: []time.Duration{0, 0}, resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			var list []netip.Addr
			for _, a := range names[host] {
				list = append(list, netip.MustParseAddr(a))
			}
			return list, nil
		}}
		if tries, err := w.Send(t.Context(), message("x"), clock, plain); err == nil || tries > 1 && host != "none.example.org" {
			t.Errorf("%s: %d attempts, %v", host, tries, err)
		}
	}
	for _, bad := range []string{"file:///etc/passwd", "gopher://example.org/", "http://", "://", "http://93.184.215.14/"} {
		w := &Webhook{URL: bad, RequireHTTPS: true}
		if tries, err := w.Send(t.Context(), message("x"), clock, plain); err == nil || tries != 0 {
			t.Errorf("%s: %d attempts, %v", bad, tries, err)
		}
	}
	if len(r.got) > 0 {
		t.Errorf("%d requests arrived", len(r.got))
	}
}

// The name is resolved once for a connection, which goes to the address that was checked.
func TestTheCheckedAddressIsDialled(t *testing.T) {
	t.Parallel()
	r := receive(t)
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	w := r.hook()
	w.URL, w.AllowHosts = "http://hook.example.org:"+u.Port()+"/x", []string{"hook.example.org"}
	w.resolve = func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked > 1 {
			return nil, errors.New("asked twice")
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if _, err := w.Send(t.Context(), message("x"), clock, plain); err != nil || len(r.got) != 1 || r.got[0].Host != "hook.example.org:"+u.Port() {
		t.Errorf("%v, %d requests", err, len(r.got))
	}
}

func TestPublicAddressesArePublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:8.8.8.8"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
}

func TestABodyIsCutToItsLimit(t *testing.T) {
	t.Parallel()
	w := &Webhook{MaxPayload: 600}
	for _, content := range []string{strings.Repeat("ä", 2000), strings.Repeat("\"\n", 2000), "short"} {
		body, err := w.body(message(content), at, plain)
		var m Message
		if err != nil || len(body) > 600 || json.Unmarshal(body, &m) != nil {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
		if cut, was := strings.CutSuffix(m.Content, cutMark); was != (content != "short") || !strings.HasPrefix(content, cut) || strings.Contains(m.Content, "\ufffd") {
			t.Errorf("the content is %q", m.Content)
		}
	}
}

func box(t *testing.T) Outbox { return Outbox{Path: filepath.Join(t.TempDir(), "notifications.jsonl")} }

func TestTheSameEventIsRaisedOnce(t *testing.T) {
	t.Parallel()
	o := box(t)
	one, two := message("once"), New("checkpoint", "sprint-1#1", "half time")
	for range 2 {
		if err := o.Put(t.Context(), at, one, two, one); err != nil {
			t.Fatal(err)
		}
	}
	other := message("again")
	other.Data = map[string]any{of: "BLOCKED#9"}
	if err := o.Put(t.Context(), at.Add(time.Hour), other); err != nil {
		t.Fatal(err)
	}
	waiting, err := o.Waiting(at.Add(2 * time.Hour))
	if err != nil || len(waiting) != 3 || waiting[0].ID != "n-1" || waiting[2].ID != "n-3" || waiting[2].Content != "again" {
		t.Errorf("waiting: %v, %v", waiting, err)
	}
	if waiting, _ = o.Waiting(at.Add(24*time.Hour + time.Minute)); len(waiting) != 1 {
		t.Errorf("after a day %d wait", len(waiting))
	}
	if info, err := os.Stat(o.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the outbox: %v, %v", info, err)
	}
}

func TestATornLineHarmsNobody(t *testing.T) {
	t.Parallel()
	o := box(t)
	if err := o.Put(t.Context(), at, message("one")); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(o.Path)
	if err := os.WriteFile(o.Path, append(data, `{"id":"n-2","at":"20`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Put(t.Context(), at, New("question", "q-1", "two")); err != nil {
		t.Fatal(err)
	}
	if waiting, err := o.Waiting(at); err != nil || len(waiting) != 2 || waiting[1].Content != "two" {
		t.Errorf("waiting: %v, %v", waiting, err)
	}
}

func TestAFullOutboxIsPutAway(t *testing.T) {
	t.Parallel()
	o := box(t)
	var many []Message
	for i := range 11 {
		many = append(many, New("question", fmt.Sprint("q-", i), strings.Repeat("x", 1<<20)))
	}
	if err := o.Put(t.Context(), at, append(many, New("question", "q-11", "waits"))...); err != nil {
		t.Fatal(err)
	}
	if err := o.Put(t.Context(), at, New("question", "q-12", "new")); err != nil {
		t.Fatal(err)
	}
	waiting, err := o.Waiting(at)
	if err != nil || len(waiting) != 2 || waiting[0].ID != "n-12" || waiting[1].ID != "n-13" {
		t.Errorf("%d wait, %v", len(waiting), err)
	}
	if away, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Path), "notifications.1.jsonl.gz")); len(away) != 1 {
		t.Error("nothing was put away")
	}
}

// K-19: what cannot be delivered is noted, and told; what was not chosen stays in the outbox.
func TestACourierDelivers(t *testing.T) {
	t.Parallel()
	o, r := box(t), receive(t, 500, 500, 500)
	for _, m := range []Message{message("fails"), New("question", "q-1", "arrives"), New("checkpoint", "s#1", "not chosen")} {
		if err := o.Put(t.Context(), at, m); err != nil {
			t.Fatal(err)
		}
	}
	var failed []string
	c := Sender{Outbox: o, Lock: o.Path + ".sender", Now: clock, Webhook: func() (*Webhook, []string) { return r.hook(), []string{"blocked", "question"} },
		Failed: func(_ context.Context, host string, err error) { failed = append(failed, host) }, Problem: func(err error) { t.Error(err) }}
	for range 2 {
		if err := c.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.got) != 4 || len(failed) != 1 || !strings.HasPrefix(failed[0], "127.0.0.1:") {
		t.Errorf("%d requests, failed %q", len(r.got), failed)
	}
	data, _ := os.ReadFile(o.Path)
	for _, want := range []string{`{"id":"n-1","delivery":"failed","attempts":3,`, `{"id":"n-2","delivery":"delivered","attempts":1,`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the outbox lacks %s:\n%s", want, data)
		}
	}
	c.Webhook = func() (*Webhook, []string) { return nil, nil }
	if err := c.Deliver(t.Context()); err != nil {
		t.Error(err)
	}
}
