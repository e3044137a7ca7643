package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"liza/pkg/dashboard"
)

// Work of more than a second says that it goes on (specs/cli.md#1): on a terminal in one line that is drawn again each
// second, elsewhere in a line after the first second and then every ten.
const (
	progressEvery = time.Second
	progressLines = 10
)

// slow is a command that may take longer than a second; what says what it does.
func (e *Env) slow(what string, run func(ctx context.Context, args []string) error) func(ctx context.Context, args []string) error {
	return func(ctx context.Context, args []string) error {
		defer e.progress(what)()
		return run(ctx, args)
	}
}

// progress tells on stderr that work goes on, until done is called. What the work itself writes takes the line away first.
func (e *Env) progress(what string) (done func()) {
	if e.LogFormat == "json" || e.direct.errs == nil {
		return func() {}
	}
	f, isFile := e.direct.errs.(*os.File)
	p := &progress{what: what, to: e.direct.errs, live: isFile && isTerminal(f)}
	stdout, stderr := e.Stdout, e.Stderr
	e.Stdout, e.Stderr = after{p, stdout}, after{p, stderr}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				p.tick()
			}
		}
	}()
	return func() {
		close(ended)
		<-over
		p.clear()
		e.Stdout, e.Stderr = stdout, stderr
	}
}

type progress struct {
	what string
	to   io.Writer // stderr
	live bool      // it is a terminal

	mu      sync.Mutex
	seconds int
	drawn   bool
}

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seconds++
	text := fmt.Sprintf("%s … %ds", p.what, p.seconds)
	switch {
	case p.live:
		fmt.Fprintf(p.to, "\r\x1b[K%s", dashboard.Cut(text, 79))
		p.drawn = true
	case p.seconds%progressLines == 1:
		fmt.Fprintln(p.to, text)
	}
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeAway()
}

func (p *progress) takeAway() {
	if p.drawn {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.drawn = false
	}
}

// after writes where the line of a progress may be; both may be one stream, so never at the same time.
type after struct {
	p  *progress
	to io.Writer
}

func (a after) Write(text []byte) (int, error) {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.p.takeAway()
	return a.to.Write(text)
}
