package yamldoc

import (
	"bytes"
	"io"
)

// A document of a changed file is in its pieces only: its bytes are never put together
// unless somebody asks for all of them at once.

// Bytes is the file.
func (d *Document) Bytes() []byte {
	if d.data != nil {
		return d.data
	}
	b := bytes.NewBuffer(make([]byte, 0, d.Size()))
	_, _ = d.WriteTo(b)
	return b.Bytes()
}

// Size is the number of bytes of the file.
func (d *Document) Size() int {
	if d.data != nil {
		return len(d.data)
	}
	n := 0
	d.each(func(piece string) bool { n += len(piece); return true })
	return n
}

// WriteTo writes the file, in few large writes.
func (d *Document) WriteTo(w io.Writer) (int64, error) {
	if d.data != nil {
		n, err := w.Write(d.data)
		return int64(n), err
	}
	most := min(128<<10, d.Size())
	var (
		buffer  = make([]byte, 0, most)
		written int64
		err     error
	)
	flush := func() {
		if err == nil && len(buffer) > 0 {
			var n int
			n, err = w.Write(buffer)
			written += int64(n)
		}
		buffer = buffer[:0]
	}
	d.each(func(piece string) bool {
		for len(piece) > 0 && err == nil {
			n := min(len(piece), most-len(buffer))
			buffer, piece = append(buffer, piece[:n]...), piece[n:]
			if len(buffer) == most {
				flush()
			}
		}
		return err == nil
	})
	flush()
	return written, err
}

// Is tells whether these are the bytes of the file.
func (d *Document) Is(data []byte) bool {
	if d.data != nil {
		return bytes.Equal(d.data, data)
	}
	same := true
	d.each(func(piece string) bool {
		if same = len(piece) <= len(data) && piece == string(data[:len(piece)]); same {
			data = data[len(piece):]
		}
		return same
	})
	return same && len(data) == 0
}

// each goes through the pieces of the file in their order.
func (d *Document) each(do func(piece string) bool) {
	if d.marks.bom && !do(bom) {
		return
	}
	for _, s := range d.sections {
		if !s.apart {
			if !do(s.text) {
				return
			}
			continue
		}
		if !do(s.head) {
			return
		}
		for _, e := range s.entries {
			if !do(e.text) {
				return
			}
		}
	}
	do(d.tail)
}
