package verb

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/integration"
)

type BaseResult = checks.BaseResult

type BaseCheck = checks.BaseCheck

const TryTime = checks.TryTime

type CheckedTree = checks.CheckedTree

type CheckEnd = checks.CheckEnd

type Seen = board.Seen

type SeenPattern = board.SeenPattern

type Patches = integration.Patches

type Clash = integration.Clash

func ErrorsFound(findings []*blackboard.Finding) string { return checks.ErrorsFound(findings) }

type Place = checks.Place

const PlannerRuns = board.PlannerRuns

const SummarizerRuns = board.SummarizerRuns

func InteractionOf(list []history.Interaction, task, option, number string) (history.Interaction, error) {
	return board.InteractionOf(list, task, option, number)
}

func PlainText(t *blackboard.Task) string { return board.PlainText(t) }

type ArchivedSprint = board.ArchivedSprint

type Branch = integration.Standing

type Lag = integration.Lag

func IntegrationTip(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string, view func(context.Context) (*blackboard.State, error)) (string, error) {
	return integration.IntegrationTip(ctx, repo, s, remote, view)
}

type Built = integration.Built

type Brought = integration.Brought

func RoleRefusal(t *blackboard.Task, err error) error { return board.RoleRefusal(t, err) }

func RunMark(generation string, run int) string { return board.RunMark(generation, run) }

type HeldSecrets = board.HeldSecrets

type Caller = board.Caller

type Processes = board.Processes

type Done = board.Done

func HashToken(token string) string { return board.HashToken(token) }

func SpecFile(root, ref string) (string, error) { return board.SpecFile(root, ref) }

type Ancestor = board.Ancestor

func Refuse(next, format string, args ...any) error { return board.Refuse(next, format, args...) }

func Fail(next, format string, args ...any) error { return board.Fail(next, format, args...) }

func WrongUsage(next, format string, args ...any) error {
	return board.WrongUsage(next, format, args...)
}

func NothingToDo(why string) error { return board.NothingToDo(why) }

type Mark = board.Mark

func IsRefusal(err error) bool { return board.IsRefusal(err) }

func CleanText(name, text string) (string, error) { return board.CleanText(name, text) }

type Text = board.Text

func Shorten(text string, most int) string { return board.Shorten(text, most) }

func Fenced(from, text string) string { return board.Fenced(from, text) }
