package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// version of the frames. Client and server are the same binary, but a program may be replaced while it runs.
const version = 1

const (
	headerSize = 6
	maxRequest = 1 << 20  // bytes of a command line with all that belongs to it
	maxChunk   = 32 << 10 // bytes of any other frame
)

type kind byte

const (
	kindRequest kind = iota + 1 // of the client: a Request as JSON; the first frame, and the only one of its kind
	kindAsk                     // of the server: an ask as JSON
	kindData                    // of the client: what was asked for; empty at its end
	kindFault                   // of the client: why that cannot be read
	kindOut                     // of the server: a piece of stdout
	kindErr                     // of the server: a piece of stderr
	kindExit                    // of the server: one byte, the exit code; the last frame
	kinds
)

// Request is a command as it is called.
type Request struct {
	Args     []string `json:"args"`               // without the name of the program
	Dir      string   `json:"dir"`                // the folder in which it was called
	Terminal bool     `json:"terminal,omitempty"` // stdout is one
}

// ask is a question for a piece of stdin, or of a file.
type ask struct {
	File string `json:"file,omitempty"` // as the command names it; "": stdin
	Most int    `json:"most"`           // bytes
}

// Errors of the reader of frames.
var (
	errVersion = errors.New("the other side speaks another version of the protocol")
	errFrame   = errors.New("the other side does not keep to the protocol")
)

// appendFrame makes a frame behind what is in to.
func appendFrame(to []byte, k kind, content []byte) []byte {
	to = append(to, version, byte(k))
	to = binary.BigEndian.AppendUint32(to, uint32(len(content)))
	return append(to, content...)
}

// readFrame reads one frame whose content has at most so many bytes. io.EOF is an end between two frames.
func readFrame(r io.Reader, most int) (kind, []byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	k, size := kind(header[1]), binary.BigEndian.Uint32(header[2:])
	switch {
	case header[0] != version:
		return 0, nil, fmt.Errorf("%w: %d, not %d", errVersion, header[0], version)
	case k == 0 || k >= kinds:
		return 0, nil, fmt.Errorf("%w: %d is not a kind of frame", errFrame, k)
	case uint64(size) > uint64(most):
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, and at most %d are allowed", errFrame, size, most)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return k, content, nil
}
