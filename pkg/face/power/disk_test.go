//go:build linux && !race

package power

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A disk is a file system with a write-back cache. Each folder and file is there twice: as processes see it, and as it is on
// the disk. What makes a change durable (specs/testing.md#power):
//
//   - the content of a file: an fsync of that file;
//   - a name in a folder of Liza's own (strict): an fsync of the folder, or of a file or folder that was made under this name;
//   - any other name: an fsync of anything later, because file systems with a journal write names in order, and git, which never
//     syncs a folder, relies on that.
type disk struct {
	fuse.RawFileSystem
	strict func(path string) bool // folders, by their paths below the root

	mu      sync.Mutex
	nodes   map[uint64]*node
	lists   map[uint64][]fuse.DirEntry // of open folders
	last    uint64                     // number that was given to a node or an open folder
	pending []*naming                  // not durable, in order
	count   int                        // calls that change something, or make it durable
	limit   int                        // the call at which the power goes; 0: none
	off     bool
	lost    chan struct{}                     // closed when the power goes
	renamed func(path string, content []byte) // a file got its name by a rename
	forgets func(path string) bool            // a fault put in by hand: an fsync that is left out
}

const root = fuse.FUSE_ROOT_ID

// A node is a file, folder or link.
type node struct {
	id           uint64
	mode         uint32
	links        uint32
	data         []byte // of a file or link
	names        map[string]*node
	mtime, ctime time.Time
	in           *node // where it was made or renamed to last
	as           string

	synced []byte   // content on the disk
	writes []change // of the content since
	kept   map[string]*node
}

// A change of a file's content: bytes at an offset, or a new size.
type change struct {
	at   int64
	data []byte
	cut  bool
}

// A naming is one change of names, which happens as a whole.
type naming struct {
	sets  []set
	node  *node
	fresh bool // node was made by it
}

type set struct {
	dir      *node
	name     string
	was, now *node
}

func newDisk(strict func(string) bool) *disk {
	d := &disk{RawFileSystem: fuse.NewDefaultRawFileSystem(), strict: strict, nodes: map[uint64]*node{}, lists: map[uint64][]fuse.DirEntry{}, last: root, lost: make(chan struct{})}
	d.nodes[root] = folder(root)
	return d
}

func folder(id uint64) *node {
	return &node{id: id, mode: syscall.S_IFDIR | 0o755, links: 1, names: map[string]*node{}, kept: map[string]*node{}, mtime: time.Now(), ctime: time.Now()}
}

func (n *node) path() string {
	if n.in == nil {
		return ""
	}
	return strings.TrimPrefix(n.in.path()+"/"+n.as, "/")
}

func (n *node) isDir() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }

// step counts a call that changes something, and says whether there is still power. The caller holds the lock.
func (d *disk) step() bool {
	if !d.off {
		d.count++
		if d.limit > 0 && d.count >= d.limit {
			d.cut()
		}
	}
	return !d.off
}

func (d *disk) cut() {
	if !d.off {
		d.off = true
		close(d.lost)
	}
}

// name carries out one change of names.
func (d *disk) name(n *node, fresh bool, sets ...set) {
	now := time.Now()
	for i, s := range sets {
		sets[i].was = s.dir.names[s.name]
		if s.now == nil {
			delete(s.dir.names, s.name)
		} else {
			s.dir.names[s.name] = s.now
			s.now.in, s.now.as = s.dir, s.name
		}
		s.dir.mtime, s.dir.ctime = now, now
	}
	n.ctime = now
	d.pending = append(d.pending, &naming{sets: sets, node: n, fresh: fresh})
}

// fits reports whether the disk is as it was before a change of names.
func (c *naming) fits() bool {
	return !slices.ContainsFunc(c.sets, func(s set) bool { return s.dir.kept[s.name] != s.was })
}

func (c *naming) keep() {
	for _, s := range c.sets {
		if s.now == nil {
			delete(s.dir.kept, s.name)
		} else {
			s.dir.kept[s.name] = s.now
		}
	}
}

// sync makes a file or folder durable, and names with it.
func (d *disk) sync(n *node) {
	if d.forgets != nil && d.forgets(n.path()) {
		return
	}
	n.flush()
	if strings.HasPrefix(n.as, "bulk_fsync") { // git's way to make many objects durable by one fsync (core.fsyncMethod=batch)
		for _, other := range n.in.names {
			other.flushAll()
		}
	}
	wanted := map[*naming]bool{}
	for _, c := range d.pending {
		wanted[c] = slices.ContainsFunc(c.sets, func(s set) bool { return s.dir == n || !d.strict(s.dir.path()) })
	}
	for up := n; up != nil; up = up.in { // its own name, and those above it
		for _, c := range d.pending {
			wanted[c] = wanted[c] || c.fresh && c.node == up
		}
	}
	d.withEarlier(wanted)
	d.pending = slices.DeleteFunc(d.pending, func(c *naming) bool {
		if wanted[c] {
			c.keep()
		}
		return wanted[c]
	})
}

// withEarlier adds the earlier changes of the same names.
func (d *disk) withEarlier(wanted map[*naming]bool) {
	type slot struct {
		dir  *node
		name string
	}
	needed := map[slot]bool{}
	for _, c := range slices.Backward(d.pending) {
		for _, s := range c.sets {
			wanted[c] = wanted[c] || needed[slot{s.dir, s.name}]
		}
		for _, s := range c.sets {
			if wanted[c] {
				needed[slot{s.dir, s.name}] = true
			}
		}
	}
}

func (n *node) flush() {
	if !n.isDir() {
		n.synced, n.writes = slices.Clone(n.data), nil
	}
}

func (n *node) flushAll() {
	n.flush()
	for _, below := range n.names {
		below.flushAll()
	}
}

// syncAll makes all durable, as sync(1) does.
func (d *disk) syncAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.nodes {
		n.flush()
		if n.isDir() {
			n.kept = maps.Clone(n.names)
		}
	}
	d.pending = nil
}

func (n *node) write(at int64, data []byte) {
	if end := at + int64(len(data)); end > int64(len(n.data)) {
		n.data = append(n.data, make([]byte, end-int64(len(n.data)))...)
	}
	copy(n.data[at:], data)
	n.writes = append(n.writes, change{at: at, data: slices.Clone(data)})
	n.mtime = time.Now()
	n.ctime = n.mtime
}

func (n *node) resize(size int64) {
	if size <= int64(len(n.data)) {
		n.data = n.data[:size:size]
	} else {
		n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
	}
	n.writes = append(n.writes, change{at: size, cut: true})
	n.mtime = time.Now()
	n.ctime = n.mtime
}

// find is the node at a path below the root, or nil.
func (d *disk) find(path string) *node {
	n := d.nodes[root]
	for _, name := range strings.Split(path, "/") {
		if n = n.names[name]; n == nil {
			return nil
		}
	}
	return n
}

// read is the content of a file as processes see it.
func (d *disk) read(path string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.find(path)
	if n == nil || n.isDir() {
		return "", false
	}
	return string(n.data), true
}
