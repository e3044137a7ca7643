package blackboard

// Normalize gives the spellings that readers accept (specs/protocol.md#2) their present form, as
// they were written by hand or by Liza v1.
func (s *State) Normalize() {
	if !Normal(s.Version) {
		s.Version = "1"
	}
	if !Normal(s.Goal) {
		s.Goal.Status = InProgress
	}
	for _, a := range s.Agents {
		if !Normal(a) {
			a.normalize()
		}
	}
	for _, a := range s.Anomalies {
		if !Normal(a) {
			a.normalize()
		}
	}
}

// Normal reports whether Normalize leaves a section, or an entry of one, as it is.
func Normal(part any) bool {
	switch p := part.(type) {
	case Raw:
		return p != "1.0"
	case *Goal:
		return p == nil || p.Status != "PLANNING"
	case *Agent:
		return p == nil || p.Task == ""
	case *Anomaly:
		return p == nil || p.TaskID == "" && p.LoggedBy == ""
	}
	return true
}

func (a *Agent) normalize() {
	if a.CurrentTask == "" {
		a.CurrentTask = a.Task
	}
	a.Task = ""
}

func (a *Anomaly) normalize() {
	if a.Task == "" {
		a.Task = a.TaskID
	}
	if a.Reporter == "" {
		a.Reporter = a.LoggedBy
	}
	a.TaskID, a.LoggedBy = "", ""
}
