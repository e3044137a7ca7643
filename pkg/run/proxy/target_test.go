package proxy

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestATargetHasOneReading(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"api.example.com:443":    "api.example.com:443",
		"API.Example.COM.:443":   "api.example.com:443",
		"api.example.com":        "api.example.com:80",
		"my_host-1.example:8080": "my_host-1.example:8080",
		"127.0.0.1:80":           "127.0.0.1:80",
		"[::1]:443":              "[::1]:443",
		"[::1]":                  "[::1]:80",
		"[0:0::1]:443":           "[::1]:443",
		"[::ffff:10.0.0.1]:443":  "10.0.0.1:443",
		"[::ffff:7f00:1]:80":     "127.0.0.1:80",
		"xn--bcher-kva.example":  "xn--bcher-kva.example:80",
	} {
		got, err := parseTarget(text, 80)
		if err != nil || got.String() != want {
			t.Errorf("%s is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ":", ":443", "a:", "a:0", "a:65536", "a:-1", "a:+80", "a:080", "a: 80", "a:80 ", "a:http", "a:80:90", "[::1", "[::1]x", "[::1]:", "[]:80", "[a]:80", "::1", "::1:80",
		"2130706433:80", "0x7f000001:80", "0x7f.1:80", "127.1:80", "0177.0.0.1:80", "127.0.0.1.:80", "127.0.0.01:80", "1.2.3.4.5:80", "a.1:80", "example.0x1:80",
		"[fe80::1%eth0]:80", "[127.0.0.1]:80", "user@a:80", "a/b:80", "a\\b:80", "a%2eb:80", "a b:80", "a\x00b:80", "a\nb:80", "..:80", ".a:80", "a..b:80", "-a:80", "a-:80",
		"１２７.0.0.1:80", "a。b:80", "bücher.example:80", "ⓔxample.com:80", "*.example.com:80", strings.Repeat("a", 64) + ":80", strings.Repeat("a.", 140) + "b:80",
	} {
		if got, err := parseTarget(text, 80); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

func TestPatternsAllowWhatTheyNameAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, yes, no string }{
		{"example.com", "example.com:443 example.com:80 EXAMPLE.com.:443", "example.com:22 a.example.com:443 badexample.com:443 example.com.evil.test:443"},
		{"*.example.com", "a.example.com:443 a.b.example.com:80", "example.com:443 aexample.com:443 a.example.com:8443"},
		{"example.com:8443", "example.com:8443", "example.com:443 a.example.com:8443"},
		{"*.example.com:8443", "a.example.com:8443", "example.com:8443 a.example.com:443"},
		{"127.0.0.1:11434", "127.0.0.1:11434 [::ffff:127.0.0.1]:11434", "127.0.0.1:80 127.0.0.2:11434 localhost:11434"},
		{"10.0.0.7", "10.0.0.7:80 10.0.0.7:443", "10.0.0.7:22 10.0.0.8:80"},
		{"localhost", "localhost:80", "127.0.0.1:80"},
		{"[::1]:80", "[::1]:80", "[::1]:443 127.0.0.1:80"},
	} {
		list, err := parsePatterns([]string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		for want, texts := range map[bool]string{true: c.yes, false: c.no} {
			for _, text := range strings.Fields(texts) {
				at, err := parseTarget(text, 0)
				if err != nil {
					t.Fatal(err)
				}
				if got := list[0].matches(at); got != want {
					t.Errorf("%s matches %s: %v, want %v", c.pattern, text, got, want)
				}
			}
		}
	}
	for _, text := range []string{"", "*", "*.", "*.*.com", "a.*.com", "*.127.0.0.1", "https://a.b", "a/b", "a:b", "*.1"} {
		if list, err := parsePatterns([]string{text}); err == nil {
			t.Errorf("%q is the pattern %+v", text, list)
		}
	}
}

func TestAnAddressThatIsNotPublicIsKnown(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("8.8.4.4"), netip.MustParseAddr("2606:4700::1111")}
	for _, text := range strings.Fields("127.0.0.1 127.9.9.9 0.0.0.0 0.1.2.3 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 192.0.0.1 198.18.0.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 " +
		"::1 :: fe80::1 fc00::1 fd12::1 ff02::1 fec0::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1::1 2002:a00:1:: 2001:db8::1 2001::1 8.8.4.4 ::ffff:8.8.4.4 2606:4700::1111") {
		if where := notPublic(netip.MustParseAddr(text), own); where == "" {
			t.Errorf("%s is taken for a public address", text)
		}
	}
	for _, text := range strings.Fields("8.8.8.8 1.1.1.1 172.32.0.1 100.128.0.1 2606:4700::1112 64:ff9b::808:808 2002:808:808::1") {
		if where := notPublic(netip.MustParseAddr(text), own); where != "" {
			t.Errorf("%s is taken for %s", text, where)
		}
	}
}

func TestPortsOfThisMachineAreFound(t *testing.T) {
	t.Parallel()
	got := Local([]string{"api.example.com", "127.0.0.1:11434", "localhost:8080", "127.0.0.1:8080", "[::1]:8081", "10.0.0.1:8082", "*.localhost:8083", "127.0.0.1", "127.0.0.1:81"})
	if !slices.Equal(got, []int{11434, 8080}) {
		t.Errorf("the ports of this machine are %v", got)
	}
}

// Whatever a target is read as, it is read as that again, and no name can be taken for an address.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{"api.example.com:443", "[::1]:80", "127.1", "a@b:80", "[::ffff:1.2.3.4]:9", "0x7f.1:80", "localhost.:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseTarget(text, 80)
		if err != nil {
			return
		}
		again, err := parseTarget(got.String(), 0)
		if err != nil || again != got {
			t.Fatalf("%q is %s, and that is %s (%v)", text, got, again, err)
		}
		if got.addr.IsValid() == (got.name != "") || got.addr.Zone() != "" || got.addr.Is4In6() {
			t.Fatalf("%q is both or none: %+v", text, got)
		}
		last := got.name[strings.LastIndexByte(got.name, '.')+1:]
		if last != "" && (last[0] >= '0' && last[0] <= '9' || strings.ToLower(last) != last) {
			t.Fatalf("%q leads to the name %q", text, got.name)
		}
	})
}
