package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const (
	landRead  = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir)
	landWrite = landRead | landlock.AccessFSSet(ll.AccessFSWriteFile|ll.AccessFSTruncate|ll.AccessFSRemoveDir|ll.AccessFSRemoveFile|
		ll.AccessFSMakeDir|ll.AccessFSMakeReg|ll.AccessFSMakeSock|ll.AccessFSMakeFifo|ll.AccessFSMakeSym|ll.AccessFSRefer)
	landDevice = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev)
	landSocket = landlock.AccessFSSet(ll.AccessFSResolveUnix)
	landFile   = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix)
)

// landlockConfigs are the rules of each version, the first of them version 3. TCP ports are left out: that rule keeps no
// program from the network, and inside a namespace it would forbid harmless connections.
var landlockConfigs = []landlock.Config{landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11}

// confine restricts this process and its children to the files of the Spec, and keeps it from signals and abstract sockets of
// others where the kernel can. It is strict: a rule that cannot be enforced is an error.
func (s Spec) confine() error {
	version := landlockVersion()
	if version < minLandlock {
		return fmt.Errorf("the kernel's Landlock is version %d, and at least %d is needed", version, minLandlock)
	}
	full := landlockConfigs[min(version-minLandlock, len(landlockConfigs)-1)]
	config := landlock.Config{HandledAccessFS: full.HandledAccessFS, Scoped: full.Scoped}
	var rules []landlock.Rule
	for _, g := range s.grants() {
		info, err := os.Stat(g.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot look at '%s': %v", g.path, err)
		}
		rights := g.rights & config.HandledAccessFS
		if !info.IsDir() {
			rights &= landFile
		}
		if rights != 0 {
			rules = append(rules, landlock.PathAccess(rights, g.path))
		}
	}
	return config.Restrict(rules...)
}

// devices are those of every program. At closed there are besides terminals of the wall's own.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// A grant is the set of rights to a path and its content.
type grant struct {
	path   string
	rights landlock.AccessFSSet
}

func (s Spec) grants() []grant {
	var list []grant
	add := func(rights landlock.AccessFSSet, paths ...string) {
		for _, path := range paths {
			list = append(list, grant{path, rights})
		}
	}
	add(landRead, slices.Concat(s.ours(), usrLinks())...)
	add(landRead, "/proc") // some runtimes do not start without it
	if s.traces() {
		add(landRead|landlock.AccessFSSet(ll.AccessFSWriteFile|ll.AccessFSTruncate), "/proc")
	}
	for _, name := range devices { // at partial /dev is the machine's, with its disks and the person's terminals
		add(landDevice, "/dev/"+name)
	}
	for _, path := range slices.Concat([]string{"/usr"}, s.Read, s.Tools) {
		list = append(list, s.readable(path)...)
	}
	add(landWrite|landSocket, slices.Concat(s.Write, []string{s.Home, s.Tmp})...)
	if s.Proxy != "" {
		add(landSocket, s.Proxy)
	}
	if s.Level == Closed {
		add(landWrite, "/tmp", "/dev/shm")
		add(landDevice, "/dev/ptmx", "/dev/pts", "/dev/console")
		for _, m := range s.Over {
			add(landWrite, m.Target)
		}
		return list // the person's files are mounted in Home
	}
	add(landlock.AccessFSSet(ll.AccessFSReadDir), machineFolders...) // also the names of what is hidden there
	add(landRead, s.homePaths(s.HomeRead)...)
	add(landWrite, s.homePaths(s.HomeWrite)...)
	add(landRead&^landlock.AccessFSSet(ll.AccessFSExecute)|landlock.AccessFSSet(ll.AccessFSWriteFile|ll.AccessFSTruncate|ll.AccessFSMakeReg|ll.AccessFSRemoveFile), "/dev/shm")
	return list
}

// readable returns the rights to read a path except for its hidden parts. A right to a folder holds for everything in it, so
// a folder with a hidden part is granted by its entries; it cannot be listed.
func (s Spec) readable(path string) []grant {
	if s.Level == Closed { // what is hidden is not there
		return []grant{{path, landRead | landSocket}}
	}
	if slices.Contains(s.Hide, path) {
		return nil
	}
	if !slices.ContainsFunc(s.Hide, func(hidden string) bool { return within(hidden, path) }) {
		return []grant{{path, landRead | landSocket}}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var list []grant
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 { // a rule for a link would be one for its target
			list = append(list, s.readable(filepath.Join(path, e.Name()))...)
		}
	}
	return list
}
