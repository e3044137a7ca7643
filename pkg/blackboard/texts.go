package blackboard

import (
	"strings"
)

// OrList is "a, b or c".
func OrList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// ShortCommit is a commit as people read it: nine digits.
func ShortCommit(commit string) string {
	if len(commit) > 9 {
		return commit[:9]
	}
	return commit
}
