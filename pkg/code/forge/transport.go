package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options select a repository of a forge, and how it is reached.
type Options struct {
	Kind  string // github, gitlab or gitea
	API   string // address of the API, without a slash at its end
	Web   string // address of its pages, without a slash at its end; for File
	Repo  string // owner/name; GitLab: with groups
	Token string

	HTTP *http.Client                                     // nil: the usual one, with a time limit
	Now  func() time.Time                                 // required
	Wait func(ctx context.Context, d time.Duration) error // required: for back-off and rate limits
}

// File is the web address of the content of a file in a commit.
func (o Options) File(commit, path string) string {
	at := strings.Split(path, "/")
	for i := range at {
		at[i] = url.PathEscape(at[i])
	}
	path = strings.Join(at, "/")
	switch o.Kind {
	case GitLab:
		return o.Web + "/" + o.Repo + "/-/raw/" + commit + "/" + path
	case Gitea:
		return o.Web + "/" + o.Repo + "/raw/commit/" + commit + "/" + path
	}
	return o.Web + "/" + o.Repo + "/blob/" + commit + "/" + path + "?raw=true"
}

// The limits of a forge's answers and of waiting.
const (
	maxAnswer   = 8 << 20  // bytes of one answer
	maxLogRead  = 64 << 20 // bytes of a log whose end is kept
	maxPages    = 50
	maxTries    = 4
	maxWait     = 90 * time.Second // longest wait for one rate limit; the caller handles a longer one
	callTimeout = 60 * time.Second
)

// LogTail is the most bytes of a log that are kept.
const LogTail = 12 << 10

// transport carries calls to one API.
type transport struct {
	Options
	base *url.URL
}

func newTransport(o Options) (*transport, error) {
	base, err := url.Parse(o.API)
	if err != nil || base.Host == "" || base.Scheme != "https" && !loopback(base) {
		return nil, fmt.Errorf("cannot use %q as the address of a forge: it is not an https address", o.API)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: callTimeout}
	}
	own := *o.HTTP
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // see send
	o.HTTP = &own
	return &transport{o, base}, nil
}

// loopback reports whether an address without encryption leads to this machine alone.
func loopback(u *url.URL) bool {
	host := u.Hostname()
	return u.Scheme == "http" && (host == "localhost" || host == "127.0.0.1" || host == "::1")
}

// get reads one value.
func (t *transport) get(ctx context.Context, path string, into any) error {
	_, err := t.call(ctx, http.MethodGet, t.API+path, nil, into)
	return err
}

// write changes something. It is carried out at most once.
func (t *transport) write(ctx context.Context, method, path string, body, into any) error {
	_, err := t.call(ctx, method, t.API+path, body, into)
	return err
}

// pages reads all pages of a list, each by one call of page.
func pages[T any](ctx context.Context, t *transport, path string, page func(T)) error {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	next := t.API + path + sep + "per_page=100&limit=50" // Gitea's name for it is limit
	for range maxPages {
		var v T
		header, err := t.call(ctx, http.MethodGet, next, nil, &v)
		if err != nil {
			return err
		}
		page(v)
		if next = nextPage(header.Get("Link")); next == "" {
			return nil
		}
		if u, err := url.Parse(next); err != nil || !t.own(u) {
			return fmt.Errorf("cannot read %s: its next page is on another host", path)
		}
	}
	return fmt.Errorf("cannot read %s: it has more than %d pages", path, maxPages)
}

// list reads all pages of a list of values.
func list[T any](ctx context.Context, t *transport, path string) ([]T, error) {
	var all []T
	err := pages(ctx, t, path, func(page []T) { all = append(all, page...) })
	return all, err
}

// nextPage is the address that a Link header gives for the next page, "" for none.
func nextPage(link string) string {
	for part := range strings.SplitSeq(link, ",") {
		address, rel, ok := strings.Cut(part, ";")
		if ok && strings.Contains(rel, `rel="next"`) {
			return strings.Trim(strings.TrimSpace(address), "<>")
		}
	}
	return ""
}

// own reports whether an address is on the host of the token.
func (t *transport) own(u *url.URL) bool { return u.Scheme == t.base.Scheme && u.Host == t.base.Host }

// call sends one call and reads a JSON answer.
func (t *transport) call(ctx context.Context, method, address string, body, into any) (http.Header, error) {
	resp, err := t.try(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the answer of %s: %w", t.base.Host, err)
	case len(data) > maxAnswer:
		return nil, fmt.Errorf("cannot read the answer of %s: it has more than %d MB", t.base.Host, maxAnswer>>20)
	case into == nil:
		return resp.Header, nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("cannot read the answer of %s: %v", t.base.Host, err)
	}
	return resp.Header, nil
}

