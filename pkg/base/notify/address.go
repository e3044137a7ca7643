package notify

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// refused are address ranges, besides those that netip knows by name, without public services, or whose addresses stand for
// others that may be private.
var refused = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address is one of the internet at large.
func public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(refused, func(p netip.Prefix) bool { return p.Contains(a) })
}

// checkURL returns the parsed URL, or an error for one that must not even be resolved.
func (w *Webhook) checkURL() (*url.URL, error) {
	u, err := url.Parse(w.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the URL of the webhook cannot be read") // its text may hold a password
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the URL of the webhook must begin with https://, but begins with %s", u.Scheme)
	case u.User != nil:
		return nil, fmt.Errorf("the URL of the webhook must not have a user name")
	case u.Hostname() == "":
		return nil, fmt.Errorf("the URL of the webhook names no host")
	case u.Scheme == "http" && w.RequireHTTPS && !w.allowed(u):
		return nil, fmt.Errorf("the URL of the webhook must begin with https:// (notify.require_https)")
	case oddNumber(u.Hostname()):
		return nil, fmt.Errorf("%s is refused: it is a number that stands for an address", u.Hostname())
	}
	return u, nil
}

// oddNumber reports whether a host is an address in a form that only some resolvers
// understand: 2130706433, 0x7f.1, 127.1.
func oddNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	last := labels[len(labels)-1]
	return last == "" || strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
}

// allowed reports whether a person has allowed the host, whatever its address is.
func (w *Webhook) allowed(u *url.URL) bool {
	return slices.ContainsFunc(w.AllowHosts, func(host string) bool {
		return strings.EqualFold(host, u.Hostname()) || strings.EqualFold(host, u.Host)
	})
}

// addresses resolves the host, once for a connection. If any of its addresses is not public
// all are refused, for the next answer might be that one.
func (w *Webhook) addresses(ctx context.Context, u *url.URL) ([]netip.Addr, error) {
	var list []netip.Addr
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		list = []netip.Addr{a}
	} else if list, err = w.lookup(ctx, u.Hostname()); err != nil {
		return nil, fmt.Errorf("cannot find the host %s: %v", u.Hostname(), err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("cannot find the host %s: it has no address", u.Hostname())
	}
	if w.allowed(u) {
		return list, nil
	}
	for _, a := range list {
		if !public(a) {
			return nil, &RefusedError{Host: u.Hostname(), Address: a}
		}
	}
	return list, nil
}

// RefusedError is returned for a webhook whose address is in a network that is not public.
type RefusedError struct {
	Host    string
	Address netip.Addr
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is refused: its address %s is not public; notify.allow_hosts may allow it", e.Host, e.Address)
}

// Webhook is the receiver of notifications.
type Webhook struct {
	URL          string
	Key          string // key of the signature; "" for none
	RequireHTTPS bool
	AllowHosts   []string // hosts that are allowed at any address
	MaxPayload   int      // greatest size of a body, in bytes
	Session      string   // name of the project's folder

	resolve func(ctx context.Context, host string) ([]netip.Addr, error) // for tests; nil: that of the system
	waits   []time.Duration                                              // for tests, between attempts; nil: waitsBetween
}

func (w *Webhook) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if w.resolve != nil {
		return w.resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
