package broker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
)

// version of the frames. Client and server are the same binary, but a program may be replaced while it runs.
const version = 1

const (
	headerSize = 6
	maxRequest = 1 << 20  // bytes of a request
	maxChunk   = 32 << 10 // bytes of any other frame
)

type kind byte

const (
	kindRequest kind = iota + 1 // of the client: a Request as JSON; the first frame, and the only one of its kind
	kindAsk                     // of the server: an ask as JSON
	kindData                    // of the client: the requested data; empty at its end
	kindFault                   // of the client: why the data cannot be read
	kindOut                     // of the server: a piece of stdout
	kindErr                     // of the server: a piece of stderr
	kindExit                    // of the server: one byte, the exit code; the last frame
	kinds
)

// Request is the call of a command.
type Request struct {
	Args     []string `json:"args"`               // without the name of the program
	Dir      string   `json:"dir"`                // its working folder
	Terminal bool     `json:"terminal,omitempty"` // stdout is a terminal
}

// ask is a question for a piece of stdin, or of a file.
type ask struct {
	File string `json:"file,omitempty"` // name in the command line; "": stdin
	Most int    `json:"most"`           // most bytes
}

// The errors of the reader of frames.
var (
	errVersion = errors.New("the other side speaks another version of the protocol")
	errFrame   = errors.New("the other side does not keep to the protocol")
)

// appendFrame appends a frame to to.
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

// The errors of a Client without an answer. After the first the command was not carried out; after the second the result is
// unknown.
var (
	ErrGone    = errors.New("no answer at the socket of this run")
	ErrCut     = errors.New("the answer was cut off")
	ErrTooLong = errors.New("the command line is too long")
)

// Client is the side of the run.
type Client struct {
	Socket         string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Open           func(name string) (io.ReadCloser, error) // opens a file that the command line names
}

// Do sends a command and returns its exit code. When ctx ends it disconnects.
func (c *Client) Do(ctx context.Context, r Request) (int, error) {
	content, err := json.Marshal(r)
	if err == nil && len(content) > maxRequest {
		err = fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrTooLong, len(content), maxRequest)
	}
	if err != nil {
		return 0, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			err = fmt.Errorf("%w: %w", ErrGone, err)
		}
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(appendFrame(nil, kindRequest, content)); err != nil {
		return 0, c.cut(ctx, err)
	}
	code, err := c.receive(conn)
	if err != nil {
		return 0, c.cut(ctx, err)
	}
	return code, nil
}

func (c *Client) cut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errVersion) || errors.Is(err, errOwn) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCut, err)
}

// errOwn marks an error of this side.
var errOwn = errors.New("cannot write what the command says")

// receive takes frames until the exit code.
func (c *Client) receive(conn net.Conn) (int, error) {
	source := &source{client: c, conn: conn}
	defer source.close()
	for {
		k, content, err := readFrame(conn, maxChunk)
		if err != nil {
			return 0, err
		}
		switch k {
		case kindOut:
			_, err = c.Stdout.Write(content)
		case kindErr:
			_, err = c.Stderr.Write(content)
		case kindAsk:
			var q ask
			if err := json.Unmarshal(content, &q); err != nil || q.Most < 1 || q.Most > maxChunk {
				return 0, errFrame
			}
			source.answer(q)
		case kindExit:
			if len(content) != 1 {
				return 0, errFrame
			}
			return int(content[0]), nil
		default:
			return 0, errFrame
		}
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errOwn, err)
		}
	}
}

// source answers questions for stdin and files; the server asks one at a time.
type source struct {
	client *Client
	conn   net.Conn
	name   string
	file   io.ReadCloser // open until it is read to its end
}

// answer reads stdin beside the frames that come: it may have nothing for a long time.
func (s *source) answer(q ask) {
	if q.File != "" {
		s.send(s.piece(q))
		return
	}
	go func() {
		data := make([]byte, q.Most)
		n, err := io.ReadAtLeast(s.client.Stdin, data, 1)
		if n > 0 || errors.Is(err, io.EOF) {
			err = nil
		}
		s.send(data[:n], err)
	}()
}

func (s *source) piece(q ask) ([]byte, error) {
	if s.file == nil || s.name != q.File {
		s.close()
		f, err := s.client.Open(q.File)
		if err != nil {
			return nil, err
		}
		s.file, s.name = f, q.File
	}
	data := make([]byte, q.Most)
	n, err := io.ReadFull(s.file, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return data[:n], err
}

func (s *source) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
		s.file = nil
	}
}

// send answers. When that cannot be sent, the reader of the connection sees it too.
func (s *source) send(data []byte, err error) {
	k := kindData
	if err != nil {
		text := err.Error()
		k, data = kindFault, []byte(text[:min(len(text), maxChunk)])
	}
	_, _ = s.conn.Write(appendFrame(nil, k, data))
}
