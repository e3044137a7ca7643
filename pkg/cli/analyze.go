package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

func newAnalyze(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "analyze", Category: "people", Usage: "let the circuit breaker look for patterns in the anomalies now",
		Description: "The circuit breaker looks by itself after each anomaly; this looks once more and notes it in its history. A pattern stops the sprint at a\n" +
			"checkpoint and is described in .liza/circuit_breaker_report.md. `liza ack` goes on." +
			examples("liza analyze", "liza analyze --json") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			seen, err := d.Analyze(ctx)
			if err != nil {
				return err
			}
			return env.Print(seen, "%s", analysisText(seen))
		}),
	}
}

func analysisText(seen verb.Seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d anomalies of this sprint", seen.Status, seen.Looked)
	if len(seen.Patterns) == 0 {
		b.WriteString(", no new pattern")
	}
	b.WriteString("\n")
	for _, p := range seen.Patterns {
		fmt.Fprintf(&b, "%s  %s  %s", p.Severity, p.Pattern, strings.Join(p.Anomalies, ", "))
		if len(p.Tasks) > 0 {
			fmt.Fprintf(&b, " of %s", strings.Join(p.Tasks, ", "))
		}
		fmt.Fprintf(&b, "\n   %s\n", p.Rule)
	}
	if seen.Status == blackboard.BreakerTripped {
		fmt.Fprintf(&b, "report: %s\nnext: liza ack\n", seen.Report)
	}
	return b.String()
}
