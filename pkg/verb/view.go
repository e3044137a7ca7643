package verb

import (
	"context"

	"liza/pkg/blackboard"
)

// View returns a snapshot with the configuration's defaults.
func (d *Service) View(ctx context.Context) (*blackboard.State, error) {
	s, err := d.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	d.Prepare(s)
	return s, nil
}

// Prepare gives a state the settings that the board itself does not have, and its archive.
func (d *Service) Prepare(s *blackboard.State) {
	cfg := d.Config()
	s.Defaults = blackboard.Settings(cfg.Settings())
	s.Overrides = blackboard.Settings(cfg.Overrides())
	s.WarnPercent = cfg.Limits.WarnPercent
	s.UseArchive(d.Archives())
}
