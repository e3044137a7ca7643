package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func (s Spec) launcher() string { return cmp.Or(s.Launcher, s.Liza) }

// ours are the programs of Liza's own that a run gets.
func (s Spec) ours() []string { return slices.Compact([]string{s.Liza, s.launcher()}) }

// shows reports whether a path can be seen inside.
func (s Spec) shows(path string) bool {
	for _, top := range slices.Concat(s.Read, s.Write, s.Tools, s.ours(), []string{s.Home, s.Tmp, "/usr"}, usrLinks()) {
		if within(path, top) {
			return true
		}
	}
	return false
}

// usrLinks are the folders beside /usr that a system with a merged /usr has as links.
func usrLinks() []string { return []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} }

// etc is what is shown of /etc: names of users and hosts, certificates without private keys, the loader's cache, git's settings,
// and those by which a company manages agent programs. Each mount costs time.
var etc = []string{
	"passwd", "group", "nsswitch.conf", "hosts", "localtime", "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust", "crypto-policies",
	"alternatives", "ld.so.cache", "gitconfig", "gitattributes", "claude-code", "codex", "gemini-cli", "opencode", "os-release",
}

// etcPartial is shown besides where nothing is mounted: to resolve names, because the network is the machine's, and because some
// tools do without a file, but fail when there is one that they may not read.
var etcPartial = []string{
	"resolv.conf", "host.conf", "gai.conf", "services", "protocols", "timezone", "locale.conf", "ca-certificates", "ca-certificates.conf",
	"ld.so.conf", "ld.so.conf.d", "mime.types", "npmrc", "pip.conf", "profile", "bash.bashrc",
}

func (s Spec) etcPaths() []string {
	names := etc
	if s.Level == Partial {
		names = slices.Concat(etc, etcPartial)
	}
	var paths []string
	for _, name := range names {
		paths = append(paths, "/etc/"+name)
	}
	return paths
}

// defaultScratch bounds /tmp and /dev/shm, which are kept in memory, where no limit does.
const defaultScratch = 2 << 30

func (s Spec) scratch() int64 { return cmp.Or(s.Limits.Disk, defaultScratch) }

// A mount is one path as it is shown inside. Of two with one target the later kind counts.
type mount struct {
	kind           mountKind
	source, target string
}

type mountKind int

// mounts are all of the Spec's own, each after the one that it lies in.
func (s Spec) mounts() []mount {
	var list []mount
	add := func(kind mountKind, sources ...string) {
		for _, path := range sources {
			list = append(list, mount{kind, path, path})
		}
	}
	add(readOnly, slices.Concat(s.Read, s.Tools, s.ours())...)
	if s.Proxy != "" && !s.shows(s.Proxy) {
		add(readOnly, s.Proxy)
	}
	add(writable, slices.Concat(s.Write, []string{s.Home, s.Tmp})...)
	for _, path := range s.Hide {
		if _, err := os.Stat(path); err == nil { // a mount point cannot be made in what is read-only
			add(hidden, path)
		}
	}
	for _, path := range s.homePaths(s.HomeRead) {
		list = append(list, mount{readOnly, path, s.inHome(path)})
	}
	for _, path := range s.homePaths(s.HomeWrite) {
		list = append(list, mount{writable, path, s.inHome(path)})
	}
	for _, m := range s.Over {
		list = append(list, mount{over, m.Source, m.Target})
	}
	slices.SortStableFunc(list, func(a, b mount) int {
		return cmp.Or(strings.Compare(inOrder(a.target), inOrder(b.target)), cmp.Compare(b.kind, a.kind))
	})
	return s.needed(slices.CompactFunc(list, func(a, b mount) bool { return a.target == b.target }))
}

// needed leaves out what another mount shows already: each costs a fifth of a millisecond of the processor.
func (s Spec) needed(all []mount) []mount {
	around := []mount{{readOnly, "/usr", "/usr"}} // those that may have the next one in them
	for _, path := range s.etcPaths() {
		around = append(around, mount{readOnly, path, path})
	}
	return slices.DeleteFunc(all, func(m mount) bool {
		at := -1
		for i, a := range around {
			if within(m.target, a.target) && (at < 0 || len(a.target) > len(around[at].target)) {
				at = i
			}
		}
		if at >= 0 && m.kind <= writable && around[at].kind == m.kind && m.source == m.target && around[at].source == around[at].target {
			if real, err := filepath.EvalSymlinks(m.target); err == nil && real == m.target {
				return true
			}
		}
		around = append(around, m)
		return false
	})
}

// linked is the file that a link leads to and that is shown, too, so that it can stay a link: programs look for their other
// files beside what a link to them leads to.
func (s Spec) linked(m mount) (real string, ok bool) {
	info, err := os.Lstat(m.target)
	if m.source != m.target || err != nil || info.Mode()&os.ModeSymlink == 0 || s.shows(filepath.Dir(m.target)) {
		return "", false
	}
	if real, err = filepath.EvalSymlinks(m.target); err != nil || !s.shows(real) {
		return "", false
	}
	info, err = os.Stat(real)
	return real, err == nil && info.Mode().IsRegular()
}

// inOrder makes a path one that sorts behind the folder that it is in, and before the next one beside that.
func inOrder(path string) string { return strings.ReplaceAll(path, "/", "\x00") }

const (
	readOnly mountKind = iota
	writable
	hidden
	over
)
