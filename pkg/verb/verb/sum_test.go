package verb

import (
	"testing"

	"liza/pkg/board/config"
)

// With another command the commit that failed may pass: each that can fail a merge counts.
func TestEachCommandThatCanFailAMergeIsInTheSumOfChecks(t *testing.T) {
	t.Parallel()
	was := sumOfChecks(config.Default())
	if again := sumOfChecks(config.Default()); again != was {
		t.Errorf("the same settings give %s and %s", was, again)
	}
	for name, change := range map[string]func(c *config.Config){
		"setup":              func(c *config.Config) { c.Worktree.Setup = []string{"npm ci"} },
		"integration check":  func(c *config.Config) { c.Integration.Checks = []string{"npm ci"} },
		"hook":               func(c *config.Config) { c.Hooks.PreMerge = []string{"npm ci"} },
		"check of a review":  func(c *config.Config) { set(c, func(x *config.Check) { x.Command = "npm test" }) },
		"severity of it":     func(c *config.Config) { set(c, func(x *config.Check) { x.Severity = "info" }) },
		"whether it is done": func(c *config.Config) { set(c, func(x *config.Check) { x.Enabled = !x.Enabled }) },
	} {
		c := config.Default()
		change(c)
		if sumOfChecks(c) == was {
			t.Errorf("another %s gives the same sum", name)
		}
	}
}

func set(c *config.Config, change func(*config.Check)) {
	x := c.Review.Checks["tests_pass"]
	change(&x)
	c.Review.Checks["tests_pass"] = x
}
