package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"liza/pkg/dashboard"
	"liza/pkg/history"
	"liza/pkg/verb"
)

type topOptions struct {
	env  *Env
	view string
}

func newTop(env *Env) *urfave.Command {
	o := &topOptions{env: env}
	return &urfave.Command{
		Name: "top", Category: "people", Usage: "follow the board on the whole terminal",
		Description: "The screen of `liza status` and the end of the log, redrawn with every change. Keys: q ends it, p pauses the team, r lets it go on, arrows,\n" +
			"j, k, space and b scroll. Only p and r change something." +
			examples("liza top", "liza top --view kiso") + exitsText(0, 1, 2, 130),
		Flags:  []urfave.Flag{viewFlag(&o.view)},
		Action: env.do(o.run),
	}
}

func (o *topOptions) run(ctx context.Context, _ []string) error {
	if err := checkView(o.view); err != nil {
		return err
	}
	if !o.env.Terminal || !o.env.StdinTerminal || o.env.JSON {
		return usagef("liza status", "liza top needs a terminal")
	}
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	if _, err := d.View(ctx); err != nil {
		return err
	}
	o.env.lasting()
	restore, err := o.env.fullScreen()
	if err != nil {
		return err
	}
	defer restore()
	return (&top{options: o, service: d}).follow(ctx)
}

// What a full-screen program switches on and off: alternate screen, cursor, wrapping of long lines.
const enterScreen, leaveScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"

// fullScreen takes the terminal: keys arrive one by one and are not echoed. Ctrl-C stays a signal.
func (e *Env) fullScreen() (restore func(), err error) {
	in := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(in, ioctlGetTermios)
	if err != nil {
		return nil, fmt.Errorf("cannot set up the terminal: %w; next: liza status", err)
	}
	mode := *before
	mode.Lflag &^= unix.ICANON | unix.ECHO
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(in, ioctlSetTermios, &mode); err != nil {
		return nil, fmt.Errorf("cannot set up the terminal: %w; next: liza status", err)
	}
	fmt.Fprint(e.direct.out, enterScreen)
	return func() {
		fmt.Fprint(e.direct.out, leaveScreen)
		_ = unix.IoctlSetTermios(in, ioctlSetTermios, before)
	}, nil
}

// top is the full-screen view.
type top struct {
	options *topOptions
	service *verb.Service
	from    int    // first line that is shown
	said    string // what the last key did
}

func (t *top) follow(ctx context.Context) error {
	changes := t.service.Store.Watch(ctx)
	keys := make(chan string)
	go readKeys(ctx, t.options.env.Stdin, keys)
	tick := time.NewTicker(time.Second) // ages, and the size of the window
	defer tick.Stop()
	for {
		t.draw(ctx)
		select {
		case <-ctx.Done():
			return &errDone{130}
		case <-changes:
		case <-tick.C:
		case key, open := <-keys:
			if !open || t.press(ctx, key) {
				return nil
			}
		}
		if ctx.Err() != nil {
			return &errDone{130}
		}
	}
}

// readKeys sends what is typed, an escape sequence as one, until the terminal is closed.
func readKeys(ctx context.Context, in io.Reader, keys chan<- string) {
	defer close(keys)
	buffer := make([]byte, 16)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			select {
			case keys <- string(buffer[:n]):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// press does what a key stands for; true ends the view.
func (t *top) press(ctx context.Context, key string) bool {
	_, height := t.options.env.size()
	var err error
	t.said = ""
	switch key {
	case "q", "Q":
		return true
	case "p":
		if _, err = t.service.Pause(ctx, "liza top"); err == nil {
			t.said = "paused"
		}
	case "r":
		if _, err = t.service.Resume(ctx, "", ""); err == nil {
			t.said = "resumed"
		}
	case "j", "\x1b[B", "\x1bOB":
		t.from++
	case "k", "\x1b[A", "\x1bOA":
		t.from--
	case " ", "\x1b[6~":
		t.from += height - 2
	case "b", "\x1b[5~":
		t.from -= height - 2
	case "g", "\x1b[H":
		t.from = 0
	}
	if err != nil {
		t.said = explain(err).message
	}
	return false
}

// draw writes the whole screen at once, so that it does not flicker.
func (t *top) draw(ctx context.Context) {
	width, height := t.options.env.size()
	if width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines := t.lines(ctx, width, height-1)
	t.from = max(0, min(t.from, len(lines)-(height-1)))
	lines = lines[t.from:min(len(lines), t.from+height-1)]
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, l := range lines {
		b.WriteString("\x1b[K" + l + "\r\n") // cleared first: behind the last column there is nothing to clear
	}
	b.WriteString("\x1b[J\x1b[" + fmt.Sprint(height) + ";1H\x1b[2m" + t.foot() + "\x1b[0m")
	fmt.Fprint(t.options.env.Stdout, b.String())
}

func (t *top) foot() string {
	text := "q quit  p pause  r resume  j/k scroll"
	if t.said != "" {
		text += "   " + t.said
	}
	return text
}

// lines are the page, then as much of the log's end as there is room for, at least a few.
func (t *top) lines(ctx context.Context, width, height int) []string {
	env := t.options.env
	s, stale, err := lastValid(ctx, t.service)
	if err != nil {
		r := explain(err)
		return []string{"error: " + r.message, "next: " + r.next}
	}
	facts := env.viewFacts(t.service, t.options.view)
	if stale != nil {
		facts.Warnings = append(facts.Warnings, explain(stale).message+"; the last valid state is shown")
	}
	lines := strings.Split(strings.TrimRight(dashboard.Text(dashboard.Build(s, facts), width, env.colour()), "\n"), "\n")
	room := max(5, height-len(lines)-2)
	entries, err := history.Journal{Path: t.service.Project.Journal()}.Read(history.Filter{Last: room})
	if err != nil || len(entries) == 0 {
		return lines
	}
	lines = append(lines, "", "Log")
	for _, e := range entries {
		line, _, _ := strings.Cut(dashboard.LogLine(e), "\n")
		lines = append(lines, line)
	}
	return lines
}
