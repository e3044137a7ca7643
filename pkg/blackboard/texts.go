package blackboard

import (
	"strings"
)

func OrList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func ShortCommit(commit string) string {
	if len(commit) > 9 {
		return commit[:9]
	}
	return commit
}
