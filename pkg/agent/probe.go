package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Probed is what an installed program says about itself.
type Probed struct {
	Path    string   // "" when it is not installed
	Version string   // the first line of its version
	Missing []string // words that its help should have, and has not
}

// probeTimeout is how long a program may take to print its version or its help.
const probeTimeout = 20 * time.Second

// Probe asks an installed program for its version and looks whether its help still names what
// the entry relies on. Versions move: this is for people who ask why a program does not work.
func Probe(ctx context.Context, a Adapter) (Probed, error) {
	p, ok := a.(*entryProgram)
	if !ok {
		return Probed{}, nil
	}
	path, err := exec.LookPath(p.entry.Command[0])
	if err != nil {
		return Probed{}, nil
	}
	found := Probed{Path: path}
	if len(p.entry.Version) > 0 {
		said, err := p.ask(ctx, p.entry.Version)
		if err != nil {
			return found, err
		}
		found.Version, _, _ = strings.Cut(strings.TrimSpace(clean(said)), "\n")
	}
	if len(p.entry.Help) == 0 || len(p.entry.Needs) == 0 {
		return found, nil
	}
	help, err := p.ask(ctx, p.entry.Help)
	if err != nil {
		return found, err
	}
	for _, word := range p.entry.Needs {
		if !strings.Contains(help, word) {
			found.Missing = append(found.Missing, word)
		}
	}
	return found, nil
}

// ask runs a program that prints something and ends. It has an empty home folder, because some programs leave files there
// when they are asked for their version; one that fails with that, such as the shim of a version manager, has the person's.
func (p *entryProgram) ask(ctx context.Context, argv []string) (string, error) {
	home, err := os.MkdirTemp("", "liza-ask-")
	if err != nil {
		return "", fmt.Errorf("cannot ask %s: %v", p.name, err)
	}
	defer os.RemoveAll(home)
	said, failed, err := p.answer(ctx, argv, home)
	if failed {
		said, _, err = p.answer(ctx, argv, "")
	}
	return said, err
}

// answer is what the program prints with a home folder, "" for the person's. failed: it ended with an exit code of its own.
func (p *entryProgram) answer(ctx context.Context, argv []string, home string) (text string, failed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := p.start(argv, Spec{}, "")
	if home != "" {
		cmd.Env = append(cmd.Env, "HOME="+home)
		cmd.Unset = slices.AppendSeq(slices.Clone(cmd.Unset), maps.Keys(p.needs().Folders))
	}
	x := exec.CommandContext(ctx, argv[0], argv[1:]...)
	x.Env = environment(os.Environ(), cmd, Spec{}, "probe")
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	x.Cancel = func() error { return syscall.Kill(-x.Process.Pid, syscall.SIGKILL) }
	x.WaitDelay = time.Second
	var said limited
	x.Stdout, x.Stderr = &said, &said
	err = x.Run()
	var exit *exec.ExitError
	failed = errors.As(err, &exit)
	switch {
	case ctx.Err() != nil:
		return "", false, fmt.Errorf("cannot ask %s: `%s` has not ended after %s", p.name, strings.Join(argv, " "), probeTimeout)
	case failed && len(said.text) == 0, err != nil && !failed:
		return "", failed, fmt.Errorf("cannot ask %s: `%s` failed: %v", p.name, strings.Join(argv, " "), err)
	}
	return string(said.text), failed, nil
}

// limited keeps the beginning of what is written to it.
type limited struct{ text []byte }

func (l *limited) Write(data []byte) (int, error) {
	l.text = append(l.text, data[:min(len(data), stderrSize-len(l.text))]...)
	return len(data), nil
}
