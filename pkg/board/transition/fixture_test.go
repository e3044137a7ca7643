package transition

import (
	"os"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// validNow is the time at which validState is looked at.
var validNow = time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)

// ago and ahead are minutes before and after validNow.
func ago(minutes int) blackboard.Time {
	return blackboard.TimeOf(validNow.Add(-time.Duration(minutes) * time.Minute))
}
func ahead(minutes int) blackboard.Time { return ago(-minutes) }

var validFile = sync.OnceValue(func() *blackboard.State {
	text, err := os.ReadFile("../blackboard/testdata/valid.yaml")
	var file struct {
		blackboard.State `yaml:",inline"`
		Tasks            []*blackboard.Task `yaml:"tasks"`
	}
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		panic(err)
	}
	return file.State.With(file.Tasks...)
})

// validState is the board of blackboard/testdata/valid.yaml. Each call makes a new one.
func validState() *blackboard.State { return validFile().Clone() }

func TestTheValidBoardHasNoViolation(t *testing.T) {
	t.Parallel()
	if got := audit.Validate(validState(), nil, audit.Evidence{Now: validNow, SkipSpecFiles: true}); len(got) != 0 {
		t.Error(got)
	}
}
