package cli

import (
	"context"
	"fmt"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/prose"
	"liza/pkg/verb"
)

// builtText says at the end of a run what was built, where it is, and how to take it over; "" when nothing was.
func builtText(b verb.Built, titles map[string]string) string {
	if len(b.Tasks) == 0 {
		return ""
	}
	var t strings.Builder
	fmt.Fprintf(&t, "built: %s merged (%s)\n", prose.Count(len(b.Tasks), "task"), prose.Few(b.Tasks, 10))
	for _, id := range b.Tasks[:min(len(b.Tasks), 10)] {
		if titles[id] != "" && titles[id] != id {
			fmt.Fprintf(&t, "  %s: %s\n", id, titles[id])
		}
	}
	if b.Base == "" {
		fmt.Fprintf(&t, "where: branch %s\n", b.Branch)
		return t.String()
	}
	fmt.Fprintf(&t, "where: branch %s, %s ahead of %s", b.Branch, prose.Count(b.Commits, "commit"), b.Base)
	if b.Stat != "" {
		fmt.Fprintf(&t, ": %s", b.Stat)
	}
	t.WriteString("\n")
	if b.Behind > 0 {
		fmt.Fprintf(&t, "%s; liza sync merges them first\n", b.Lag)
	}
	if b.Commits > 0 {
		fmt.Fprintf(&t, "look:  %s\ntake over: %s\n", b.Look, b.TakeOver)
	}
	return t.String()
}

// greet says at the start of a run what the person should know of the integration branch.
func (c *factory) greet(ctx context.Context, s *blackboard.State) error {
	adopts := s.Tip() == ""
	b, err := c.service.SeeIntegration(ctx, s)
	if err != nil {
		return err
	}
	if adopts && b.Tip != "" {
		c.screen.say(c.env.Now(), false, "the board did not remember where Liza left %s; it is taken as it is, at %.9s", b.Branch, b.Tip)
	}
	return nil
}
