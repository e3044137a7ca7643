package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/upkeep"
	"liza/pkg/verb"
)

func newInit(env *Env) *urfave.Command {
	var in verb.InitInput
	return &urfave.Command{
		Name: "init", Category: "people", ArgsUsage: "GOAL", Usage: "make this repository a Liza project with a goal",
		Description: "Creates .liza/ with the board and its log, and the integration branch. Your branch, index and files stay as they are. Refuses when the\n" +
			"spec file is missing or not committed as it stands (agents have only what is committed), when there is a project already, and when a\n" +
			"branch of that name is elsewhere. To undo it before any work: rm -r .liza, and git branch -D integration." +
			examples("liza init 'Greeting CLI with tests'", "liza init 'Payments' --spec specs/payments.md --from main") + exitsText(0, 1, 2, 3, 4),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "spec", Usage: "`FILE`: it says what is wanted", DefaultText: "specs/vision.md", Destination: &in.Spec},
			&urfave.StringFlag{Name: "branch", Usage: "`NAME`: integration branch", DefaultText: "integration", Destination: &in.Branch},
			&urfave.StringFlag{Name: "from", Usage: "`REF`: where the integration branch starts", DefaultText: "HEAD", Destination: &in.From},
			flag("reuse-branch", "accept an integration branch that exists, wherever it is", &in.ReuseBranch),
		},
		Action: env.do(env.slow("making the project", func(ctx context.Context, args []string) error {
			env := env
			in.Goal, in.Environ, in.Now, in.Person, in.Mask = args[0], env.Environ, env.Now(), env.caller().Person, env.secrets().Mask
			in.Dir = cmp.Or(cmp.Or(env.Root, env.Get("LIZA_ROOT")), env.Dir)
			if !filepath.IsAbs(in.Dir) {
				in.Dir = filepath.Join(env.Dir, in.Dir)
			}
			in.Keys = env.keys()
			done, err := verb.Init(ctx, in)
			if err != nil {
				return err
			}
			identity := ""
			if done.NoIdentity {
				identity = fmt.Sprintf("  identity     %s: %s\n", upkeep.NoIdentity, upkeep.TellIdentity)
			}
			return env.Print(done, "%s is a Liza project now\n  board        %s\n  goal         %s\n  integration  branch %s at %.9s\n%s  undo         %s (as long as nothing has been worked on)\n  agents       their programs run with their permission questions switched off; how far they are contained here: liza doctor (specs/security.md of Liza)\nnext: liza run --cli NAME, or liza add-task\n",
				done.Root, done.State, done.Goal, done.Branch, done.Integration, identity, done.Undo)
		})),
	}
}
