//go:build linux && !race

package power

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// A loss is what a loss of power leaves of what was not durable.
type loss string

const (
	nothing    loss = "nothing"     // of it
	subset     loss = "subset"      // any names, any writes
	torn       loss = "torn"        // names up to some moment; of each file some first writes, the last of them cut or as zeros
	namesFirst loss = "names first" // all names, and no content
	everything loss = "everything"  // as if all programs were killed
)

var losses = []loss{nothing, subset, subset, torn, torn, namesFirst, namesFirst, everything}

// after is the disk that is found when the power is back.
func (d *disk) after(kind loss, r *rand.Rand) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut()
	d.keepNames(kind, r)
	found := newDisk(d.strict)
	found.last, found.renamed, found.forgets = d.last, d.renamed, d.forgets
	made := map[*node]*node{}
	var copied func(n *node) *node
	copied = func(n *node) *node {
		if m := made[n]; m != nil {
			m.links++
			return m
		}
		m := &node{id: n.id, mode: n.mode, links: 1, mtime: n.mtime, ctime: n.ctime}
		made[n], found.nodes[n.id] = m, m
		if !n.isDir() {
			m.data = n.content(kind, r)
			m.synced = slices.Clone(m.data)
			return m
		}
		m.names = map[string]*node{}
		for _, name := range slices.Sorted(maps.Keys(n.kept)) {
			below := copied(n.kept[name])
			below.in, below.as = m, name
			m.names[name] = below
		}
		m.kept = maps.Clone(m.names)
		return m
	}
	copied(d.nodes[root])
	return found
}

// keepNames carries out changes of names that were not durable.
func (d *disk) keepNames(kind loss, r *rand.Rand) {
	most := len(d.pending)
	if kind == torn {
		most = r.IntN(len(d.pending) + 1)
	}
	for i, c := range d.pending {
		switch {
		case kind == nothing || i >= most || kind == subset && r.IntN(3) == 0:
		case c.fits(): // else one that it rests on did not reach the disk
			c.keep()
		}
	}
}

// content is what is left of a file.
func (n *node) content(kind loss, r *rand.Rand) []byte {
	data := slices.Clone(n.synced)
	if len(n.writes) == 0 || kind == nothing || kind == namesFirst {
		return data
	}
	if kind == everything {
		return slices.Clone(n.data)
	}
	most, zeros := len(n.writes), r.IntN(3) == 0
	if kind == torn {
		most = r.IntN(len(n.writes) + 1)
	}
	left := &node{data: data}
	for i, w := range n.writes[:most] {
		switch {
		case kind == subset && r.IntN(2) == 0:
			continue
		case w.cut:
			left.resize(w.at)
			continue
		case kind == torn && i == most-1 && zeros: // its size reached the disk, its blocks did not
			w.data = make([]byte, len(w.data))
		case kind == torn && i == most-1:
			w.data = w.data[:r.IntN(len(w.data)+1)]
		}
		left.write(w.at, w.data)
	}
	return left.data
}
