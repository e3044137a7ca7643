package blackboard_test

import (
	"os"
	"testing"

	"liza/pkg/blackboard"
	"liza/pkg/blackboard/audit"
)

func TestMain(m *testing.M) {
	blackboard.Validate = func(s, prev *blackboard.State, f blackboard.Facts) []blackboard.Violation {
		return audit.Validate(s, prev, audit.Facts{Now: f.Now, Write: f.Write, Processes: f.Processes, SkipSpecFiles: f.SkipSpecFiles, Archive: f.Archive})
	}
	os.Exit(m.Run())
}
