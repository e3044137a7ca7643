package exitcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

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
