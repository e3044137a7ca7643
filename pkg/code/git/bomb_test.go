package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	order "encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// deflaters are kept: each has more than a megabyte, and a bomb has thousands of objects.
var deflaters = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is a valid one
	return z
}}

// object puts a loose object into the folder of the run, as no git would make it.
func (x *run) object(kind string, content []byte) string {
	x.t.Helper()
	all := append([]byte(kind+" "+strconv.Itoa(len(content))+"\x00"), content...)
	sum := sha1.Sum(all)
	name := hex.EncodeToString(sum[:])
	var b bytes.Buffer
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&b)
	if _, err := z.Write(all); err != nil {
		x.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		x.t.Fatal(err)
	}
	writeFile(x.t, filepath.Join(x.folder.Git, "objects", name[:2], name[2:]), b.String())
	return name
}

// tree makes a tree of entries "mode name object".
func (x *run) tree(entries ...string) string {
	x.t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		head, object := e[:strings.LastIndexByte(e, ' ')], e[strings.LastIndexByte(e, ' ')+1:]
		raw, err := hex.DecodeString(object)
		if err != nil {
			x.t.Fatal(err)
		}
		b.WriteString(head + "\x00" + string(raw))
	}
	return x.object("tree", b.Bytes())
}

// chain is a tree in a tree, so often.
func (x *run) chain(often int, name string) string {
	at, mode := x.object("blob", []byte("x")), "100644"
	for range often {
		at, mode = x.tree(mode+" "+name+" "+at), "40000"
	}
	return at
}

// same is a tree in which something is so often.
func (x *run) same(mode, object string, often int) string {
	var list []string
	for i := range often {
		list = append(list, fmt.Sprintf("%s n%06d %s", mode, i, object))
	}
	return x.tree(list...)
}

// A few kilobytes can be more files, or more bytes, than the machine has room for.
func TestWhatIsTooLargeWhenItIsUnpackedIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tree func(x *run) string
		want string // of the refusal when the helper packs whatever there is
	}{
		"trees of trees": {func(x *run) string {
			at, mode := x.object("blob", []byte("x")), "100644"
			for range 10 {
				at, mode = x.same(mode, at, 10), "40000"
			}
			return at
		}, "adds more than 200000 files"},
		"a file that was there, often": {func(x *run) string {
			return x.same("40000", x.same("100644", x.in("rev-parse", x.base+":a.txt"), 300), 300)
		}, "1 MB more than those of its base"},
		"a tree that was there, often": {func(x *run) string {
			return x.same("40000", x.same("40000", x.in("rev-parse", x.base+"^{tree}"), 400), 400)
		}, "adds more than 200000 files"},
		"a large file, often":       {func(x *run) string { return x.same("100644", x.object("blob", make([]byte, 100<<10)), 20) }, "1 MB more than those of its base"},
		"a large file":              {func(x *run) string { return x.same("100644", x.object("blob", make([]byte, 2<<20)), 1) }, "its commits have more than 1 MB"},
		"a large tree":              {func(x *run) string { return x.object("tree", make([]byte, mostOfTree+1)) }, "malformed mode"},
		"folders in one another":    {func(x *run) string { return x.chain(1100, "d") }, "the path of a file has more than"},
		"a long path":               {func(x *run) string { return x.chain(100, strings.Repeat("d", 50)) }, "the path of a file has more than"},
		"a long name":               {func(x *run) string { return x.chain(1, strings.Repeat("d", 256)) }, "the name of a file has more than"},
		"a file for a tree":         {func(x *run) string { return x.same("40000", x.object("blob", []byte("x")), 1) }, "is a blob, not a tree"},
		"a tree that is broken off": {func(x *run) string { return x.object("tree", []byte("100644 a\x00short")) }, "too-short tree"},
		"a tree that is not there":  {func(x *run) string { return x.same("40000", strings.Repeat("a", 40), 1) }, "unexpected type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			x := f.run("t")
			f.repo.MaxTaken = 1 << 20
			at := x.object("commit", []byte("tree "+tt.tree(x)+"\nparent "+x.base+"\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\n\nx\n"))
			writeFile(t, filepath.Join(x.folder.Git, "refs/heads/task/t"), at+"\n")
			if taken := x.take(); taken.Moved || taken.Refused == "" {
				t.Errorf("an honest helper: %+v", taken)
			}
			f.repo.Contain = x.packsAll
			if taken := x.take(); taken.Moved || !strings.Contains(taken.Refused, tt.want) {
				t.Errorf("%+v", taken)
			}
		})
	}
}

