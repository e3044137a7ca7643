package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

var lfsObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^lfs/objects/([0-9a-f]{2})/([0-9a-f]{2})/([0-9a-f]{64})$`)
})

// takeLarge brings the large files that git-lfs has put beside the objects of a folder to those of the repository. Each is
// named by the hash of its content, so that there is nothing to believe: what has another content is left.
func (in *incoming) takeLarge(ctx context.Context) (why string, err error) {
	if _, err := in.from.root.Lstat("lfs/objects"); err != nil {
		return "", nil
	}
	common := in.folder.repo.place.CommonDir
	o, err := in.folder.repo.configured(ctx, common, common)
	if err != nil {
		return "", err
	}
	store := filepath.Join(absolute(common, "lfs"), "objects")
	if own := o.effective()["lfs.storage"]; own != "" {
		store = filepath.Join(absolute(common, own), "objects")
	}
	seen, room := 0, in.folder.repo.mostTaken()
	err = fs.WalkDir(in.from.root.FS(), "lfs/objects", func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > mostFiles || ctx.Err() != nil {
			return errors.Join(ctx.Err(), fs.SkipAll)
		}
		parts := lfsObject().FindStringSubmatch(name)
		if err != nil || e.IsDir() || parts == nil || parts[3][:2] != parts[1] || parts[3][2:4] != parts[2] {
			return nil
		}
		to := filepath.Join(store, parts[1], parts[2], parts[3])
		if exists(to) {
			return nil
		}
		n, err := in.takeFile(name, to, parts[3], room)
		if room -= n; room < 0 {
			return oddError{fmt.Sprintf("it has more than %d MB of large files", in.folder.repo.mostTaken()>>20)}
		}
		return err
	})
	return oddOr(err)
}

// takeFile copies a file whose content has that hash.
func (in *incoming) takeFile(name, to, hash string, room int64) (int64, error) {
	from, err := in.from.open(name)
	if err != nil {
		return 0, nil
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(to), ".liza-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(from, room+1))
	if err := errors.Join(err, file.Chmod(0o444), file.Close()); err != nil || hex.EncodeToString(sum.Sum(nil)) != hash {
		return n, err
	}
	return n, os.Rename(file.Name(), to)
}
