package store

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
	"liza/pkg/yamldoc"
)

// version is one content of the file, read. It never changes.
type version struct {
	doc   *yamldoc.Document
	stamp safefile.Stamp
	mode  fs.FileMode
	still bool              // the content is this as long as the stamp is
	made  bool              // by this process: no file to link has this content
	base  *blackboard.State // shared: fork it before anybody may change it

	once   sync.Once
	digest [sha256.Size]byte
	same   *version // read before, with the same content: it may know the digest
}

// sum is the hash of the content.
func (v *version) sum() [sha256.Size]byte {
	v.once.Do(func() {
		if v.same != nil {
			v.digest = v.same.sum()
			return
		}
		h := sha256.New()
		_, _ = v.doc.WriteTo(h)
		v.digest = [sha256.Size]byte(h.Sum(nil))
	})
	return v.digest
}

// parse decodes the bytes.
func (v *version) parse(data []byte, reader *yamldoc.Reader) (err error) {
	if v.doc, err = reader.Parse(data); err != nil {
		return err
	}
	v.base = state(v.doc, nil)
	return nil
}

// state is the version's state, nil if there is no version.
func (v *version) state() *blackboard.State {
	if v == nil {
		return nil
	}
	return v.base
}

// readBytes reads a file with the stamp by which a later change of it is recognised.
func (v *version) readBytes(path string) ([]byte, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if v.stamp, err = safefile.StampOfFile(file); err != nil {
		return nil, err
	}
	if info.Size() > yamldoc.MaxSize {
		return nil, &yamldoc.SyntaxError{Reason: fmt.Sprintf("the file has %d MB, more than %d", info.Size()>>20, yamldoc.MaxSize>>20)}
	}
	data := make([]byte, info.Size(), info.Size()+1)
	n, err := io.ReadFull(file, data)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	rest, err := io.ReadAll(file) // it may have grown meanwhile
	data, v.mode = append(data[:n], rest...), info.Mode()
	v.still = len(data) == int(v.stamp.Size) && v.stamp.Settled(time.Now())
	return data, err
}

func newReader() *yamldoc.Reader {
	return &yamldoc.Reader{Split: splitKeys(), Decode: decode, Fast: decodeFast}
}
