package agent

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"liza/pkg/base/prose"
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

	again   [2]int64       // how much of each stream was read by another process before: it was written to Output
	repeats *atomic.Bool   // set while the reader gets that; may be nil
	behind  [2]int64       // how much of each stream there was before the reading began
	caught  sync.WaitGroup // until that is read

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

// start begins to read.
func (o *output) start() {
	o.change, o.done = make(chan struct{}, 1), make(chan struct{})
	o.kept[stdout].limit, o.kept[stderr].limit, o.tail.limit, o.after.limit = MaxFinal, stderrSize, tailLines*tailLineSize, stderrSize
	var copiers sync.WaitGroup
	for which := range o.from {
		o.caught.Add(1)
		copiers.Go(func() { o.copy(which) })
	}
	go func() { copiers.Wait(); close(o.done) }()
}

// copy reads one stream to its end.
func (o *output) copy(which int) {
	defer o.from[which].Close()
	caughtUp := sync.OnceFunc(o.caught.Done)
	defer caughtUp()
	var line []byte // a line that is not complete yet
	cut := false    // its beginning was too long to be kept and has been passed on
	chunk := make([]byte, 32<<10)
	for {
		if o.behind[which] <= 0 {
			caughtUp()
		}
		again := o.again[which] > 0
		most := int64(len(chunk))
		if again { // no line is partly told: the rest of one is read as new
			most = min(most, o.again[which])
		}
		n, err := o.from[which].Read(chunk[:most])
		o.again[which] -= int64(n)
		o.behind[which] -= int64(n)
		if n > 0 {
			o.last.Store(int64(time.Since(o.began)))
			o.kept[which].add(chunk[:n])
		}
		whole := bytes.LastIndexByte(chunk[:n], '\n') + 1
		if whole > 0 {
			line = append(line, chunk[:whole]...)
			o.pass(which, line, cut, again)
			line, cut = line[:0], false
			if cap(line) > stderrSize {
				line = nil
			}
		}
		line = append(line, chunk[whole:n]...)
		if len(line) > MaxLine {
			o.pass(which, line, true, again)
			line, cut = nil, true
		}
		begun := ""
		if !cut && len(line) <= maxMessage {
			begun = string(line)
		}
		o.open[which].Store(&begun)
		if err != nil {
			if len(line) > 0 { // the end is a line too, so that the next one begins at its beginning
				o.pass(which, append(line, '\n'), cut, again)
			}
			return
		}
	}
}

