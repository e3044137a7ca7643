package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/team/maintain"
	"liza/pkg/verb/verb"
)

func newUninit(env *Env) *urfave.Command {
	var yes bool
	return &urfave.Command{
		Name: "uninit", Category: "repair", Usage: "take Liza out of this repository",
		Description: "Lists what belongs to Liza: .liza, .worktrees, the integration branch, branches of tasks, refs under refs/liza, the key of seals and the line in\n" +
			"git's info/exclude. With --yes it removes all of that. Work that no other branch, tag or remote has is named, and saved before as a bundle in\n" +
			"the git folder. Refuses while agents are at work. Your branches, your files and what is on remotes stay as they are." +
			examples("liza uninit", "liza uninit --yes") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{flag("yes", "remove what is listed", &yes)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			done, err := maintain.Uninit(ctx, d, env.System.Keys(), yes)
			if err != nil {
				return err
			}
			return env.Print(done, "%s", uninitText(done))
		}),
	}
}

func uninitText(u maintain.Uninitialized) string {
	word, save := "would remove", "would be saved in"
	if u.Done {
		word, save = "removed", "is saved in"
	}
	var b strings.Builder
	line := func(word, kind, name, why string) {
		if why != "" {
			why = ": " + why
		}
		fmt.Fprintf(&b, "%-12s %-9s %s%s\n", word, kind, name, why)
	}
	for _, g := range u.Removed {
		line(word, g.Kind, g.Name, g.Why)
	}
	for _, g := range u.Kept {
		line("kept", g.Kind, g.Name, g.Why)
	}
	for _, what := range u.Unmerged {
		line("unmerged", "work", what, "")
	}
	if u.Bundle != "" {
		fmt.Fprintf(&b, "unmerged work %s %s\n", save, u.Bundle)
	}
	switch {
	case !u.Done:
		b.WriteString("nothing was removed\nnext: liza uninit --yes\n")
	case u.Tracked:
		b.WriteString("next: git commit -m 'Without Liza' -- .liza\n")
	case u.Bundle != "":
		fmt.Fprintf(&b, "next: git fetch %s 'refs/*:refs/saved/*', if you want it back\n", u.Bundle)
	}
	return b.String()
}
