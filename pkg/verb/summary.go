package verb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// writeSummary writes the file of a checkpoint: what people need in order to decide
// (protocol 13.6). A copy of the newest is .liza/sprint_summary.md.
func (d *Desk) writeSummary(ctx context.Context, file, message string) error {
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	tasks, err := d.SprintTasks(s)
	if err != nil {
		d.progress("the summary lacks archived tasks: %v", err)
	}
	text := d.Mask(summary{s: s, tasks: tasks, message: message, alerts: d.openAlerts(), now: d.Now()}.text())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot write the summary: %v", err)
	}
	for _, path := range []string{file, d.Project.SprintSummary()} {
		if err := safefile.Replace(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the summary: %w", err)
		}
	}
	return nil
}

// learn stores what a reviewer learned about the project; the same again changes nothing.
func learn(s *blackboard.State, a blackboard.Actor, in VerdictInput, now timeT) {
	for _, text := range in.Learn {
		text = strings.TrimSpace(text)
		if len(text) < 15 || len(text) > 500 || knows(s, text) {
			continue
		}
		f := &blackboard.Fact{ID: fmt.Sprintf("fact-%d", len(s.Facts)+1), Content: text, Status: "active", Source: "reviewer", Task: in.Task,
			By: a.ID, Category: "project", Created: blackboard.TimeOf(now)}
		s.Facts = append(s.Facts, f)
		s.Record(blackboard.Entry{Timestamp: f.Created, Agent: a.ID, Action: "fact_learned", Task: in.Task, Detail: f.ID + ": " + firstLine(text)})
	}
}

func knows(s *blackboard.State, text string) bool {
	for _, f := range s.Facts {
		if strings.EqualFold(f.Content, text) {
			return true
		}
	}
	return false
}
