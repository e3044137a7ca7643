package agent

import (
	"errors"
)

// scripted is the adapter of the built-in scripted agent (specs/cli.md#6): the running liza, as a real
// child process.
type scripted struct {
	liza     string
	scenario string
}

func (s scripted) Info() Info {
	return Info{Name: Scripted, Binary: s.liza, About: "the built-in scripted agent", Output: formatScripted, Needs: Needs{Measured: true}.and(builtin().Common.Sandbox)}
}

func (s scripted) Interactive(Spec) (Command, error) {
	return Command{}, errors.New("cannot open the scripted agent in a terminal: it reads its scenario only")
}

func (s scripted) Command(Spec) (Command, error) {
	return Command{
		Argv:        []string{s.liza, "scripted-agent", "--scenario", s.scenario},
		Stdin:       true,
		RestartCode: restartCode,
	}, nil
}

func (s scripted) Reader(spec Spec) Reader {
	return &scriptedReader{lineTeller: lineTeller{listen: spec.Event}}
}
