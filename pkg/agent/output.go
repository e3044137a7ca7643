package agent

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// output takes what a child prints: whole lines to Spec.Output, lines of stdout to the reader,
// and the ends of both streams for the result. What it keeps is bounded.
type output struct {
	reader Reader
	began  time.Time
	from   [2]*os.File // read ends of stdout and stderr
	kept   [2]ending
	done   chan struct{} // closed when both streams have ended

	open [2]atomic.Pointer[string] // what each stream has written of a line that is not complete

	last   atomic.Int64  // when the last byte came, in nanoseconds since began
	ended  atomic.Bool   // the program has said its last word
	change chan struct{} // ended has changed

	heard sync.Mutex // of the reader and of event: what each stream says is told by one at a time
	event func(Event)

	mu     sync.Mutex // of what both streams write to
	to     io.Writer
	failed error
	tail   ending
	after  ending // of stderr, what came after the last line of stdout
}

const (
	stdout = iota
	stderr
)

func newOutput(reader Reader, to io.Writer, began time.Time, from [2]*os.File, event func(Event)) *output {
	o := &output{reader: reader, began: began, to: to, from: from, change: make(chan struct{}, 1), done: make(chan struct{}), event: event}
	o.kept[stdout].limit, o.kept[stderr].limit, o.tail.limit, o.after.limit = MaxFinal, stderrSize, tailLines*tailLineSize, stderrSize
	var copiers sync.WaitGroup
	for which := range from {
		copiers.Go(func() { o.copy(which) })
	}
	go func() { copiers.Wait(); close(o.done) }()
	return o
}

// copy reads one stream to its end.
func (o *output) copy(which int) {
	defer o.from[which].Close()
	var line []byte // a line that is not complete yet
	cut := false    // its beginning was too long to be kept and has been passed on
	chunk := make([]byte, 32<<10)
	for {
		n, err := o.from[which].Read(chunk)
		if n > 0 {
			o.last.Store(int64(time.Since(o.began)))
			o.kept[which].add(chunk[:n])
		}
		whole := bytes.LastIndexByte(chunk[:n], '\n') + 1
		if whole > 0 {
			line = append(line, chunk[:whole]...)
			o.pass(which, line, cut)
			line, cut = line[:0], false
			if cap(line) > stderrSize {
				line = nil
			}
		}
		line = append(line, chunk[whole:n]...)
		if len(line) > MaxLine {
			o.pass(which, line, true)
			line, cut = nil, true
		}
		begun := ""
		if !cut && len(line) <= maxMessage {
			begun = string(line)
		}
		o.open[which].Store(&begun)
		if err != nil {
			if len(line) > 0 { // the end is a line too, so that the next one begins at its beginning
				o.pass(which, append(line, '\n'), cut)
			}
			return
		}
	}
}

// pass hands on lines; of a line that was cut the reader gets nothing.
func (o *output) pass(which int, lines []byte, cut bool) {
	o.mu.Lock()
	if o.to != nil && o.failed == nil {
		_, o.failed = o.to.Write(lines)
	}
	o.tail.add(lines)
	if which == stdout {
		o.after.data = nil
	} else {
		o.after.add(lines)
	}
	o.mu.Unlock()
	o.heard.Lock()
	defer o.heard.Unlock()
	for line := range bytes.Lines(lines) {
		if cut {
			cut = false
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > MaxLine {
			continue
		}
		if which == stderr {
			if e, ok := waits(line); ok && o.event != nil {
				o.event(e)
			}
			continue
		}
		if ended := o.reader.Line(line); o.ended.Swap(ended) != ended {
			select {
			case o.change <- struct{}{}:
			default:
			}
		}
	}
}

// question is what the program asks in a line that it has not ended, nil for none.
func (o *output) question() *Question {
	for which := range o.open {
		if line := o.open[which].Load(); line != nil {
			if q := asked(*line); q != nil {
				return q
			}
		}
	}
	return nil
}

// silence is the time since the last output.
func (o *output) silence() time.Duration {
	return time.Since(o.began) - time.Duration(o.last.Load())
}

// finish waits for the ends of the streams. A process that is not known may hold one open: then
// what has come within wait is all.
func (o *output) finish(wait time.Duration) {
	select {
	case <-o.done:
		return
	case <-time.After(wait):
	}
	for _, f := range o.from {
		_ = f.SetReadDeadline(time.Now()) // one that is closed already needs none
	}
	<-o.done
}

// lastLines returns the last lines of both streams.
func (o *output) lastLines() []string {
	text := strings.TrimRight(string(o.tail.bytes()), "\r\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = strings.ToValidUTF8(line[:min(len(line), tailLineSize)], "")
	}
	return lines
}

// ending keeps the last bytes of a stream.
type ending struct {
	data  []byte
	limit int
}

func (e *ending) add(p []byte) {
	p = p[max(0, len(p)-e.limit):]
	e.data = append(e.data, p...)
	if len(e.data) > 2*e.limit {
		e.data = append(e.data[:0], e.data[len(e.data)-e.limit:]...)
	}
}

func (e *ending) bytes() []byte {
	return e.data[max(0, len(e.data)-e.limit):]
}
