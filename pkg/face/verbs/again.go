package verbs

import (
	"context"

	"liza/pkg/verb/board"
	"liza/pkg/verb/replay"
	"liza/pkg/verb/verb"
)

// again are the verbs that take a task back.
var again = []*Verb{
	declare(Verb{
		Name: "restep", Group: "time-travel", Who: People, Usage: "take a task back to how it was after one of its runs",
		Help: "The task becomes UNCLAIMED, its branch and worktree are where they were after interaction N, and the next claim goes on from there.\n" +
			"What came after it is saved under refs/liza/attic first. Counters and usage stay. Numbers: liza history TASK.",
		Examples: []string{"liza restep task-3 --to 2", "liza restep task-3 --to 2 --json"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in restep) (replay.Restepped, error) {
		if in.To == "" {
			return replay.Restepped{}, board.WrongUsage("liza history "+in.Task, "restep needs --to N: the number of an interaction")
		}
		return replay.Restep(ctx, service, in.Task, in.To)
	}, func(in restep, done replay.Restepped) Text {
		return ofTask(done.Done, "%s is %s, at %.9s as after interaction %s", done.Task, done.Status, done.Commit, in.To)
	}),
	declare(Verb{
		Name: "rerun", Group: "time-travel", Who: People, Usage: "start a task again from nothing",
		Help: "The task becomes UNCLAIMED with its counters and usage at zero; its history goes to .liza/archive/TASK. Its work is saved under\n" +
			"refs/liza/attic and stays for the next claim, unless --clean-git is given: then that starts at the integration branch.",
		Examples: []string{"liza rerun task-3", "liza rerun task-3 --clean-git --keep-files"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in replay.RerunInput) (replay.Restepped, error) {
		return replay.Rerun(ctx, service, in)
	}, func(_ replay.RerunInput, done replay.Restepped) Text {
		return ofTask(done.Done, "%s is %s and starts again; what was is in %s", done.Task, done.Status, done.Archive)
	}),
}

type restep struct {
	Task string `json:"task" arg:"TASK" help:"id of the task"`
	To   string `json:"to" word:"N" help:"number of the interaction"`
}
