package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is the target of a client: a name in lower case or an address, and a port.
type target struct {
	name string     // "" for an address
	addr netip.Addr // invalid for a name
	port uint16
}

func (t target) host() string {
	if t.addr.IsValid() {
		return t.addr.String()
	}
	return t.name
}

func (t target) String() string {
	return net.JoinHostPort(t.host(), strconv.Itoa(int(t.port)))
}

// short is the target as a person writes it in sandbox.allow.hosts.
func (t target) short() string {
	if t.usual() && !t.addr.Is6() {
		return t.host()
	}
	return t.String()
}

func (t target) usual() bool { return t.port == 80 || t.port == 443 }

var errTarget = errors.New("it is not HOST:PORT")

// parseTarget reads HOST:PORT; fallback is the port where none is given, 0 for none. It is strict,
// so that no two readers of the same text come to different hosts: an address in another notation
// than the usual one is not a name either.
func parseTarget(text string, fallback uint16) (target, error) {
	host, port, rest := text, "", ""
	if after, ok := strings.CutPrefix(text, "["); ok {
		if host, rest, ok = strings.Cut(after, "]"); !ok || !strings.Contains(host, ":") {
			return target{}, errTarget
		}
		if port, ok = strings.CutPrefix(rest, ":"); !ok && rest != "" || ok && port == "" {
			return target{}, errTarget
		}
	} else if before, after, ok := strings.Cut(text, ":"); ok {
		if host, port = before, after; port == "" {
			return target{}, errTarget
		}
	}
	t := target{port: fallback}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || strconv.FormatUint(n, 10) != port { // +80, 080
			return target{}, errTarget
		}
		t.port = uint16(n)
	}
	if t.port == 0 && (fallback != 0 || port != "") {
		return target{}, errTarget
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		t.addr = addr.Unmap()
		return t, nil
	}
	t.name = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isName(t.name) {
		return target{}, errTarget
	}
	return t, nil
}

// isName reports whether a text is a host name that nobody takes for an address: the last label
// of a name is never a number.
func isName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	return last[0] < '0' || last[0] > '9'
}

// A pattern is one entry of a list of hosts.
type pattern struct {
	target
	below bool // *.name
}

// explicit reports whether a person who wrote this meant this very place, wherever it is.
func (p pattern) explicit() bool { return p.addr.IsValid() || p.port != 0 && !p.below }

func (p pattern) matches(t target) bool {
	if p.port != t.port && (p.port != 0 || !t.usual()) {
		return false
	}
	if p.addr.IsValid() || t.addr.IsValid() {
		return p.addr == t.addr
	}
	return !p.below && p.name == t.name || p.below && strings.HasSuffix(t.name, "."+p.name)
}

// parsePatterns reads a list of hosts: api.example.com, *.example.com, 127.0.0.1:11434, [::1]:80.
func parsePatterns(list []string) ([]pattern, error) {
	var out []pattern
	for _, text := range list {
		rest, below := strings.CutPrefix(text, "*.")
		t, err := parseTarget(rest, 0)
		if err != nil || below && t.addr.IsValid() {
			return nil, fmt.Errorf("cannot allow the host %q: it is not a name, *.NAME or an address, with or without a port", text)
		}
		out = append(out, pattern{t, below})
		if t.name == "localhost" && t.port != 0 && !below { // a forwarder (Local) asks by address
			out = append(out, pattern{target: target{addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), port: t.port}})
		}
	}
	return out, nil
}

// Allows reports whether a list of hosts allows HOST:PORT.
func Allows(hosts []string, at string) bool {
	t, err := parseTarget(at, 0)
	patterns, bad := parsePatterns(hosts)
	return err == nil && bad == nil && slices.ContainsFunc(patterns, func(p pattern) bool { return p.matches(t) })
}

// Local returns the ports of this machine in a list of hosts. They are not on the loopback device of a sandbox with its own
// network: it needs a forwarder, which cannot have a port below 1024.
func Local(hosts []string) []int {
	patterns, _ := parsePatterns(hosts)
	var ports []int
	for _, p := range patterns {
		if p.port >= 1024 && p.addr.IsLoopback() && p.addr.Is4() && !slices.Contains(ports, int(p.port)) {
			ports = append(ports, int(p.port))
		}
	}
	return ports
}

// special are addresses outside of the public network, besides those that netip knows.
var special = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10")

// embedding are networks in whose addresses one of IPv4 is, at that byte.
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2,
}

func prefixes(list ...string) (out []netip.Prefix) {
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// notPublic returns the kind of an address that no name may lead to, or "" for one of the public network.
func notPublic(a netip.Addr, own []netip.Addr) string {
	a = a.Unmap()
	for p, at := range embedding {
		if p.Contains(a) {
			b := a.As16()
			return notPublic(netip.AddrFrom4([4]byte(b[at:at+4])), own)
		}
	}
	switch {
	case a.IsLoopback():
		return "this machine"
	case a.IsPrivate():
		return "a private network"
	case a.IsLinkLocalUnicast():
		return "this link"
	case !a.IsGlobalUnicast():
		return "a special range"
	}
	for _, mine := range own {
		if mine.Unmap().WithZone("") == a {
			return "this machine"
		}
	}
	for _, p := range special {
		if p.Contains(a) {
			return "a special range"
		}
	}
	return ""
}

// ownAddresses are those of the interfaces of this machine.
func ownAddresses() []netip.Addr {
	list, _ := net.InterfaceAddrs()
	var out []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr())
		}
	}
	return out
}

// hello reads the first message of a tunnel to port 443, which has to be that of TLS and to name the host that was asked for:
// many hosts share an address, and the name in it says which of them is meant. It returns the bytes that were read. The standard
// library reads the message, in whatever records it comes, up to its own bound of 64 kB.
func (p *Proxy) hello(in net.Conn, from io.Reader, t target) ([]byte, error) {
	defer context.AfterFunc(p.ctx, func() { _ = in.Close() })()
	_ = in.SetReadDeadline(time.Now().Add(helloTime))
	h := &heard{Conn: in, from: from}
	named, errNamed := "", errors.New("it has a name")
	err := tls.Server(h, &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		named = info.ServerName
		return nil, errNamed
	}}).HandshakeContext(p.ctx)
	_ = in.SetReadDeadline(time.Time{})
	switch {
	case named != "" && strings.EqualFold(named, t.name):
		return h.bytes.Bytes(), nil
	case h.bytes.Len() == 0: // nothing was asked for
		return nil, err
	case named != "":
		other := target{name: strings.ToLower(named), port: t.port}
		return nil, p.refuse(other, Refusal{Host: other.short(), Why: fmt.Sprintf("a connection that was asked for %s names it instead", t.short()), Next: "add " + other.short() + " to sandbox.allow.hosts"})
	}
	why := "a connection to its port 443 does not begin with TLS"
	if errors.Is(err, errNamed) {
		why = "a connection to its port 443 does not say which host it is for (SNI)"
	}
	return nil, p.refuse(t, Refusal{Host: t.String(), Why: why, Next: "add " + t.String() + ", with its port, to sandbox.allow.hosts"})
}

// unrecognized is the alert of TLS that ends a connection because of the name in it.
const unrecognized = "\x15\x03\x01\x00\x02\x02\x70"

// heard is a connection that records what is read from it, and discards writes.
type heard struct {
	net.Conn
	from  io.Reader
	bytes bytes.Buffer
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.from.Read(b)
	h.bytes.Write(b[:n])
	return n, err
}

func (h *heard) Write(b []byte) (int, error) { return len(b), nil }
func (h *heard) Close() error                { return nil }
