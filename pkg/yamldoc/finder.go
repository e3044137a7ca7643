package yamldoc

import (
	"strings"
)

// seemingID reads the id of an entry without parsing it: what is behind "id:" in the
// column of its keys. Who uses it checks it.
func seemingID(text string, column int) string {
	for row := range strings.Lines(text) {
		rest := strings.TrimLeft(row, " ")
		at := len(row) - len(rest)
		if after, item := strings.CutPrefix(rest, "- "); item {
			rest, at = after, at+2
		}
		if value, ok := strings.CutPrefix(rest, "id:"); ok && at == column {
			value, _, _ = strings.Cut(value, " #")
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
