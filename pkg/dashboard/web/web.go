// Package web shows the board in a browser and serves it as JSON (specs/cli.md#7): what there is to
// see, a stream of changes, and buttons that call verbs, under the same guards as the
// commands of those names.
package web

import (
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Handler serves page and API.
func Handler(o Options) http.Handler {
	if o.Heartbeat == 0 {
		o.Heartbeat = heartbeat
	}
	mux := http.NewServeMux()
	for path, h := range o.reading() {
		mux.Handle(path, o.only(http.MethodGet, h))
	}
	for path, h := range o.changing() {
		mux.Handle(path, o.only(http.MethodPost, h))
	}
	mux.Handle("/api/events", o.only(http.MethodGet, o.events))
	mux.Handle("/metrics", o.only(http.MethodGet, o.prometheus))
	mux.Handle("/{$}", o.only(http.MethodGet, o.page))
	mux.Handle("/page/", o.only(http.MethodGet, o.page))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		o.fail(w, Problem{Status: http.StatusNotFound, Code: "usage", Message: "there is nothing at " + r.URL.Path, Next: "liza help serve"})
	})
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.fail(w, Problem{Status: http.StatusForbidden, Code: "refused", Message: "the request comes from another page, which may change nothing here", Next: "liza help serve"})
	}))
	return o.guard(origin.Handler(mux))
}

// guard lets nobody in who does not know the token, and without one nobody who calls this
// machine by another name than that of the machine itself: a page that a browser shows could
// have given its own name to 127.0.0.1.
func (o Options) guard(next http.Handler) http.Handler {
	wrong := make(guesses, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
		switch {
		case o.Token == "" && !loopback(r.Host):
			o.fail(w, Problem{Status: http.StatusForbidden, Code: "refused", Message: "this server is for its own machine; '" + r.Host + "' is not a name of that", Next: "liza serve --addr ADDR --token-env NAME"})
		case o.Token != "" && r.URL.Path == "/" && o.knows(r.URL.Query().Get("token")):
			http.SetCookie(w, &http.Cookie{Name: cookieOf(r), Value: o.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // a browser keeps the cookie back for what another page leads to, the file of liza serve --open
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, "<!doctype html><meta http-equiv=refresh content=\"0;url=/\">\n")
				return
			}
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case o.Token != "" && !o.given(r):
			wrong.wait(r)
			w.Header().Set("WWW-Authenticate", "Bearer")
			o.fail(w, Problem{Status: http.StatusUnauthorized, Code: "refused", Message: "the token is missing or wrong", Next: "send it as Authorization: Bearer TOKEN, or open /?token=TOKEN"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// guesses lets wrong tokens be answered one after the other, a second each.
type guesses chan struct{}

const perGuess = time.Second

func (g guesses) wait(r *http.Request) {
	if len(r.Cookies()) == 0 && r.Header.Get("Authorization") == "" && r.URL.Query().Get("token") == "" { // asked without any
		return
	}
	select {
	case g <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-g }()
	select {
	case <-time.After(perGuess):
	case <-r.Context().Done():
	}
}

// A browser sends the cookies of a host to all its ports, so each has a name of its own: several
// projects can be open at one time.
const cookie = "liza_token"

func cookieOf(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookie + "_" + port
	}
	return cookie
}

// given reports whether a request has the token.
func (o Options) given(r *http.Request) bool {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return o.knows(t)
	}
	for _, name := range []string{cookieOf(r), cookie} {
		if c, err := r.Cookie(name); err == nil && o.knows(c.Value) {
			return true
		}
	}
	return false
}

func (o Options) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(o.Token)) == 1
}

// loopback reports whether a host, with or without a port, is this machine itself.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
