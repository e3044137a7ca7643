package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

// do makes the action of a command from its run function, which gets the positional
// arguments. The first signal ends its context; the second one ends the program.
func (e *Env) do(run func(ctx context.Context, args []string) error) urfave.ActionFunc {
	return func(ctx context.Context, c *urfave.Command) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if e.Signals != nil {
			signals, forget := e.Signals()
			defer forget()
			go func() {
				select {
				case <-signals:
					forget()
					cancel()
				case <-ctx.Done():
				}
			}()
		}
		return run(ctx, c.Args().Slice())
	}
}

// onService is do for a command that may change the project.
func (e *Env) onService(run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.onProject(e.Service, run)
}

// onReader is do for a command that only reads.
func (e *Env) onReader(run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.onProject(e.Reader, run)
}

func (e *Env) onProject(open func(context.Context) (*verb.Service, error), run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.do(func(ctx context.Context, args []string) error {
		d, err := open(ctx)
		if err != nil {
			return err
		}
		return run(ctx, d, args)
	})
}
