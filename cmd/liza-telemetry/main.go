// Liza-telemetry sends what a team does to a collector of OpenTelemetry. `liza run` and `liza-agent` start
// it when OTEL_* is set. It is a program of its own because its libraries would slow down the start of theirs.
package main

import (
	"context"
	"os"
	"time"

	"liza/cmd/liza-telemetry/telemetry"
	"liza/pkg/face/cli"
	"liza/pkg/face/dashboard/source"
)

func main() {
	os.Exit(cli.Telemetry(os.Args[1:], cli.Std(), func(ctx context.Context, s *source.Source, version string, since time.Time, problem func(error)) error {
		return telemetry.Export(ctx, telemetry.Options{Source: s, Version: version, Since: since, Problem: problem})
	}))
}
