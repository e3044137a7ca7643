package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
)

// Errors of a Client: nobody answers any more. The first says that the command was not carried out;
// after the second nobody knows.
var (
	ErrGone    = errors.New("nobody answers at the socket of this run")
	ErrCut     = errors.New("the answer was cut off")
	ErrTooLong = errors.New("the command line is too long")
)

// Client is the side of the run.
type Client struct {
	Socket         string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Open           func(name string) (io.ReadCloser, error) // a file that the command line names
}

// Do sends a command and returns its exit code. When ctx ends, it goes away.
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

// errOwn marks what went wrong on this side.
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
	file   io.ReadCloser // open, when it was not read to its end
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
