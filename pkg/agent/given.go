package agent

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// call is a tool that a model calls, and what it was given, as the program writes it.
type call struct {
	name  string
	given json.RawMessage
}

func (c call) event() Event {
	return Event{Kind: EventTool, Text: c.name, Input: given(c.given)}
}

// telling are the arguments by which a person knows what a tool does, the most telling first. They are the names that the tools
// of the programs have for them.
var telling = []string{"command", "cmd", "script", "file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "dir_path",
	"query", "url", "description", "task", "prompt"}

// given says in one line what a tool was given: a command, a path, what is looked for, or else all its arguments.
func given(data json.RawMessage) string {
	var text string
	if figure(data, &text) { // JSON in a string, or no JSON at all
		if data = json.RawMessage(text); !json.Valid(data) {
			return oneLine(text)
		}
	}
	var args map[string]json.RawMessage
	if !figure(data, &args) {
		return ""
	}
	pattern := word(args["pattern"])
	for _, name := range telling {
		if value := word(args[name]); value != "" {
			switch {
			case name == "command" || name == "cmd":
				value = command(value)
			case pattern != "":
				value = pattern + " in " + value
			}
			return oneLine(value)
		}
	}
	if pattern != "" {
		return oneLine(pattern)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		all = append(all, name+"="+plainText(args[name]))
	}
	return oneLine(strings.Join(all, " "))
}

// word is a string, or a list of strings as one; "" is any other value.
func word(data json.RawMessage) string {
	var text string
	var list []string
	if figure(data, &list) {
		return strings.Join(list, " ")
	}
	figure(data, &text)
	return text
}

var shellCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:\S*/)?(?:ba|z|da)?sh -l?c (.+)$`)
})

// command is a command without the shell that a program puts before it.
func command(text string) string {
	m := shellCall().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	text = m[1]
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		quote := text[:1]
		text = text[1 : n-1]
		if quote == `"` {
			return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").Replace(text)
		}
		return strings.ReplaceAll(text, `'\''`, `'`)
	}
	return text
}

// withoutDir is a text without the path of the folder that a run works in.
func withoutDir(text, dir string) string {
	if dir == "" || dir == "/" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, dir+"/", ""), dir, ".")
}

// maxResult is how much of a tool's answer is told.
const maxResult = 2 << 10

// answered is what a tool answered, without its middle when it is long.
func answered(text string) Event {
	if len(text) > maxResult {
		text = strings.ToValidUTF8(text[:maxResult/2], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-maxResult/2:], "")
	}
	return Event{Kind: EventResult, Text: clean(strings.TrimSpace(text))}
}

// plainText is a JSON string without its quotes, and any other value as it is written.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// figure reads JSON and reports whether all of it could be read.
func figure(data json.RawMessage, v any) bool {
	return len(data) > 0 && string(data) != "null" && json.Unmarshal(data, v) == nil
}
