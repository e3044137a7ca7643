package config

import (
	"fmt"
	"strings"
)

// FileError is returned for a configuration file that cannot be used as a whole.
type FileError struct {
	File   string // path for people: .liza/config.yaml
	Line   int    // 0 if unknown
	Reason string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("cannot read %s: %s", Origin{File: e.File, Line: e.Line}, e.Reason)
}

// CommandLine takes the place of a variable for a value from the arguments of a command.
const CommandLine = "the command line"

// ValueError is returned for an invalid value of a key.
type ValueError struct {
	Key      string
	File     string // empty if a variable set it
	Line     int
	Variable string // the environment variable that set it, or empty
	Expected string
	Found    string

	again bool // a duplicate key; a tolerant reader uses the later value
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("cannot use %s of %s: expected %s, found %s",
		e.Key, Origin{e.File, e.Line, e.Variable}, e.Expected, e.Found)
}

// Warning is a problem that stops no command: an unknown key or, for a tolerant reader, a defect and the value used instead.
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

// Origin is the place that set an effective value. The zero Origin means the default.
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
