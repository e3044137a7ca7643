package assembly

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"liza/pkg/base/prose"
)

// Log is for diagnostics on stderr.
func (e *Environment) Log() *slog.Logger {
	if e.Away != nil {
		if away := e.Away.Load(); away != nil && (*away)() {
			return slog.New(slog.DiscardHandler)
		}
	}
	if e.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(e.Stderr, nil))
	}
	return slog.New(&plainHandler{out: e.Stderr})
}

// plainHandler writes level and text of a message for people, and the command that helps.
type plainHandler struct {
	slog.Handler
	out io.Writer
}

func (h *plainHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h *plainHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *plainHandler) WithGroup(string) slog.Handler            { return h }
func (h *plainHandler) Handle(_ context.Context, r slog.Record) error {
	level := ""
	if r.Level >= slog.LevelWarn {
		level = strings.ToLower(r.Level.String()) + ": "
	}
	text := level + r.Message + "\n"
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "next" {
			text += "next: " + a.Value.String() + "\n"
		}
		return true
	})
	var shown strings.Builder // names and texts of agents are in it
	for line := range strings.Lines(text) {
		shown.WriteString(prose.Line(strings.TrimSuffix(line, "\n")) + "\n")
	}
	_, err := io.WriteString(h.out, shown.String())
	return err
}
