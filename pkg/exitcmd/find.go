package exitcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	exitWindow     = 1 << 20 // only the last MiB of the output is looked at
	exitCandidates = 500     // and only so many objects
	exitEffort     = 4 << 20 // and only so many bytes of them, however they are nested
)

var (
	ansi   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07`) })
	fenced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?s)```(?:json)?[ \t]*\n(.*?)```") })
)

// Text is the part of an output in which the exit command is looked for: its end,
// without colours.
func Text(output string) string {
	if len(output) > exitWindow {
		output = strings.ToValidUTF8(output[len(output)-exitWindow:], "")
	}
	return strings.ReplaceAll(ansi().ReplaceAllString(output, ""), "\x00", "")
}

// ErrMissing says that there is nothing that looks like an exit command.
var ErrMissing = errors.New("no exit command found")

// An Answer is what the output of an agent program says. It is read once, when the program has ended.
type Answer struct {
	Exit     *Exit // nil: Problem says why
	Problem  error // ErrMissing, ErrNoReview, or what is wrong with the exit command
	Multiple bool  // there were several valid ones; the last one counts

	Before string // what was said before the exit command
}

// Read finds the exit command in the output of an agent of that kind
// (specs/roles-and-knowledge.md#4.2): the object with a key "action" that ends the answer. One that is
// followed by more text was quoted, or taken back: it does not count. With strict nothing may
// are around it.
func Read(output, kind string, strict bool) Answer {
	output = Text(output)
	if strict {
		exit, err := decodeExit([]byte(strings.TrimSpace(output)), kind)
		if err != nil {
			return Answer{Problem: err}
		}
		return Answer{Exit: exit}
	}
	found := objects(output)
	if len(found) == 0 {
		return Answer{Problem: ErrMissing}
	}
	var a Answer
	valid := 0
	for _, c := range found {
		if a.Exit, a.Problem = decodeExit(c, kind); a.Problem == nil {
			valid++
		}
	}
	if a.Problem != nil {
		return Answer{Problem: a.Problem}
	}
	last := string(found[len(found)-1])
	at := strings.LastIndex(output, last)
	if !nothingSaid(output[at+len(last):]) {
		return Answer{Problem: errNotLast}
	}
	a.Multiple = valid > 1
	a.Before = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(output[:at]), "```json"), "```"))
	return a
}

// nothingSaid reports whether no words follow the exit command: white space, the end of a code
// fence, figures of the program, and whole JSON objects, which are records of a program.
func nothingSaid(after string) bool {
	for line := range strings.Lines(after) {
		line = strings.TrimSpace(line)
		if !ending().MatchString(line) && !(strings.HasPrefix(line, "{") && json.Valid([]byte(line))) {
			return false
		}
	}
	return true
}

// errNotLast says that the exit command is not the end of the answer.
var errNotLast = errors.New("text follows the exit command: what counts is the JSON object that ends the answer")

// ending is a line that says nothing: empty, a fence, or the figures that some programs print
// when they end ("Tokens: 2.3k sent, 120 received.").
var ending = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)^(?:`{3,}|~{3,}|(?:total )?(?:tokens?|cost|usage|session|duration)\\b.*\\d.*)?$")
})

// objects lists the JSON objects that have a key "action", in order of occurrence.
// An object inside another one is not listed. It looks from the end to the beginning, so
// that whatever an agent printed before cannot hide what it said last.
func objects(output string) []json.RawMessage {
	type span struct{ from, to int }
	var spans []span
	spent := 0
	at := max(0, strings.LastIndex(output, `"action"`)) // behind that no exit command begins
	for n := 0; n < exitCandidates && spent < exitEffort; n++ {
		if at = strings.LastIndexByte(output[:at], '{'); at < 0 {
			break
		}
		end, looked := objectAt(output[at:])
		spent += looked
		if end == 0 || !isExit([]byte(output[at:at+end])) {
			continue
		}
		for len(spans) > 0 && spans[len(spans)-1].to <= at+end {
			spans = spans[:len(spans)-1] // it is inside of this one
		}
		spans = append(spans, span{at, at + end})
	}
	var found []json.RawMessage
	for i := len(spans) - 1; i >= 0; i-- {
		found = append(found, json.RawMessage(output[spans[i].from:spans[i].to]))
	}
	if len(found) > 0 {
		return found
	}
	return brokenExits(output)
}

// objectAt tells how long the JSON object at the beginning of a text is, 0 when there is
// none, and how much of the text was looked at.
func objectAt(text string) (end, looked int) {
	var raw json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return 0, int(syntax.Offset)
		}
		return 0, len(text)
	}
	return int(dec.InputOffset()), int(dec.InputOffset())
}

// brokenExits are texts that should have been an exit command: their error helps.
func brokenExits(output string) []json.RawMessage {
	var found []json.RawMessage
	for _, m := range fenced().FindAllStringSubmatch(output, -1) {
		if strings.Contains(m[1], `"action"`) {
			found = append(found, json.RawMessage(m[1]))
		}
	}
	if i := strings.LastIndex(output, `"action"`); len(found) == 0 && i >= 0 {
		if at := strings.LastIndex(output[:i], "{"); at >= 0 {
			found = append(found, json.RawMessage(output[at:]))
		}
	}
	return found
}

func isExit(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return false
	}
	if _, ok := m["action"]; ok {
		return true
	}
	inner, ok := m["response"]
	return ok && isExit(inner)
}

func decodeExit(raw []byte, kind string) (*Exit, error) {
	var wrapped struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && isExit(wrapped.Response) {
		if bad := beside(raw, "response"); bad != "" {
			return nil, fmt.Errorf("exit command: unknown key '%s' beside 'response'", bad)
		}
		raw = wrapped.Response
	}
	if key := doubledKey(raw); key != "" {
		return nil, fmt.Errorf("exit command: the key '%s' is there twice", key)
	}
	var e Exit
	if err := decodeClosed(raw, &e); err != nil {
		return nil, fmt.Errorf("exit command: %w", err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, err
	}
	return &e, e.check(kind, keys)
}

// beside is a key of an object other than the one named and x_ keys, "" for none.
func beside(raw []byte, key string) string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if k != key && !strings.HasPrefix(k, "x_") {
			return k
		}
	}
	return ""
}

// doubledKey is a key that an object has twice, "" for none.
func doubledKey(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var open []map[string]bool // the keys of the objects around; nil for a list
	key := false               // whether a key comes next
	for {
		token, err := dec.Token()
		if err != nil {
			return "" // broken JSON is told elsewhere
		}
		text, isText := token.(string)
		switch {
		case token == json.Delim('{'):
			open = append(open, map[string]bool{})
		case token == json.Delim('['):
			open = append(open, nil)
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:len(open)-1]
		case isText && key:
			keys := open[len(open)-1]
			if keys[text] {
				return text
			}
			keys[text], key = true, false
			continue
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}
