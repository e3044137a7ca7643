package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/project"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/dashboard/source"
	"liza/pkg/team/assembly"
)

// exporter sends what happens to a project until its context ends.
type exporter = func(ctx context.Context, s *source.Source, version string, since time.Time, problem func(error)) error

// Telemetry is the program liza-telemetry.
func Telemetry(args []string, env *Env, export exporter) int {
	return env.serve(context.Background(), telemetryCommand(env, export), append([]string{"liza-telemetry"}, args...))
}

func telemetryCommand(env *Env, export exporter) *urfave.Command {
	var since string
	return &urfave.Command{
		Name: "liza-telemetry", Usage: "export traces and metrics of a project with OpenTelemetry",
		Description: "Follows the board until stdin ends and sends what happens where the OTEL_* variables say (OTEL_EXPORTER_OTLP_ENDPOINT and the others of\n" +
			"OpenTelemetry). `liza run` and `liza-agent` start it by themselves when such a variable is set." +
			examples("OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 liza-telemetry", "OTEL_TRACES_EXPORTER=console liza-telemetry --since 2026-01-19T14:00:00Z </dev/null") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "C", Usage: "project folder", Destination: &env.System.Root},
			&urfave.StringFlag{Name: "since", Usage: "`TIME`; what ended before is not sent", DefaultText: "now", Destination: &since},
			&urfave.StringFlag{Name: "log-format", Usage: "diagnostics on stderr: text or json", Destination: &env.System.LogFormat},
		},
		Action: func(ctx context.Context, c *urfave.Command) error {
			from := env.System.Now()
			if since != "" {
				at, ok := blackboard.Time(since).At()
				if !ok {
					return usagef("liza-telemetry --help", "--since '%s' must be a time such as 2026-01-19T14:00:00Z", since)
				}
				from = at
			}
			d, err := env.System.Reader(ctx)
			if err != nil {
				return err
			}
			env.System.Lasting()
			following, end := context.WithCancel(ctx)
			defer end()
			go func() {
				_, _ = io.Copy(io.Discard, env.System.Stdin)
				end()
			}()
			soft, _, done := env.interrupts(following, func(string) {})
			defer done()
			s := &source.Source{Service: d, Facts: func(s *blackboard.State) dashboard.Input { return viewFacts(d, s) }}
			return export(soft, s, version, from.Truncate(time.Second), func(err error) { env.System.Log().Warn(err.Error()) })
		},
	}
}

// wantsTelemetry reports whether somebody has said where telemetry goes, by OpenTelemetry's own rules.
func wantsTelemetry(e *Env) bool {
	if strings.EqualFold(e.System.Get("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
		if value := e.System.Get(name); value != "" && value != "none" {
			return true
		}
	}
	return false
}

// telemetryGrace is how long the end of a run waits for what is still to be sent. The exporter gives up by
// itself before.
const telemetryGrace = 3 * time.Second

// exportBeside starts liza-telemetry when somebody wants it. No run waits for it or ends because of it; the
// function that it returns says that the run is over, and waits a moment.
func (e *Env) exportBeside(p *project.Project, liza string) (end func()) {
	if !wantsTelemetry(e) {
		return func() {}
	}
	failed := func(err error) func() {
		e.System.Log().Warn("no telemetry is exported: " + err.Error())
		return func() {}
	}
	program := filepath.Join(filepath.Dir(liza), "liza-telemetry")
	if _, err := os.Stat(program); err != nil {
		return failed(err)
	}
	cmd := exec.Command(program, "-C", p.Root, "--since", string(blackboard.TimeOf(e.System.Now())))
	if e.System.LogFormat != "" {
		cmd.Args = append(cmd.Args, "--log-format", e.System.LogFormat)
	}
	cmd.Env, cmd.Dir = slices.Clone(e.System.Environ), p.Root
	if e.System.Password != "" { // it reads the board as well
		cmd.Env = append(cmd.Env, assembly.PasswordVariable+"="+e.System.Password)
	}
	cmd.Stdout, cmd.Stderr = e.direct.errs, e.direct.errs // traces too, where OTEL_TRACES_EXPORTER is console
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}  // Ctrl-C ends the team; what it did is still sent
	alive, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return failed(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait() // it has said itself what was wrong
	}()
	return func() {
		_ = alive.Close()
		select {
		case <-gone:
		case <-time.After(telemetryGrace):
		}
	}
}
