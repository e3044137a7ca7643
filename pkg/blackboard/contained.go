package blackboard

import "slices"

// SandboxLevels are the levels at which a run can be contained, the weakest first (specs/security.md).
var SandboxLevels = []string{"open", "wrap", "partial", "closed"}

// WeakestSandbox is the weakest level among the runs of the current claim, "" when none is recorded: work
// that was done by hand has none.
func (t *Task) WeakestSandbox() string {
	weakest := len(SandboxLevels)
	for _, a := range t.Attempts {
		if a == nil || a.ClaimSeq != t.ClaimSeq {
			continue
		}
		if i := slices.Index(SandboxLevels, a.Sandbox); i >= 0 && i < weakest {
			weakest = i
		}
	}
	if weakest == len(SandboxLevels) {
		return ""
	}
	return SandboxLevels[weakest]
}
