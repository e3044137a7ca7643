package source

import (
	"context"

	"liza/pkg/face/dashboard"
)

// View returns the view of the board; with an error, that of the last valid board.
func (s *Source) View(ctx context.Context) (dashboard.View, error) {
	st, away, err := s.state(ctx)
	if st == nil {
		return dashboard.View{}, err
	}
	f := s.Facts(st)
	f.Doing, f.Offline = s.DoingOn(st), away
	return dashboard.Build(st, f), err
}
