package transition

import (
	"fmt"
	"strconv"
	"strings"

	"liza/pkg/blackboard"
)

// plural is "1 warning", "2 warnings".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func clone(list blackboard.List) blackboard.List { return append(blackboard.List(nil), list...) }

// oneLine makes a text fit for a journal line: one line, at most 500 characters.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 500 {
		s = string(r[:499]) + "…"
	}
	return s
}

func describeFinding(f *blackboard.Finding) string {
	text := f.Message
	if f.File != "" {
		text = f.File + ": " + text
	}
	if f.Check != "" {
		text = "check " + f.Check + ": " + text
	}
	return text
}

// describe is a detail of an anomaly in one line.
func describe(v any) string {
	if list, ok := v.([]string); ok {
		return oneLine(strings.Join(list, ", "))
	}
	return oneLine(fmt.Sprint(v))
}
