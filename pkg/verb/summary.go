package verb

import (
	"context"
	"fmt"
	"path/filepath"

	"liza/pkg/safefile"
)

// WriteSummary writes the file of a checkpoint: what people need in order to decide
// (specs/protocol.md#13.6). A copy of the newest is .liza/sprint_summary.md.
func (d *Service) WriteSummary(ctx context.Context, file, message string) error {
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	tasks, err := d.SprintTasks(s)
	if err != nil {
		d.Progressf("the summary lacks archived tasks: %v", err)
	}
	text := d.Mask(summary{s: s, tasks: tasks, message: message, alerts: d.openAlerts(), now: d.Now()}.text())
	if err := safefile.MakeFolder(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot write the summary: %v", err)
	}
	for _, path := range []string{file, d.Project.SprintSummary()} {
		if err := safefile.Replace(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the summary: %w", err)
		}
	}
	return nil
}
