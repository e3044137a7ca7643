package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// sequential is both ends of a conversation. A request is read only when the one before it is
// answered, so calls happen in the order in which they were sent, and the end of the input
// does not cut off the last answer. A line that is not a message is answered with an error, and
// the conversation goes on.
type sequential struct {
	in   *bufio.Reader
	line []byte // unread rest of the last line

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	asked   json.RawMessage // id of the unanswered request
	changed *sync.Cond
	closed  bool
	end     error // why no further line can be read
}

func newSequential(in io.Reader, out io.Writer) *sequential {
	o := &sequential{in: bufio.NewReader(in), out: out}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// message has the fields of a line that matter here.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// The JSON-RPC codes for a line that is not JSON, and for one that is not a message.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// parse parses a line; code and why describe an invalid one.
func parse(line []byte) (m message, code int, why string) {
	if !json.Valid(line) {
		return m, parseError, "the line is not JSON; a message is one JSON object in one line"
	}
	if line = bytes.TrimSpace(line); line[0] != '{' {
		return m, invalidRequest, "a message is a JSON object; batches are not supported"
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, invalidRequest, "the object is not a message of JSON-RPC 2.0: " + err.Error()
	}
	switch {
	case m.Version != "2.0":
		return m, invalidRequest, `jsonrpc has to be "2.0"`
	case len(m.ID) > 0 && !validID(m.ID):
		m.ID = nil
		return m, invalidRequest, "id has to be a text or a number"
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return m, invalidRequest, "method is missing"
	}
	return m, 0, ""
}

func validID(id json.RawMessage) bool {
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// refuse answers a line that is not a message.
func (o *sequential) refuse(m message, code int, why string) error {
	id := m.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return err
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	_, err = o.out.Write(append(text, '\n'))
	return err
}

// maxLine is the most bytes of a message. An endless line must not fill the memory of its reader: over the broker that is the
// supervisor.
const maxLine = 8 << 20

// nextLine reads a line. Of a long one nothing is kept.
func (o *sequential) nextLine() (line []byte, long bool, end error) {
	for {
		part, err := o.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// Read returns the lines of the input, one after the other.
func (o *sequential) Read(p []byte) (int, error) {
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
		line, long, end := o.nextLine()
		m, code, why := message{}, 0, ""
		switch {
		case long:
			code, why = invalidRequest, fmt.Sprintf("the line has more than %d bytes", maxLine)
		case len(bytes.TrimSpace(line)) > 0:
			m, code, why = parse(line)
		}
		o.mu.Lock()
		o.end = end
		if code == 0 && m.Method != "" && len(m.ID) > 0 {
			o.asked = m.ID
		}
		o.mu.Unlock()
		if code != 0 {
			if err := o.refuse(m, code, why); err != nil {
				return 0, err
			}
			continue
		}
		if o.line = line; end != nil && len(bytes.TrimSpace(line)) > 0 {
			o.line = append(line, '\n')
		}
	}
	n := copy(p, o.line)
	o.line = o.line[n:]
	return n, nil
}

// Write sends one message.
func (o *sequential) Write(p []byte) (int, error) {
	o.writing.Lock()
	n, err := o.out.Write(p)
	o.writing.Unlock()
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

// ended reports whether the input came to its end.
func (o *sequential) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Is(o.end, io.EOF)
}

// Close ends a waiting Read. It does not close the streams.
func (o *sequential) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
	return nil
}
