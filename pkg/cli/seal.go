package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newSeal(env *Env) *urfave.Command {
	var reason string
	return &urfave.Command{
		Name: "seal", Category: "people", Usage: "answer for the approvals and merges on the board, and for its journal",
		Description: "An approval counts only with its seal, made by a verb with the project's key (in $XDG_STATE_HOME/liza or ~/.local/state/liza). Where that key is\n" +
			"lost, or the project was copied, nothing can be merged: this command seals what is on the board as it stands. Look at it first: an approval\n" +
			"that was edited into the board is sealed as well. A journal in which somebody changed, cut, moved or put in entries (liza validate names the\n" +
			"first) is accepted as it stands, with an entry that says so; edits that come later are told again. Only a person may." +
			examples("liza seal --reason 'new computer; I have compared the board with the old one'", "liza seal --reason 'restored from a backup; git log integration shows each merge' --json") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{text("reason", "`TEXT`: why you answer for them", &reason)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			done, err := d.Seal(ctx, reason)
			if err != nil {
				return err
			}
			names := "none"
			if len(done.Tasks) > 0 {
				names = strings.Join(done.Tasks, ", ")
			}
			text := "sealed as they stand: " + names + "\n"
			if done.Journal != "" {
				text += "accepted as it stands: " + done.Journal + "\n"
			}
			return env.Print(done, "%s", text)
		}),
	}
}
