package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// A Text is said to a program while it works.
type Text struct {
	ID    string // by which EventHeard tells that the model has it
	Words string
}

// ErrSilent is why a text cannot be said: the program takes none any more.
var ErrSilent = errors.New("the program takes no text any more")

// A dialogue is how a program is spoken to over its stdin while it works. One belongs to one run; its methods are called by one
// goroutine at a time. What it returns is for stdin.
type dialogue interface {
	// open begins with the prompt.
	open(prompt string) inputLine
	// say hands over a text. A dialogue that has to wait for something returns none, and the lines with a later answer.
	say(Text) inputLine
	// hear follows a line of stdout, before the reader of the run does.
	hear(line []byte) reaction
}

// An inputLine is whole lines for the stdin of a program. With a mark the reaper remembers that the program was given it, for a process that
// adopts the run; replyMark is that of answers, which are counted.
type inputLine struct {
	line []byte
	mark string
}

// reaction is what a line of stdout means for a dialogue.
type reaction struct {
	answer inputLine // to what the program asks for
	seen   []string  // texts that the model has from now on
	busy   bool      // the program goes on by itself, whatever it said
}

// dialogues are the forms by the name that an entry of the catalogue has for them.
var dialogues = map[string]func(Spec) dialogue{
	"claude-stream-json": func(s Spec) dialogue {
		c := &claudeDialogue{said: map[string]string{}}
		for _, t := range s.Said {
			c.said[messageNumber(t.ID)] = t.ID
		}
		return c
	},
}

// Dialogues are the names that an entry may have for the way in which its program is spoken to.
func Dialogues() []string { return slices.Sorted(maps.Keys(dialogues)) }

// A speaker keeps the stdin of a program open, and closes it when the program has said its last word and no text is on its way.
type speaker struct {
	Reader
	listen func(Event) // may be nil
	idle   func()      // before the input is closed; may be nil

	mu      sync.Mutex
	talk    dialogue
	lines   chan inputLine
	waiting map[string]bool // texts that were said and not yet seen
	closed  bool
}

// mostLines is how many texts and answers may wait for a program that does not read.
const mostLines = 256

// speaking makes a reader that lets talk follow what the program says.
func speaking(r Reader, talk dialogue, s Spec) *speaker {
	return &speaker{Reader: r, listen: s.Event, idle: s.Idle, talk: talk, lines: make(chan inputLine, mostLines), waiting: map[string]bool{}}
}

// begin hands over the prompt, unless the program was given it before.
func (s *speaker) begin(to io.WriteCloser, prompt string, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case to == nil: // its input was closed before
		s.close()
		return
	case !given:
		_ = s.send(s.talk.open(prompt))
	}
	go func() {
		var failed error // a program that ended, or closed its input, reads nothing any more
		for m := range s.lines {
			if failed == nil {
				failed = m.writeTo(to)
			}
		}
		to.Close()
	}()
}

// say hands over a text. It does not wait for the program.
func (s *speaker) say(t Text) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrSilent
	}
	if err := s.send(s.talk.say(t)); err != nil {
		return err
	}
	s.waiting[t.ID] = true
	return nil
}

// Line lets the dialogue follow what the reader of the run follows.
func (s *speaker) Line(line []byte) (ended bool) {
	s.mu.Lock()
	r := s.talk.hear(line)
	for _, id := range r.seen {
		delete(s.waiting, id)
	}
	_ = s.send(r.answer)
	s.mu.Unlock()
	if s.listen != nil {
		for _, id := range r.seen {
			s.listen(Event{Kind: EventHeard, Text: id})
		}
	}
	if !s.Reader.Line(line) || r.busy {
		return false
	}
	s.mu.Lock()
	waiting := len(s.waiting)
	s.mu.Unlock()
	if s.idle != nil { // the last moment for a text that waited for the end of a turn
		s.idle()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.close()
	}
	return len(s.waiting) <= waiting
}

// send writes a message, if there is one. The lock is held.
func (s *speaker) send(m inputLine) error {
	switch {
	case m.line == nil:
		return nil
	case s.closed:
		return ErrSilent
	}
	select {
	case s.lines <- m:
		return nil
	default: // it does not read
		return ErrSilent
	}
}

// end is called when the program has ended: what it has not read is lost with it.
func (s *speaker) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

// close ends stdin, once what was said is written. The lock is held.
func (s *speaker) close() {
	if !s.closed {
		s.closed = true
		close(s.lines)
	}
}

// jsonLine is a value as a line of JSON.
func jsonLine(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("agent: a message of texts cannot be written: %v", err))
	}
	return append(text, '\n')
}

// claudeDialogue is claude's --input-format stream-json with --replay-user-messages: what is said while a tool runs reaches the model
// with the tool's result, and is repeated on stdout in that moment.
type claudeDialogue struct {
	said map[string]string // ids by the number that the program repeats
}

func (c *claudeDialogue) open(prompt string) inputLine { return c.message(prompt, "") }

func (c *claudeDialogue) say(t Text) inputLine {
	number := messageNumber(t.ID)
	c.said[number] = t.ID
	return c.message(t.Words, number)
}

func (c *claudeDialogue) message(text, number string) inputLine {
	m := map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": text}}
	if number != "" { // one that a conversation has already is passed over
		m["uuid"] = number
	}
	return inputLine{line: jsonLine(m)}
}

func (c *claudeDialogue) hear(line []byte) (r reaction) {
	var l struct {
		Type   string `json:"type"`
		UUID   string `json:"uuid"`
		Replay bool   `json:"isReplay"`
	}
	if bytes.Contains(line, []byte(`"isReplay"`)) && decode(line, &l) && l.Type == "user" && l.Replay {
		if id, ok := c.said[l.UUID]; ok {
			delete(c.said, l.UUID)
			r.seen = []string{id}
		}
	}
	return r
}

// messageNumber is the UUID of the message with a text: the same for another supervisor that goes on with the run.
func messageNumber(id string) string {
	b := sha256.Sum256([]byte("text of liza " + id))
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
