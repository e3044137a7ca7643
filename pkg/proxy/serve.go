package proxy

import (
	"net/http"
)

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
