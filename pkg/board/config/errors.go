package config

import (
	"fmt"
	"strings"
)

// FileError says that a configuration file cannot be used as a whole.
type FileError struct {
	File   string // as people name it: .liza/config.yaml
	Line   int    // 0 when unknown
	Reason string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("cannot read %s: %s", Origin{File: e.File, Line: e.Line}, e.Reason)
}

// CommandLine is in the place of a variable for a value that a person gave to a command.
const CommandLine = "the command line"

// ValueError says that a key has a value it cannot have.
type ValueError struct {
	Key      string
	File     string // empty when a variable set it
	Line     int
	Variable string // the environment variable that set it, or empty
	Expected string
	Found    string

	again bool // a duplicate key; a lenient reader takes the later value
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("cannot use %s of %s: expected %s, found %s",
		e.Key, Origin{e.File, e.Line, e.Variable}, e.Expected, e.Found)
}

// Warning is something that does not stop anybody: an unknown key or, for a
// lenient reader, a defect and what is used in its place.
type Warning struct {
	Key      string
	File     string
	Line     int
	Variable string
	Text     string
}

func (w Warning) String() string {
	return fmt.Sprintf("%s: %s", Origin{w.File, w.Line, w.Variable}, w.Text)
}

// Origin is where an effective value comes from. The zero Origin means the default.
type Origin struct {
	File     string
	Line     int
	Variable string
}

func (o Origin) String() string {
	switch {
	case o.Variable != "":
		return o.Variable
	case o.File != "" && o.Line > 0:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case o.File != "":
		return o.File
	}
	return "default"
}

// nearest gives the known name that is most like word, or "" when none is.
func nearest(word string, known []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := distance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of insertions, deletions and replacements between a and b.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