// pack puts loose objects of the run into a pack, whose index has other names for some.
func (x *run) pack(names map[string]string) {
	x.t.Helper()
	list := strings.Join(slices.Sorted(maps.Keys(names)), "\n") + "\n"
	cmd := x.command(x.dir, "pack-objects", "-q", filepath.Join(x.folder.Git, "objects/pack/pack"))
	cmd.Stdin = strings.NewReader(list)
	out, err := cmd.Output()
	if err != nil {
		x.t.Fatal(err)
	}
	at := filepath.Join(x.folder.Git, "objects/pack/pack-"+strings.TrimSpace(string(out))+".idx")
	old, count := []byte(readText(x.t, at)), len(names)
	const head = 8 + 256*4 // then the names, their sums, their places, and two sums more
	type row struct{ name, sum, place []byte }
	var rows []row
	for i := range count {
		r := row{old[head+20*i:][:20], old[head+20*count+4*i:][:4], old[head+24*count+4*i:][:4]}
		if r.name, err = hex.DecodeString(names[hex.EncodeToString(r.name)]); err != nil {
			x.t.Fatal(err)
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return bytes.Compare(a.name, b.name) })
	idx := slices.Clone(old[:8])
	for first := range 256 {
		upTo := uint32(0)
		for _, r := range rows {
			if int(r.name[0]) <= first {
				upTo++
			}
		}
		idx = order.BigEndian.AppendUint32(idx, upTo)
	}
	for _, part := range []func(row) []byte{func(r row) []byte { return r.name }, func(r row) []byte { return r.sum }, func(r row) []byte { return r.place }} {
		for _, r := range rows {
			idx = append(idx, part(r)...)
		}
	}
	idx = append(idx, old[len(old)-40:len(old)-20]...)
	sum := sha1.Sum(idx)
	if err := os.Chmod(at, 0o600); err != nil {
		x.t.Fatal(err)
	}
	writeFile(x.t, at, string(append(idx, sum[:]...)))
	for name := range names {
		if err := os.Remove(filepath.Join(x.folder.Git, "objects", name[:2], name[2:])); err != nil {
			x.t.Fatal(err)
		}
	}
}

// Of two packs that have an object each, git reads the one in which it found something last: a command that reads another
// commit in between sees another tree. What is measured is what was checked.
func TestPacksThatDisagreeAreMeasuredByWhatComesIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	file := x.in("rev-parse", x.base+":a.txt")
	commit := func(tree, parent string) string {
		return x.object("commit", []byte("tree "+tree+"\nparent "+parent+"\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\n\nx\n"))
	}
	folder, small := x.same("100644", file, 500), x.same("100644", file, 2)
	large := x.same("40000", folder, 500)
	first := commit(x.in("rev-parse", x.base+"^{tree}"), x.base)
	tip := commit(large, first)
	x.pack(map[string]string{first: first, large: large, folder: folder})
	x.pack(map[string]string{tip: tip, small: large})
	x.setBranch(tip)
	if taken := x.take(); taken.Moved || !strings.Contains(taken.Refused, "adds more than 200000 files") {
		t.Errorf("%+v", taken)
	}
}

// What is moved or removed makes nothing larger.
func TestFilesThatAreMovedCountOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	writeFile(t, filepath.Join(f.dir, "assets/large"), strings.Repeat("0123456789abcde\n", 50_000))
	f.git("add", "-A")
	f.git("commit", "-qm", "large")
	f.git("branch", "-f", "integration", "HEAD")
	x := f.run("t")
	f.repo.MaxTaken = 1 << 20
	x.in("mv", "assets", "media")
	x.in("commit", "-qm", "moved")
	if taken := x.take(); !taken.Moved {
		t.Errorf("%+v", taken)
	}
	x.in("mv", "media/large", "b.txt")
	x.commit("media/large/small.txt", "a folder in the place of a file\n")
	if taken := x.take(); !taken.Moved {
		t.Errorf("%+v", taken)
	}
}
