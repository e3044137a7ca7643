package cli

import (
	"context"
	"runtime"

	urfave "github.com/urfave/cli/v3"
)

func newVersion(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "version", Category: "plumbing", Usage: "print the version",
		Description: "Changes nothing and needs no project." + examples("liza version", "liza version --json") + exitsText(0, 1, 2),
		Action:      func(context.Context, *urfave.Command) error { return env.printVersion() },
	}
}

func (e *Env) printVersion() error {
	result := map[string]string{"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	return e.Print(result, "liza %s (%s, %s)\n", version, result["go"], result["platform"])
}
