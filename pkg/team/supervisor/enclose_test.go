package supervisor

import (
	"slices"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestARunReadsTheLogsOfItsOwnTaskAlone(t *testing.T) {
	t.Parallel()
	st := &blackboard.State{}
	st.AddTasks(&blackboard.Task{ID: "a"}, &blackboard.Task{ID: "a.b"})
	got := ownLogs([]string{"/o/a.log", "/o/a.check-build.log", "/o/a.b.log", "/o/a.b.setup.log"}, "a", st)
	if want := []string{"/o/a.log", "/o/a.check-build.log"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
