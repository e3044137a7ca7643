package git

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"liza/pkg/base/safefile"
)

// The limits of unchanged: beyond them the helper is as fast.
const (
	mostWalked = 5_000   // files and folders
	mostHashed = 8 << 20 // bytes
	mostIndex  = 2 << 20 // bytes of an index
)

var errUnsure = errors.New("not known")

// unchanged reports whether the files in the folder are surely those of an index of Liza's own, by the times and the numbers that git
// compares, or by their content. With all there is surely nothing else, and the index is surely that of tree. Where it is not sure, the
// helper is asked: most worktrees are looked at several times after nothing has happened there, and a sandbox takes longer than this.
func unchanged(dir, file, tree string, all bool) bool {
	idx, info, err := readIndex(file)
	if err != nil || len(tree) != 2*sha1.Size {
		return false
	}
	if all && !isIndexOf(idx, tree) {
		return false
	}
	entries := make(map[string]*index.Entry, len(idx.Entries))
	for _, e := range idx.Entries {
		if e.Stage != 0 || e.SkipWorktree || e.IntentToAdd || e.Mode == filemode.Submodule {
			return false
		}
		entries[e.Name] = e
	}
	seen, walked, room := 0, 0, int64(mostHashed)
	err = safefile.Walk(dir, func(f safefile.Found) error {
		if walked++; walked > mostWalked {
			return errUnsure
		}
		e := entries[f.Path]
		switch {
		case f.Path == ".git" || e == nil && (f.Info.IsDir() || !all):
			return nil
		case e == nil || !sameAs(f, e, info, &room):
			return errUnsure
		}
		seen++
		return nil
	})
	return err == nil && seen == len(entries)
}

// isIndexOf reports whether an index is surely that of a tree. Git leaves parts that it does not know out of the cache of trees.
func isIndexOf(idx *index.Index, tree string) bool {
	return idx.Cache != nil && len(idx.Cache.Entries) > 0 && idx.Cache.Entries[0].Path == "" && idx.Cache.Entries[0].Hash.String() == tree
}

// readIndex reads an index of bounded size, and when it was written.
func readIndex(file string) (*index.Index, fs.FileInfo, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > mostIndex {
		return nil, nil, errUnsure
	}
	data, err := safefile.Read(file)
	if err != nil {
		return nil, nil, err
	}
	idx := &index.Index{}
	if err := index.NewDecoder(strings.NewReader(string(data))).Decode(idx); err != nil {
		return nil, nil, err
	}
	if len(idx.Entries) > mostWalked {
		return nil, nil, errUnsure
	}
	return idx, info, nil
}

// sameAs reports whether a file is surely that of an entry of an index, which was written when its file says.
func sameAs(f safefile.Found, e *index.Entry, written fs.FileInfo, room *int64) bool {
	mode, ok := map[fs.FileMode]filemode.FileMode{0: filemode.Regular, fs.ModeSymlink: filemode.Symlink}[f.Info.Mode().Type()]
	if mode == filemode.Regular && f.Info.Mode()&0o100 != 0 {
		mode = filemode.Executable
	}
	if !ok || mode != e.Mode {
		return false
	}
	changed, known := changeTime(f.Info)
	stat, there := f.Info.Sys().(*syscall.Stat_t)
	if known && there && e.ModifiedAt.Equal(f.Info.ModTime()) && e.CreatedAt.Equal(changed) && e.Size == uint32(f.Info.Size()) && e.Inode == uint32(stat.Ino) && f.Info.ModTime().Before(written.ModTime()) {
		return true
	}
	if *room -= f.Info.Size(); *room < 0 {
		return false
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", f.Info.Size())
	if mode == filemode.Symlink {
		target, err := f.Root.Readlink(f.Name)
		io.WriteString(sum, target)
		return err == nil && fmt.Sprintf("%x", sum.Sum(nil)) == e.Hash.String()
	}
	file, err := private{f.Root}.open(f.Name)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = io.Copy(sum, io.LimitReader(file, f.Info.Size()+1))
	return err == nil && fmt.Sprintf("%x", sum.Sum(nil)) == e.Hash.String()
}

// asHead reports whether the worktree at path certainly equals the tree of its HEAD.
func (r *Repo) asHead(path, admin, tree string) bool {
	return tree != "" && unchanged(path, filepath.Join(admin, "index"), tree, true)
}
