package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// orderly is both ends of a conversation. A request is read only when the one before it is
// answered, so calls happen in the order in which they were sent, and the end of the input
// does not cut off the last answer.
type orderly struct {
	in   *bufio.Reader
	out  io.Writer
	line []byte // what of the last line was not read yet

	mu      sync.Mutex
	asked   json.RawMessage // id of the request that has no answer yet
	changed *sync.Cond
	closed  bool
	end     error // why there is no further line
}

func newOrderly(in io.Reader, out io.Writer) *orderly {
	o := &orderly{in: bufio.NewReader(in), out: out}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// message is what a line has to be looked at for.
type message struct {
	ID     json.RawMessage
	Method string
}

// Read gives the lines of the input, one after the other.
func (o *orderly) Read(p []byte) (int, error) {
	for len(o.line) == 0 {
		o.mu.Lock()
		for o.asked != nil && !o.closed {
			o.changed.Wait()
		}
		end := o.end
		o.mu.Unlock()
		if end != nil {
			return 0, end
		}
		line, end := o.in.ReadBytes('\n')
		var m message
		request := json.Unmarshal(line, &m) == nil && m.Method != "" && len(m.ID) > 0
		o.mu.Lock()
		o.end = end
		if request {
			o.asked = m.ID
		}
		o.mu.Unlock()
		if o.line = line; end != nil && len(bytes.TrimSpace(line)) > 0 {
			o.line = append(line, '\n')
		}
	}
	n := copy(p, o.line)
	o.line = o.line[n:]
	return n, nil
}

// Write sends one message.
func (o *orderly) Write(p []byte) (int, error) {
	n, err := o.out.Write(p)
	var m message
	if err != nil || json.Unmarshal(p, &m) == nil && m.Method == "" {
		o.mu.Lock()
		defer o.mu.Unlock()
		if err != nil || bytes.Equal(m.ID, o.asked) {
			o.asked = nil
			o.changed.Broadcast()
		}
	}
	return n, err
}

// ended tells whether the input came to its end.
func (o *orderly) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Is(o.end, io.EOF)
}

// Close lets a waiting Read go. The streams belong to somebody else.
func (o *orderly) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
	return nil
}
