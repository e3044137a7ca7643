//go:build linux && !race

package power

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// remembered is how long the kernel may keep what it was told: nobody else changes anything.
const remembered = time.Hour

// mount makes the disk the file system of a folder.
func (d *disk) mount(at string) (*fuse.Server, error) {
	// The library leaves /dev/fuse open to programs that are started: they would keep a disk that nobody serves.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	server, err := fuse.NewServer(d, at, &fuse.MountOptions{FsName: "power", Name: "power", DirectMountStrict: true, DisableXAttrs: true, DisableReadDirPlus: true, MaxWrite: 1 << 20})
	if err != nil {
		return nil, fmt.Errorf("cannot mount: %w", err)
	}
	open, _ := os.ReadDir("/proc/self/fd")
	for _, e := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == "/dev/fuse" {
			fd, _ := strconv.Atoi(e.Name())
			syscall.CloseOnExec(fd)
		}
	}
	go server.Serve()
	return server, server.WaitMount()
}

func (n *node) attr(out *fuse.Attr) {
	out.Ino, out.Mode, out.Nlink, out.Size, out.Blksize = n.id, n.mode, n.links, uint64(len(n.data)), 4096
	out.Blocks = (out.Size + 511) / 512
	out.Uid, out.Gid = uint32(os.Getuid()), uint32(os.Getgid())
	out.SetTimes(&n.mtime, &n.mtime, &n.ctime)
}

func (n *node) entry(out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(remembered)
	out.SetAttrTimeout(remembered)
	n.attr(&out.Attr)
}

// in begins a call: it holds the lock until the returned function is called.
func (d *disk) at(id uint64) (*node, func()) {
	d.mu.Lock()
	return d.nodes[id], d.mu.Unlock
}

func (d *disk) String() string { return "power" }

func (d *disk) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	dir, done := d.at(h.NodeId)
	defer done()
	if d.off {
		return fuse.EIO
	}
	n := dir.names[name]
	if n == nil {
		out.SetEntryTimeout(remembered) // node 0: the kernel remembers that there is none
		return fuse.OK
	}
	n.entry(out)
	return fuse.OK
}

func (d *disk) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, done := d.at(in.NodeId)
	defer done()
	out.SetTimeout(remembered)
	n.attr(&out.Attr)
	return fuse.OK
}

func (d *disk) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, done := d.at(in.NodeId)
	defer done()
	if !d.step() {
		return fuse.EIO
	}
	if size, ok := in.GetSize(); ok {
		n.resize(int64(size))
	}
	if mode, ok := in.GetMode(); ok {
		n.mode = n.mode&syscall.S_IFMT | mode
	}
	if at, ok := in.GetMTime(); ok {
		n.mtime = at
	}
	n.ctime = time.Now()
	out.SetTimeout(remembered)
	n.attr(&out.Attr)
	return fuse.OK
}

// make adds a new node to a folder.
func (d *disk) make(parent uint64, name string, mode uint32, out *fuse.EntryOut) (*node, fuse.Status) {
	dir := d.nodes[parent]
	if !d.step() {
		return nil, fuse.EIO
	}
	if dir.names[name] != nil {
		return nil, fuse.Status(syscall.EEXIST)
	}
	d.last++
	n := folder(d.last)
	if n.mode = mode; !n.isDir() {
		n.names, n.kept = nil, nil
	}
	d.nodes[n.id] = n
	d.name(n, true, set{dir: dir, name: name, now: n})
	n.entry(out)
	return n, fuse.OK
}

func (d *disk) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	_, done := d.at(in.NodeId)
	defer done()
	_, status := d.make(in.NodeId, name, in.Mode, out)
	return status
}

func (d *disk) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	_, done := d.at(in.NodeId)
	defer done()
	_, status := d.make(in.NodeId, name, syscall.S_IFDIR|in.Mode, out)
	return status
}

func (d *disk) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	_, done := d.at(h.NodeId)
	defer done()
	n, status := d.make(h.NodeId, name, syscall.S_IFLNK|0o777, out)
	if status.Ok() {
		n.data, n.synced = []byte(target), []byte(target) // a link is its name
		n.attr(&out.Attr)
	}
	return status
}

func (d *disk) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	n, done := d.at(h.NodeId)
	defer done()
	return n.data, fuse.OK
}

