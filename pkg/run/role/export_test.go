package role

// DefaultSettings is what holds without any configuration.
func DefaultSettings() Settings {
	return Settings{
		Default: "implement",
		TypeMapping: map[string]string{"feature": "implement", "task": "implement", "bug": "fix", "refactor": "refactor", "test": "test",
			"docs": "implement", "config": "implement", "spec": "implement"},
		ByKind:  map[string]string{"planner": "planner", "code_reviewer": "review", "messenger": "messenger", "summarizer": "summarizer"},
		Program: "claude",
	}
}