// pass hands on lines; of a line that was cut the reader gets nothing. Lines that are read again are not written again.
func (o *output) pass(which int, lines []byte, cut, again bool) {
	o.mu.Lock()
	if o.to != nil && o.failed == nil && !again {
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
	if o.repeats != nil {
		o.repeats.Store(again)
	}
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

// textReader is for programs that print text: what the model says and what the program says
// are one stream, so only what looks like an error at its end is read for signs.
type textReader struct {
	rules *rules
	lineTeller
}

// lineTeller tells the lines of a program that prints no events.
type lineTeller struct {
	listen func(Event) // may be nil
	line   int
}

func (t *lineTeller) Line(line []byte) bool {
	t.line++
	if text := prose.Plain(string(line[:min(len(line), maxMessage)])); t.listen != nil && strings.TrimSpace(text) != "" {
		t.listen(Event{Kind: EventOutput, Line: t.line, Text: text})
	}
	return false
}

func (t *textReader) End(e Exit) Result {
	res := Result{Final: string(e.Stdout)}
	for _, s := range t.signs(e) {
		if t.rules.noSession(s.text) {
			res.NoSession = true
		}
		if res.Outcome == "" {
			t.rules.judge(&res, s, e)
		}
	}
	class, known := t.rules.exitCodes[e.Code]
	switch {
	case res.Outcome != "":
	case e.Unknown:
		res.Outcome, res.Signature = Finished, "text without an error at its end"
	case known:
		res.Outcome, res.Signature = class, howEnded(e)
	case e.Code == 0:
		res.Outcome, res.Signature = Finished, howEnded(e)
	default:
		res.Outcome, res.Signature = Crashed, howEnded(e)
	}
	if res.Outcome != Finished {
		res.Error = describeExit(e)
	}
	return res
}

// textLines is how many of the last lines of a text may be the program's own.
const textLines = 5

// onlyNames reports whether the text before a phrase is empty, or the name of a program or
// a provider ("Claude AI usage limit reached"): a sentence of a model begins otherwise.
func onlyNames(before string) bool { return names().MatchString(before) }

var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Z][A-Za-z0-9.]+ ){0,3}$`) })

// signs are the lines that may be diagnostic: all of stderr and errors at the end of stdout
// when the program failed; after a success only an error that is its very last word.
func (t *textReader) signs(e Exit) []sign {
	if !e.Unknown && e.Code == 0 {
		last := lastLines(string(e.Stdout), 1)
		if len(last) == 1 && looksLikeError(last[0]) {
			return lineSigns(last)
		}
		return nil
	}
	var signs []sign
	if !e.Unknown {
		signs = lineSigns(lastLines(string(e.Stderr), stderrLines))
	}
	for _, s := range lineSigns(lastLines(string(e.Stdout), textLines)) {
		if _, at, ok := t.rules.match(s.text); looksLikeError(s.text) || ok && onlyNames(s.text[:at]) && !e.Unknown {
			signs = append(signs, s)
		}
	}
	return signs
}

// follower is the reader of every program that prints events: it follows what they say and
// judges the run by them at the end (see judge.go).
type follower struct {
	rules   *rules
	format  format
	loose   bool
	options readerOptions

	line     int
	unknown  int
	session  string
	text     strings.Builder // what the model said last
	fresh    bool            // the next text starts over
	tools    int
	worked   bool // the model has said or done something
	usage    Usage
	pending  *Event // the last refusal, unless the work went on after it
	limit    *Event
	final    *Event
	ended    bool
	plain    [plainLines]string // the last lines that are not events: a program in trouble may print words
	plainEnd int                // how many there were
}

// plainLines is how many lines that are not events are kept.
const plainLines = 20

func (f *follower) Line(line []byte) bool {
	f.line++
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
	case line[0] != '{':
		f.plain[f.plainEnd%plainLines] = prose.Plain(string(line[:min(len(line), maxMessage)]))
		f.plainEnd++
		f.hear(Event{Kind: EventOutput, Line: f.line, Text: f.plain[(f.plainEnd-1)%plainLines]})
	case !f.format.decode(line, f.take):
		f.unknown++
		f.hear(Event{Kind: EventOther, Line: f.line})
	}
	return f.ended
}

// mostSession is the longest id of a conversation that is taken.
const mostSession = 256

// take follows one event.
func (f *follower) take(e Event) {
	e.Line = f.line
	switch e.Kind {
	case EventSession:
		if len(e.Session) > mostSession { // it would be on the board, and in command lines
			e.Session = ""
		}
		f.session = e.Session
	case EventText:
		f.goOn()
		f.say(e)
	case EventTool:
		f.goOn()
		f.tools++
		f.fresh = true
		e.Input = withoutDir(e.Input, f.options.dir)
	case EventTurn:
		f.ended = false
	case EventUsage:
		if f.options.partialUsage {
			return
		}
		e.Usage.WholeSession = f.options.wholeSession
		f.usage = e.Usage
	case EventLimit:
		f.limit = &e
	case EventError:
		f.pending, f.ended = &e, false
		if f.final != nil && !f.final.Failed && !e.Retry {
			f.final = nil // what it said before was not the last word
		}
	case EventFinal:
		f.final, f.ended = &e, true
	}
	f.hear(e)
}

func (f *follower) goOn() { f.ended, f.worked, f.pending = false, true, nil }

func (f *follower) say(e Event) {
	if !e.More || f.fresh {
		f.text.Reset()
	}
	f.fresh = false
	if f.text.Len()+len(e.Text) > 2*MaxFinal {
		kept := f.text.String()
		f.text.Reset()
		f.text.WriteString(kept[max(0, len(kept)-MaxFinal):])
		e.Text = e.Text[max(0, len(e.Text)-MaxFinal):]
	}
	f.text.WriteString(e.Text)
}

func (f *follower) hear(e Event) {
	if f.options.listen != nil {
		f.options.listen(e)
	}
}

// plainText returns the last lines that are not events, oldest first.
func (f *follower) plainText() []string {
	var lines []string
	for i := max(0, f.plainEnd-plainLines); i < f.plainEnd; i++ {
		lines = append(lines, f.plain[i%plainLines])
	}
	return lines
}
