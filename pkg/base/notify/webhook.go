package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxPayload is the greatest size of a body, in bytes: receivers refuse larger ones, and the board has the whole text.
const MaxPayload = 1 << 20

const (
	attempts   = 3
	attemptFor = 10 * time.Second
	cutMark    = "\n[… cut]"
)

var waitsBetween = []time.Duration{time.Second, 3 * time.Second}

// payload is the body of a request.
type payload struct {
	Message
	Session string `json:"session"`
	TaskID  string `json:"task_id"`
	SentAt  string `json:"sent_at"`
}

// Send posts a message, several times if necessary. mask removes secrets from the body. The error is that of the last
// attempt, and shows only the host of the URL.
func (w *Webhook) Send(ctx context.Context, m Message, now func() time.Time, mask func(string) string) (tries int, err error) {
	u, err := w.checkURL()
	if err != nil {
		return 0, err
	}
	waits := w.waits
	if waits == nil {
		waits = waitsBetween
	}
	for {
		tries++
		body, err := w.body(m, now(), mask)
		if err == nil {
			err = w.post(ctx, u, m.ID, body)
		}
		var refused *RefusedError
		if err == nil || errors.As(err, &refused) || tries == attempts || ctx.Err() != nil {
			return tries, err
		}
		select {
		case <-time.After(waits[tries-1]):
		case <-ctx.Done():
			return tries, err
		}
	}
}

// body is the message as JSON, its content cut until it fits.
func (w *Webhook) body(m Message, now time.Time, mask func(string) string) ([]byte, error) {
	full := m.Content
	for keep := len(full); ; {
		if keep < len(full) {
			for keep > 0 && !utf8.RuneStart(full[keep]) {
				keep--
			}
			m.Content = full[:keep] + cutMark
		}
		data, err := json.Marshal(payload{m, w.Session, m.Task, now.UTC().Format(timeForm)})
		if err != nil {
			return nil, fmt.Errorf("cannot write the notification as JSON: %v", err)
		}
		data = []byte(mask(string(data)))
		if w.MaxPayload <= 0 || len(data) <= w.MaxPayload || keep == 0 {
			return data, nil
		}
		keep = max(0, min(keep-1, keep-(len(data)-w.MaxPayload)))
	}
}

func (w *Webhook) post(ctx context.Context, u *url.URL, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, attemptFor)
	defer cancel()
	to, err := w.addresses(ctx, u)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot post to %s", u.Host)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "liza")
	req.Header.Set("X-Liza-Id", id)
	if w.Key != "" {
		sign := hmac.New(sha256.New, []byte(w.Key))
		sign.Write(body)
		req.Header.Set("X-Liza-Signature", "sha256="+hex.EncodeToString(sign.Sum(nil)))
	}
	client := http.Client{
		Transport: &http.Transport{Proxy: nil, DialContext: dialTo(to), DisableKeepAlives: true, TLSHandshakeTimeout: attemptFor},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	answer, err := client.Do(req)
	if err != nil {
		var shown *url.Error // it has the whole URL, which is often a secret
		if errors.As(err, &shown) {
			err = shown.Err
		}
		return fmt.Errorf("cannot post to %s: %v", u.Host, err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // what it says does not matter
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s", u.Host, strings.TrimSpace(answer.Status))
	}
	return nil
}

// dialTo connects to one of the addresses that were checked, whatever name is asked for.
func dialTo(list []netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		var all error
		for _, a := range list {
			conn, err := new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
			if err == nil {
				return conn, nil
			}
			all = errors.Join(all, err)
		}
		return nil, all
	}
}
