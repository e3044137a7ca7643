package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// scope: nothing outside of the task's files or, without any, outside of what the intent
// names and tests.
func (s *Submission) scope() Result {
	var r Result
	add := func(severity, file, message string) {
		r.Findings = append(r.Findings, &blackboard.Finding{Severity: severity, File: file, Message: message})
	}
	allowed, by, testsToo := []string(s.Task.Files), "the task's files", false
	if h, given := s.Task.LastIntent(); len(allowed) == 0 && given && h.Checkpoint != nil {
		allowed, by, testsToo = h.Checkpoint.FilesToModify, "the files of the intent", true
	}
	for _, c := range s.Changes {
		for _, name := range c.names() {
			switch {
			case s.foreign(name):
				add(Error, name, "belongs to Liza or git and may not be committed")
			case len(allowed) > 0 && !(testsToo && s.kind(name) == Test) && !slices.ContainsFunc(allowed, func(glob string) bool { return Within(glob, name) }):
				add(s.severity(Scope), name, "is outside of "+by+": "+listed(allowed))
			}
		}
	}
	if g := s.gate(); slices.Contains(codeless, s.Task.Type) && len(g.Sources) > 0 {
		add(atMost(s.severity(Scope), Warning), g.Sources[0], fmt.Sprintf("is code, and the task's type is %s", s.Task.Type))
	}
	if len(allowed) == 0 && len(r.Findings) == 0 {
		return skipped("neither the task nor the intent names files")
	}
	return r
}

// names are the paths that a change concerns.
func (c Changed) names() []string {
	if c.OldPath != "" {
		return []string{c.OldPath, c.Path}
	}
	return []string{c.Path}
}

// ours are the parts of .liza/ that people track (specs/protocol.md#1.1).
var ours = []string{"config.yaml", "config.json", "roles", "skills", "instructions.md"}

// foreign reports whether nobody may commit a file: of Liza, but for its tracked
// configuration when the task is about it, and of git.
func (s *Submission) foreign(file string) bool {
	top, rest, _ := strings.Cut(file, "/")
	switch top {
	case ".git", ".worktrees":
		return true
	case ".liza":
		own, _, _ := strings.Cut(rest, "/")
		named := strings.Contains(s.Task.Scope, ".liza/"+own) || path.Ext(own) != "" && strings.Contains(s.Task.Scope, own) ||
			slices.ContainsFunc(s.Task.Files, func(glob string) bool { return Within(glob, file) })
		return !slices.Contains(ours, own) || !named
	}
	return false
}

// Within reports whether a file fits a glob, or is in the folder that it names.
func Within(glob, file string) bool {
	glob = strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/")
	return glob == "." || Match(glob, file) || strings.HasPrefix(file, glob+"/")
}
