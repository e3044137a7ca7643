package yamldoc

import (
	"bufio"
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
	for piece := range d.all() {
		n += len(piece)
	}
	return n
}

// WriteTo writes the file, in few large writes.
func (d *Document) WriteTo(w io.Writer) (int64, error) {
	if d.data != nil {
		n, err := w.Write(d.data)
		return int64(n), err
	}
	buffer := bufio.NewWriterSize(w, min(128<<10, d.Size()))
	n := 0
	for piece := range d.all() {
		written, err := buffer.WriteString(piece)
		if n += written; err != nil {
			return int64(n), err
		}
	}
	return int64(n), buffer.Flush()
}

// Is reports whether these are the bytes of the file.
func (d *Document) Is(data []byte) bool {
	if d.data != nil {
		return bytes.Equal(d.data, data)
	}
	for piece := range d.all() {
		if len(piece) > len(data) || piece != string(data[:len(piece)]) {
			return false
		}
		data = data[len(piece):]
	}
	return len(data) == 0
}
