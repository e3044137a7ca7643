package blackboard

import (
	"os"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// validNow is the time at which validState is looked at.
var validNow = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

// ago and ahead are minutes before and after validNow.
func ago(minutes int) Time   { return TimeOf(validNow.Add(-time.Duration(minutes) * time.Minute)) }
func ahead(minutes int) Time { return ago(-minutes) }

var validFile = sync.OnceValue(func() *State {
	text, err := os.ReadFile("testdata/valid.yaml")
	var file struct {
		State `yaml:",inline"`
		Tasks []*Task `yaml:"tasks"`
	}
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		panic(err)
	}
	return file.State.With(file.Tasks...)
})

// validState is the board of testdata/valid.yaml. Each call makes a new one.
func validState() *State { return validFile().Clone() }

// Facts are those of audit.Facts that the tests of this package need.
type Facts struct {
	Now           time.Time
	Write         bool
	Processes     ProcessFacts
	SkipSpecFiles bool
	Archive       Archive
}

// Validate is audit.Validate, which TestMain hands over: these tests cannot import what
// imports this package.
var Validate func(s, prev *State, facts Facts) []Violation

func TestTheValidBoardHasNoViolation(t *testing.T) {
	t.Parallel()
	if got := Validate(validState(), nil, Facts{Now: validNow, SkipSpecFiles: true}); len(got) != 0 {
		t.Error(got)
	}
}
