package transition

import (
	"fmt"

	"liza/pkg/blackboard"
)

// What agents may write down about one task with discover and anomaly. A board of more than 200 MB is not read any more
// (specs/protocol.md#14, B08), so that an agent that writes without end would stop all the others.
const (
	mostNotes     = 200
	mostNoteBytes = 1 << 20
)

// roomForNote refuses what is more. People are trusted to know when to stop.
func roomForNote(s *blackboard.State, task, verb string, by caller, size int) error {
	if by.party&ByAny == 0 {
		return nil
	}
	count := 1
	for _, d := range s.Discovered {
		if d.During == task {
			count, size = count+1, size+len(d.Description)+len(d.Recommendation)
		}
	}
	for _, a := range s.Anomalies {
		if a.Task == task {
			count, size = count+1, size+sizeOf(a.Details)
		}
	}
	if count > mostNotes || size > mostNoteBytes {
		return refuse("G03", ExitRefused, "liza show "+task, "agents may not %s any more about %s: at most %d discoveries and anomalies, and 1 MiB of text, are kept for a task", verb, task, mostNotes)
	}
	return nil
}

func sizeOf(details blackboard.Settings) (n int) {
	for key, value := range details {
		n += len(key) + len(fmt.Sprint(value))
	}
	return n
}
