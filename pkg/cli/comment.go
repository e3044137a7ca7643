package cli

import (
	"context"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newComment(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "comment", Category: "people", ArgsUsage: "ID [PLACE] TEXT", Usage: "say something about the change of a task, at a line",
		Description: "The coder gets it with its next prompt, as a finding when the work is rejected. PLACE is FILE:LINE of the file as the task leaves it, or FILE; without\n" +
			"it the comment is about the whole change. Work that is approved then waits for you: `liza reject-merge TASK` sends it back with all comments, and needs no other reason." +
			examples("liza comment task-3 hello.py:12 'the flag must stay'", "liza comment task-3 'too much in one change'") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			in := verb.Comment{Task: args[0], Text: args[len(args)-1]}
			place := "the change"
			if len(args) == 3 {
				in.Path, place = args[1], args[1]
				if path, line, ok := cutLine(args[1]); ok {
					in.Path, in.Line = path, line
				}
			}
			done, err := d.Comment(ctx, in)
			return env.showDone(done, err, "%s (%s) has your comment on %s", done.Task, done.Status, place)
		}),
	}
}

// cutLine splits PATH:LINE. A name may end in a colon and a number: then the line has to be given as well, be it 0.
func cutLine(place string) (path string, line int, ok bool) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0, false
	}
	line, err := strconv.Atoi(place[i+1:])
	return place[:i], line, err == nil
}
