package transition

import "liza/pkg/blackboard"

// cycleThrough returns a dependency cycle that goes through id when it depends on deps,
// or nil. replace, if given, stands in for each dependency (a supersede under way).
func cycleThrough(s *blackboard.State, id string, deps []string, replace func(string) []string) []string {
	if len(deps) == 0 {
		return nil
	}
	seen, tasks := map[string]bool{}, make(map[string]*blackboard.Task, s.TaskCount())
	for t := range s.Tasks() {
		tasks[t.ID] = t
	}
	var walk func(at string, path []string) []string
	walk = func(at string, path []string) []string {
		path = append(path, at)
		if at == id {
			return path
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		t := tasks[at]
		if t == nil || t.Status.Terminal() {
			return nil
		}
		next := []string(t.DependsOn)
		if replace != nil {
			next = replaceAll(next, replace)
		}
		for _, d := range next {
			if c := walk(d, path); c != nil {
				return c
			}
		}
		return nil
	}
	for _, d := range deps {
		if c := walk(d, []string{id}); c != nil {
			return c
		}
	}
	return nil
}

// replaceAll maps a list in place and drops duplicates.
func replaceAll(list []string, replace func(string) []string) blackboard.List {
	var out blackboard.List
	for _, x := range list {
		for _, y := range replace(x) {
			if !out.Has(y) {
				out = append(out, y)
			}
		}
	}
	return out
}
