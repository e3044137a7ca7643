package cli

import (
	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/dashboard/source"
	"liza/pkg/verb"
)

// source reads the project for a view that goes on, in the words of a vocabulary.
func (e *Env) source(d *verb.Service, view string) *source.Source {
	return &source.Source{Service: d, Facts: func(s *blackboard.State) dashboard.Facts {
		f := e.viewFacts(d, s, view)
		f.GaveUp = e.gaveUp(d)
		return f
	}}
}
