// Package notify reports events to people outside of the terminal: an outbox, which gets every notification, and a webhook,
// to which they are delivered (specs/roles-and-knowledge.md#9.1). Nothing waits for a delivery, and a failed one stops
// nothing.
package notify

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/safefile"
)

// Message is a notification.
type Message struct {
	ID      string         `json:"id"`
	At      string         `json:"at"`
	Event   string         `json:"event"`
	Task    string         `json:"task,omitempty"`
	Plan    string         `json:"plan,omitempty"`
	Goal    string         `json:"goal,omitempty"`
	Sprint  string         `json:"sprint,omitempty"`
	Type    string         `json:"type,omitempty"` // kind of the task
	Content string         `json:"content"`
	Final   bool           `json:"final"`
	Data    map[string]any `json:"data"`
}

// of is the key of Data that identifies the subject of an event: the same event of the same subject is reported once.
const of = "of"

// New returns a message. subject distinguishes it from others of the same event.
func New(event, subject, content string) Message {
	return Message{Event: event, Content: content, Data: map[string]any{of: subject}}
}

func (m Message) same(other Message) bool {
	return m.Event == other.Event && m.Task == other.Task && m.Data[of] == other.Data[of]
}

// Delivery is the result of the delivery of a message.
type Delivery struct {
	ID       string `json:"id"`
	Delivery string `json:"delivery"` // delivered or failed
	Attempts int    `json:"attempts"`
	At       string `json:"at"`
	Error    string `json:"error"`
}

// Outbox is the file .liza/notifications.jsonl: messages and deliveries, one object a line.
type Outbox struct {
	Path string
	Mask func(string) string // masks secrets in written texts; nil: nothing is masked
}

const (
	maxOutbox  = 10 << 20
	maxCarried = 1 << 20 // bytes of waiting messages that rotate keeps
	lockWait   = 10 * time.Second
	tryFor     = 24 * time.Hour
	timeForm   = "2006-01-02T15:04:05Z"
)

// Put adds the messages that the outbox does not have yet.
func (o Outbox) Put(ctx context.Context, now time.Time, messages ...Message) error {
	return o.change(ctx, now, func(box contents) (lines []any) {
		for _, m := range messages {
			if box.has(m) {
				continue
			}
			box.last++
			m.ID, m.At = fmt.Sprintf("n-%d", box.last), now.UTC().Format(timeForm)
			box.messages = append(box.messages, m)
			lines = append(lines, m)
		}
		return lines
	})
}

// Settle records the delivery of a message.
func (o Outbox) Settle(ctx context.Context, d Delivery) error {
	return o.change(ctx, time.Time{}, func(contents) []any { return []any{d} })
}

// Waiting returns the messages of the last day without a delivery, successful or failed.
func (o Outbox) Waiting(now time.Time) ([]Message, error) {
	box, err := o.read()
	if err != nil {
		return nil, err
	}
	return box.waiting(now), nil
}

// contents are the contents of the file.
type contents struct {
	messages []Message
	settled  map[string]bool
	last     int // number of the last message
	size     int64
	torn     bool // the last line is incomplete: its writer was killed
}

func (c contents) waiting(now time.Time) (waiting []Message) {
	for _, m := range c.messages {
		at, err := time.Parse(timeForm, m.At)
		if !c.settled[m.ID] && err == nil && now.Sub(at) < tryFor {
			waiting = append(waiting, m)
		}
	}
	return waiting
}

func (c contents) has(m Message) bool {
	for _, old := range c.messages {
		if old.same(m) {
			return true
		}
	}
	return false
}

func (o Outbox) read() (contents, error) {
	box := contents{settled: map[string]bool{}}
	data, err := safefile.Read(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return box, nil
	}
	if err != nil {
		return box, fmt.Errorf("cannot read the outbox: %v", err)
	}
	box.size, box.torn = int64(len(data)), len(data) > 0 && data[len(data)-1] != '\n'
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var line struct {
			Message
			Delivery string `json:"delivery"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // torn
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(line.ID, "n-")); err == nil {
			box.last = max(box.last, n)
		}
		if line.Delivery != "" {
			box.settled[line.ID] = true
		} else {
			box.messages = append(box.messages, line.Message)
		}
	}
	return box, lines.Err()
}

// change appends lines under the lock of the file. With a time, a file that is too large is
// put away before.
func (o Outbox) change(ctx context.Context, now time.Time, add func(contents) []any) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := safefile.Lock(ctx, o.Path+".lock", safefile.Holder{PID: os.Getpid(), Op: "notify"})
	if err != nil {
		return err
	}
	defer unlock()
	box, err := o.read()
	if err != nil {
		return err
	}
	lines := add(box)
	if len(lines) == 0 {
		return nil
	}
	if box.size > maxOutbox && !now.IsZero() {
		if err := o.rotate(box, now); err != nil {
			return err
		}
		box.torn = false
	}
	var text bytes.Buffer
	if box.torn {
		text.WriteByte('\n')
	}
	for _, line := range lines {
		data, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("cannot write to the outbox: %v", err)
		}
		text.WriteString(o.mask(string(data)) + "\n")
	}
	if _, err := os.Lstat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return safefile.Replace(o.Path, text.Bytes(), 0o600)
	}
	return safefile.Append(o.Path, text.Bytes())
}

func (o Outbox) mask(text string) string {
	if o.Mask == nil {
		return text
	}
	return o.Mask(text)
}

// rotate compresses the file and sets it aside. A new one begins with the newest of the waiting messages, and with the number
// of the last message.
func (o Outbox) rotate(box contents, now time.Time) error {
	data, err := safefile.Read(o.Path)
	if err != nil {
		return fmt.Errorf("cannot put the outbox away: %v", err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("cannot put the outbox away: %v", err)
	}
	stem := strings.TrimSuffix(o.Path, ".jsonl")
	away, err := filepath.Glob(stem + ".*.jsonl.gz")
	if err != nil {
		return err
	}
	n := 0
	for _, path := range away {
		if i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, stem+"."), ".jsonl.gz")); err == nil {
			n = max(n, i)
		}
	}
	if err := safefile.Replace(fmt.Sprintf("%s.%d.jsonl.gz", stem, n+1), packed.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot put the outbox away: %w", err)
	}
	var rest []byte
	waiting, size := box.waiting(now), 0
	for first := len(waiting) - 1; first >= 0; first-- {
		if size += len(waiting[first].Content); size > maxCarried {
			waiting = waiting[first+1:]
			break
		}
	}
	for _, m := range waiting {
		line, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("cannot put the outbox away: %v", err)
		}
		rest = append(append(rest, line...), '\n')
	}
	if len(waiting) == 0 || waiting[len(waiting)-1].ID != fmt.Sprint("n-", box.last) {
		line := fmt.Sprintf(`{"id":"n-%d","delivery":"put away","attempts":0,"at":%q,"error":""}`, box.last, now.UTC().Format(timeForm))
		rest = append(rest, line+"\n"...)
	}
	return safefile.Replace(o.Path, rest, 0o600)
}
