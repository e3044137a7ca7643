package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/safefile"
	"liza/pkg/seal"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

func newSeal(env *Env) *urfave.Command {
	var reason, export string
	return &urfave.Command{
		Name: "seal", Category: "people", Usage: "answer for the approvals and merges on the board, and for its journal",
		Description: "An approval counts only with its seal, made by a verb with the project's key (in $XDG_STATE_HOME/liza or ~/.local/state/liza). Where that key is\n" +
			"lost, or the project was copied, nothing can be merged: this command seals what is on the board as it stands. Look at it first: an approval\n" +
			"that was edited into the board is sealed as well. A journal in which somebody changed, cut, moved or put in entries (liza validate names the\n" +
			"first) is accepted as it stands, with an entry that says so; edits that come later are told again. Only a person may." +
			examples("liza seal --reason 'new computer; I have compared the board with the old one'", "liza seal --reason 'restored from a backup; git log integration shows each merge' --json") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{text("reason", "`TEXT`: why you answer for them", &reason), text("export", "write the key to `FILE`, for liza join --key on another machine, and seal nothing; - is stdout", &export)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			if export != "" {
				return env.exportKey(ctx, d, export)
			}
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

// exportKey writes the key of approvals for another machine that becomes a host of the board.
func (e *Env) exportKey(ctx context.Context, d *verb.Service, file string) error {
	if err := d.PersonOnly(ctx, "export the key of approvals"); err != nil {
		return err
	}
	k, err := (seal.Ring{Folder: e.keys(), GitDir: d.Project.GitDir}).Key()
	if err != nil {
		return err
	}
	if k == nil {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza status", Message: "this project has no key of approvals here"}
	}
	if file == "-" {
		_, err := fmt.Fprintln(e.Stdout, k.Secret())
		return err
	}
	return safefile.Replace(e.path(file), []byte(k.Secret()+"\n"), 0o600)
}