func (d *disk) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, done := d.at(in.NodeId)
	defer done()
	if !d.step() {
		return fuse.EIO
	}
	if dir.names[name] != nil {
		return fuse.Status(syscall.EEXIST)
	}
	n := d.nodes[in.Oldnodeid]
	n.links++
	d.name(n, false, set{dir: dir, name: name, now: n})
	n.entry(out)
	return fuse.OK
}

func (d *disk) remove(parent uint64, name string) fuse.Status {
	dir, done := d.at(parent)
	defer done()
	n := dir.names[name]
	switch {
	case n == nil:
		return fuse.ENOENT
	case len(n.names) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	case !d.step():
		return fuse.EIO
	}
	n.links--
	d.name(n, false, set{dir: dir, name: name})
	return fuse.OK
}

func (d *disk) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return d.remove(h.NodeId, name)
}

func (d *disk) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return d.remove(h.NodeId, name)
}

func (d *disk) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	dir, done := d.at(in.NodeId)
	defer done()
	target := d.nodes[in.Newdir]
	n, old := dir.names[from], target.names[to]
	switch {
	case in.Flags&^1 != 0: // all but RENAME_NOREPLACE
		return fuse.EINVAL
	case n == nil:
		return fuse.ENOENT
	case old != nil && in.Flags&1 != 0:
		return fuse.Status(syscall.EEXIST)
	case old != nil && len(old.names) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	case old == n:
		return fuse.OK
	case !d.step():
		return fuse.EIO
	}
	if old != nil {
		old.links--
	}
	d.name(n, false, set{dir: dir, name: from}, set{dir: target, name: to, now: n})
	if d.renamed != nil && !n.isDir() {
		d.renamed(n.path(), n.data)
	}
	return fuse.OK
}

func (d *disk) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

func (d *disk) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	_, done := d.at(in.NodeId)
	defer done()
	_, status := d.make(in.NodeId, name, syscall.S_IFREG|in.Mode&0o7777, &out.EntryOut)
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return status
}

func (d *disk) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, done := d.at(in.NodeId)
	defer done()
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	if in.Flags&syscall.O_TRUNC != 0 {
		if !d.step() {
			return fuse.EIO
		}
		n.resize(0)
	}
	return fuse.OK
}

func (d *disk) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, done := d.at(in.NodeId)
	defer done()
	if d.off {
		return nil, fuse.EIO
	}
	if in.Offset >= uint64(len(n.data)) {
		return fuse.ReadResultData(nil), fuse.OK
	}
	return fuse.ReadResultData(buf[:copy(buf, n.data[in.Offset:])]), fuse.OK
}

func (d *disk) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, done := d.at(in.NodeId)
	defer done()
	if !d.step() {
		return 0, fuse.EIO
	}
	n.write(int64(in.Offset), data)
	return uint32(len(data)), fuse.OK
}

func (d *disk) Release(<-chan struct{}, *fuse.ReleaseIn)                 {}
func (d *disk) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status         { return fuse.OK }
func (d *disk) Forget(uint64, uint64)                                    {}
func (d *disk) FsyncDir(c <-chan struct{}, in *fuse.FsyncIn) fuse.Status { return d.Fsync(c, in) }

func (d *disk) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	n, done := d.at(in.NodeId)
	defer done()
	if !d.step() {
		return fuse.EIO
	}
	d.sync(n)
	return fuse.OK
}

func (d *disk) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, done := d.at(in.NodeId)
	defer done()
	if d.off {
		return fuse.EIO
	}
	list := []fuse.DirEntry{{Name: ".", Ino: n.id, Mode: n.mode}, {Name: "..", Ino: n.id, Mode: n.mode}}
	for name, below := range n.names {
		list = append(list, fuse.DirEntry{Name: name, Ino: below.id, Mode: below.mode})
	}
	slices.SortFunc(list[2:], func(a, b fuse.DirEntry) int { return int(a.Ino) - int(b.Ino) })
	d.last++
	out.Fh = d.last
	d.lists[out.Fh] = list
	return fuse.OK
}

func (d *disk) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	_, done := d.at(in.NodeId)
	defer done()
	for list, i := d.lists[in.Fh], int(in.Offset); i < len(list); i++ {
		e := list[i]
		e.Off = uint64(i + 1)
		if !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}

func (d *disk) ReleaseDir(in *fuse.ReleaseIn) {
	_, done := d.at(in.NodeId)
	defer done()
	delete(d.lists, in.Fh)
}

func (d *disk) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = 1<<24, 1<<23, 1<<23, 1<<24, 1<<23
	return fuse.OK
}
