package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// machineFolders are the folders of the machine's settings and of software that no package manager installs. Every program finds there what it
// would find outside, less what private names.
var machineFolders = []string{"/etc", "/opt", "/srv"}

// secrets are in /etc, readable by all or not: keys and passwords of the machine, of its networks and of its cloud, and its id.
var secrets = []string{
	"shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "security/opasswd", "machine-id", "ssh", "ssl/private", "pki/tls/private", "krb5.keytab", "letsencrypt", "apt/auth.conf", "apt/auth.conf.d",
	"NetworkManager", "netplan", "network", "wpa_supplicant", "iwd", "wireguard", "openvpn", "ipsec.conf", "ipsec.d", "ipsec.secrets", "swanctl", "ppp",
	"cloud", "boto.cfg", "kubernetes", "rancher", "docker",
}

// withMachine adds the machine's folders, and hides what is private in them unless the Spec names it.
func (s Spec) withMachine() Spec {
	named := slices.Concat(s.Read, s.Write, s.Tools, s.ours())
	s.Read = slices.Concat(machineFolders, s.Read)
	var hide []string
	if s.Level == Closed { // names are resolved by the proxy
		hide = append(hide, "/etc/resolv.conf")
	} else { // often a link to elsewhere
		s.Read = append(s.Read, "/etc/resolv.conf")
	}
	for _, name := range secrets {
		hide = append(hide, filepath.Join("/etc", name))
	}
	for _, path := range append(append(hide, s.Person), looked.private(machineFolders)...) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 || !slices.ContainsFunc(machineFolders, func(top string) bool { return within(path, top) }) {
			continue
		}
		if !slices.ContainsFunc(named, func(top string) bool { return within(path, top) }) && !slices.Contains(s.Hide, path) {
			s.Hide = append(slices.Clip(s.Hide), path)
		}
	}
	return s
}

// A look is what private found, for as long as that holds.
type look struct {
	mu   sync.Mutex
	at   time.Time
	list []string
}

var looked look

// lookAgain is how long a look holds: a large /opt is not walked for each of many runs.
const lookAgain = time.Minute

func (l *look) private(tops []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.at.IsZero() || now.Sub(l.at) > lookAgain || now.Before(l.at) {
		l.list, l.at = private(tops), now
	}
	return l.list
}

// private returns the outermost files and folders that this user may read, and not all users of the machine.
func private(tops []string) (list []string) {
	for _, top := range tops {
		_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // this user cannot read it either
			}
			if e.Type()&fs.ModeSymlink != 0 {
				return nil
			}
			info, err := e.Info()
			if err != nil || !isPrivate(path, info) {
				return nil
			}
			list = append(list, path)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	return list
}

// isPrivate reports whether this user has a right to read a file, or to list or enter a folder, that not all have.
func isPrivate(path string, info fs.FileInfo) bool {
	const read, enter = 0o4, 0o1
	mode := info.Mode().Perm()
	return mode&read == 0 && unix.Access(path, unix.R_OK) == nil || info.IsDir() && mode&enter == 0 && unix.Access(path, unix.X_OK) == nil
}

// keepPath makes a login shell keep the PATH of the run: /etc/profile, which it reads first, sets that of the machine.
func (s Spec) keepPath(env []string) error {
	set := ""
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			set = "export PATH='" + strings.ReplaceAll(value, "'", `'\''`) + "'\n"
		}
	}
	home, err := os.OpenRoot(s.Home)
	if err != nil {
		return err
	}
	defer home.Close()
	for _, name := range []string{".profile", ".zprofile"} {
		if _, err := home.Lstat(name); err == nil { // of the person
			continue
		}
		if err := home.WriteFile(name, []byte(set), 0o600); err != nil {
			return err
		}
	}
	return nil
}