// tail is the end of a long text.
func (t *transport) tail(ctx context.Context, path string) (string, error) {
	resp, err := t.try(ctx, http.MethodGet, t.API+path, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var kept []byte
	chunk := make([]byte, 32<<10)
	for from := io.LimitReader(resp.Body, maxLogRead); ; {
		n, err := from.Read(chunk)
		if kept = append(kept, chunk[:n]...); len(kept) > 8*LogTail {
			kept = append(kept[:0], kept[len(kept)-LogTail:]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("cannot read the log: %w", err)
		}
	}
	return Tail(string(kept)), nil
}

// Tail returns the end of a log, from the beginning of a line.
func Tail(log string) string {
	if len(log) > LogTail {
		log = log[len(log)-LogTail:]
		if _, rest, ok := strings.Cut(log, "\n"); ok {
			log = rest
		}
	}
	return strings.ToValidUTF8(log, "?")
}

// try sends a call until it is answered: rate limits are waited for, and reads are repeated after failures.
func (t *transport) try(ctx context.Context, method, address string, body any) (*http.Response, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for n := 1; ; n++ {
		resp, err := t.send(ctx, method, address, data)
		if err == nil && resp.StatusCode < 300 {
			return resp, nil
		}
		var wait time.Duration
		if err == nil {
			err = t.failure(method, resp)
			wait = t.limit(resp)
			_ = resp.Body.Close()
		}
		limited := wait > 0
		switch {
		case limited && (wait > maxWait || n == maxTries):
			return nil, &LimitError{Host: t.base.Host, Until: t.Now().Add(wait)}
		case limited: // the call was not carried out
		case ctx.Err() != nil, n == maxTries, method != http.MethodGet, !passing(err):
			return nil, err
		default:
			wait = time.Duration(1<<n) * time.Second
		}
		if err := t.Wait(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// passing reports whether a failure may be over in a moment.
func passing(err error) bool {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.Status >= 500
	}
	_, transport := errors.AsType[*url.Error](err)
	return transport
}

// limit is how long the forge asks to wait, 0 when it does not limit the rate.
func (t *transport) limit(resp *http.Response) time.Duration {
	after := resp.Header.Get("Retry-After")
	reset := cmp.Or(resp.Header.Get("X-RateLimit-Reset"), resp.Header.Get("RateLimit-Reset"))
	remaining := cmp.Or(resp.Header.Get("X-RateLimit-Remaining"), resp.Header.Get("RateLimit-Remaining"))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
	case resp.StatusCode == http.StatusForbidden && (after != "" || remaining == "0"):
	default:
		return 0
	}
	if seconds, err := strconv.Atoi(after); err == nil {
		return max(time.Second, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(time.Second, at.Sub(t.Now()))
	}
	if at, err := strconv.ParseInt(reset, 10, 64); err == nil {
		return max(time.Second, time.Unix(at, 0).Sub(t.Now())+time.Second)
	}
	return time.Minute
}

// send sends a call once and follows redirects. The token goes only to the API's own host, and a write is never redirected to another host.
func (t *transport) send(ctx context.Context, method, address string, data []byte) (*http.Response, error) {
	for range 5 {
		req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/json")
		req.Header.Set("User-Agent", "liza")
		if data != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		if t.own(req.URL) && t.Token != "" {
			t.authorize(req)
		}
		resp, err := t.HTTP.Do(req)
		if err != nil || resp.StatusCode < 300 || resp.StatusCode >= 400 {
			return resp, err
		}
		to, err := resp.Location()
		_ = resp.Body.Close()
		switch {
		case err != nil:
			return nil, fmt.Errorf("cannot follow the redirect of %s: %v", t.base.Host, err)
		case to.Scheme != "https" && !t.own(to) && !loopback(to):
			return nil, fmt.Errorf("cannot follow the redirect of %s: %s is not an https address", t.base.Host, to.Host)
		case method != http.MethodGet && (!t.own(to) || resp.StatusCode < 307):
			return nil, fmt.Errorf("cannot follow the redirect of %s: writes go only to the configured address; the repository may have moved", t.base.Host)
		}
		address = to.String()
	}
	return nil, fmt.Errorf("cannot call %s: more than 5 redirects", t.base.Host)
}

// authorize gives a call the token, in the way in which the forge takes it.
func (t *transport) authorize(req *http.Request) {
	req.Header.Set("Authorization", "Bearer "+t.Token)
}

// failure returns an answer as an error, with the forge's text.
func (t *transport) failure(method string, resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<10))
	var said struct {
		Message any `json:"message"` // GitLab: also a list or an object
		Error   any `json:"error"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	text := ""
	if json.Unmarshal(data, &said) == nil {
		for _, part := range []any{said.Message, said.Error} {
			switch p := part.(type) {
			case nil:
			case string:
				text = cmp.Or(text, p)
			default:
				if list, err := json.Marshal(p); err == nil {
					text = cmp.Or(text, string(list))
				}
			}
		}
		for _, e := range said.Errors {
			if e.Message != "" {
				text += "; " + e.Message
			}
		}
	}
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return &StatusError{What: method + " " + resp.Request.URL.Host + resp.Request.URL.Path, Status: resp.StatusCode, Text: text}
}

// status is the HTTP status of an error, 0 when it is none.
func status(err error) int {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.Status
	}
	return 0
}

// NotFound reports whether the forge has no such object, or does not show it.
func NotFound(err error) bool { return status(err) == http.StatusNotFound }
