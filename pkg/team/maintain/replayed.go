package maintain

import (
	"context"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
)

// RuleHistory is the rule about what the journal tells of tasks.
const RuleHistory = "V70"

// replayed follows the journal through the transition table and compares what comes of it with the board and the archive (V70).
func (p *Board) replayed(ctx context.Context, s *blackboard.State) []blackboard.Violation {
	var found []blackboard.Violation
	tell := func(subject, message, next string) {
		found = append(found, blackboard.Violation{Rule: RuleHistory, Subjects: []string{subject}, Message: message, Next: next})
	}
	archive := &history.Archive{Dir: p.Project.ArchiveDir()}
	unreadable := archive.Check()
	if unreadable != nil {
		tell("archive", fmt.Sprintf("%v: its tasks cannot be compared with the journal", unreadable), "edit .liza/archive")
	}
	tasks := map[string]blackboard.Status{}
	for id, t := range archive.Archived() {
		tasks[id] = t.Status
	}
	for t := range s.Tasks() {
		tasks[t.ID] = t.Status
	}
	entries, err := p.Store.Journal(ctx, history.Filter{})
	if err != nil {
		tell("log.yaml", fmt.Sprintf("%v: what is in it cannot be followed", err), "edit .liza/archive")
		return found
	}
	for i, e := range entries {
		if e.Rev > s.Revision { // the board that was read does not have it yet
			entries = entries[:i]
			break
		}
	}
	for _, d := range transition.Replay(entries, tasks, unreadable == nil) {
		subject := d.Task
		if subject == "" {
			subject = "log.yaml"
		}
		tell(subject, d.Message, NextSeal)
	}
	return found
}
