package exitcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Text is the part of an output in which the exit command is looked for: its end,
// without colours.
func Text(output string) string {
	if len(output) > exitWindow {
		output = strings.ToValidUTF8(output[len(output)-exitWindow:], "")
	}
	return strings.ReplaceAll(ansi().ReplaceAllString(output, ""), "\x00", "")
}

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

const (
	exitWindow     = 1 << 20 // only the last MiB of the output is looked at
	exitCandidates = 500     // and only so many objects
	exitEffort     = 4 << 20 // and only so many bytes of them, however they are nested
)

var (
	ansi   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07`) })
	fenced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?s)```(?:json)?[ \t]*\n(.*?)```") })
)

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
