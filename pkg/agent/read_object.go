package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// objectReader is for programs that print one JSON object when they end: the answer is in
// the field that the entry names (`answer`), a failure in `error`, `message` with a status of
// error, or `is_error`. An object without that field and without a failure is the answer itself:
// cn prints what the model said as it is, when that is an object. Failures may come on stderr.
type objectReader struct {
	*follower
	answer string
}

// formatObject is its name, as `output` of an entry.
const formatObject = "json"

// Line waits for the end: an object may have many lines.
func (o *objectReader) Line([]byte) bool { return false }

func (o *objectReader) End(e Exit) Result {
	if object := lastObject(e.Stdout); object != nil {
		o.read(object, e)
		return o.follower.End(e)
	}
	if object := lastObject(e.Stderr); object != nil {
		if text := failureOf(object); text != "" {
			o.take(Event{Kind: EventError, Text: text})
		}
	}
	for line := range bytes.Lines(e.Stdout) { // words of a program in trouble
		if line = bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("{")) {
			o.follower.Line(line)
		}
	}
	return o.follower.End(e)
}

// read takes the object for the program's last word, unless its exit code says that it failed.
func (o *objectReader) read(object json.RawMessage, e Exit) {
	var l anyLine
	var fields map[string]json.RawMessage
	decode(object, &l)
	decode(object, &fields)
	if id := cmp.Or(l.SessionID, l.Session2, l.Thread); id != "" {
		o.take(Event{Kind: EventSession, Session: id})
	}
	(&linesFormat{}).count(l.Usage, l.Cost, o.take)
	if failure := failureOf(object); failure != "" {
		o.take(Event{Kind: EventFinal, Failed: true, Text: failure, Status: l.Status, Word: firstWord(l.Subtype)})
		return
	}
	answer := string(object)
	if value, ok := fields[o.answer]; ok {
		answer = plainText(value)
	}
	if !e.Unknown && e.Code != 0 {
		o.take(Event{Kind: EventText, Text: answer})
		return
	}
	o.take(Event{Kind: EventFinal, Text: answer})
}

// failureOf is the message of an object that tells a failure, "" when it tells none.
func failureOf(object json.RawMessage) string {
	var l struct {
		Status  json.RawMessage `json:"status"`
		IsError bool            `json:"is_error"`
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Result  json.RawMessage `json:"result"`
	}
	decode(object, &l)
	var status string
	decode(l.Status, &status)
	failed := strings.EqualFold(status, "error") || strings.EqualFold(status, "failed")
	switch text := message(l.Error); {
	case text != "":
		return text
	case failed, l.IsError:
		return cmp.Or(message(l.Message), message(l.Result), "the program reports a failure")
	}
	return ""
}

// lastObject is the JSON object with which an output ends, nil when it ends with none. Other
// lines may be before it.
func lastObject(out []byte) json.RawMessage {
	out = bytes.TrimSpace(out)
	if !bytes.HasSuffix(out, []byte("}")) {
		return nil
	}
	if out[0] == '{' && json.Valid(out) {
		return out
	}
	// A line inside an object never begins a valid rest of the output that is an object, unless
	// it is the object of another one that is cut off: the first line that fits is the right one.
	for at := 0; ; {
		i := bytes.Index(out[at:], []byte("\n{"))
		if i < 0 {
			return nil
		}
		at += i + 1
		if json.Valid(out[at:]) {
			return out[at:]
		}
	}
}
