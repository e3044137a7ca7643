package review

// look does the checks that need nothing but the change.
func (s *Submission) look() []Result {
	var out []Result
	for _, c := range []struct {
		name string
		look func() Result
	}{{TestCoverage, s.testCoverage}, {E2E, s.e2e}, {Security, s.security}, {Scope, s.scope}, {Weakened, s.weakened}, {MergePreview, s.mergePreview}, {SpecCurrency, s.specCurrency}} {
		if s.Settings.Checks[c.name].Enabled {
			r := c.look()
			r.Check.Name = c.name
			out = append(out, r.settled(s.Settings.Checks[c.name].Severity))
		}
	}
	return out
}
