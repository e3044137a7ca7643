// Package scripted is the built-in agent that does what a file tells it (specs/cli.md#6): for tests,
// demonstrations and the first try of an installation, without a network and without a key.
//
// It is a program like any other: `liza scripted-agent --scenario FILE` runs as a child in the
// worktree with the prompt on stdin. Load reads the file and reports everything that is wrong
// with it, with lines. Run performs one run: it picks the entry for role, task and attempt,
// does its work, and prints an exit command, or behaves as badly as the preset says. Attempts
// are counted across processes in small files, one for each scenario, role and task.
//
// What a real program would say by its provider's events (a rate limit, a refused login) is
// said by one line of the protocol agent.ScriptedEvent, and read by the adapter `scripted`.
package scripted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"liza/pkg/run/agent"
)

// Options is what one run gets from its surroundings.
type Options struct {
	Scenario *Scenario
	Role     string // LIZA_ROLE
	TaskID   string // LIZA_TASK_ID; not looked at for a planner
	Worktree string // LIZA_WORKTREE; the project root for a planner
	StateDir string // `.liza/tmp/scripted` of the project: where attempts are counted

	// Describe returns the task's description, for a messenger without an entry.
	Describe func() (string, error)

	Stdout io.Writer
	Stderr io.Writer // also what the commands of `run` print: only the agent itself speaks on stdout
	Env    []string  // environment of commands; nil = that of this process
}

const (
	exitOK      = 0
	exitFailed  = 1
	exitStopped = 130

	// What the presets rate_limit and quota ask for: short, because somebody watches.
	retryAfter = 1 // seconds
	resetAfter = 2 // seconds
)

// Run performs the run whose turn it is and returns the exit code of the program.
func Run(ctx context.Context, o Options) int {
	o.Role = strings.ReplaceAll(o.Role, "-", "_")
	if o.Role == planner {
		o.TaskID = ""
	}
	e, err := o.pick()
	if err != nil {
		fmt.Fprintln(o.Stderr, err)
		return exitFailed
	}
	if code := o.work(ctx, e); code != exitOK {
		return code
	}
	if e.preset != "" {
		return o.misbehave(ctx, e.preset)
	}
	answer, err := o.answer(e)
	if err == nil {
		err = o.print(answer)
	}
	if err != nil {
		fmt.Fprintln(o.Stderr, err)
		return exitFailed
	}
	return exitOK
}

// pick returns the entry whose turn it is; one that is not present stands for none.
func (o Options) pick() (entry, error) {
	n, err := nextAttempt(o.StateDir, o.Scenario.path, o.Role, o.TaskID)
	if err != nil {
		return entry{}, err
	}
	list := o.Scenario.tasks[o.Role][o.TaskID]
	if o.Role == planner {
		list = o.Scenario.planner
	}
	if n < len(list) {
		return list[n], nil
	}
	return o.Scenario.fallback[o.Role], nil
}

// work does what the entry says before its end: run, commit, delay.
func (o Options) work(ctx context.Context, e entry) int {
	if e.run != "" {
		if err := o.command(ctx, o.Stderr, "sh", "-c", e.run); err != nil {
			fmt.Fprintf(o.Stderr, "scripted agent: run ended with %v\n", err)
			return codeOf(ctx, err)
		}
	}
	if e.commit != "" {
		if err := o.commit(ctx, e.commit); err != nil {
			fmt.Fprintf(o.Stderr, "scripted agent: cannot commit: %v\n", err)
			return codeOf(ctx, err)
		}
	}
	return pause(ctx, e.delay)
}

// forever is longer than anybody waits. A timer is running all the while, so that it is no
// deadlock when nothing can end the context.
const forever = 10 * 365 * 24 * time.Hour

// pause waits and returns the exit code: that of a program that was stopped when ctx ended.
func pause(ctx context.Context, d time.Duration) int {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return exitOK
	case <-ctx.Done():
		return exitStopped
	}
}

// codeOf makes the exit code of a command the program's own: `run: exit 42` asks for a restart.
func codeOf(ctx context.Context, err error) int {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return exitStopped
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	return exitFailed
}

func (o Options) command(ctx context.Context, out io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = o.Worktree, o.Env
	cmd.Stdout, cmd.Stderr = out, o.Stderr
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// misbehave does what a preset says.
func (o Options) misbehave(ctx context.Context, preset string) int {
	switch preset {
	case presetHang:
		return pause(ctx, forever)
	case presetInteractive:
		// A program that asks a person, who is not there.
		fmt.Fprint(o.Stdout, "Do you want to proceed? [y/N] ")
		return pause(ctx, forever)
	case presetInvalidJSON:
		fmt.Fprintln(o.Stdout, "I have finished the work.\n\n```json\n{\"action\": \"COMPLETED\", \"evidence_files\": [\n```")
		return exitOK
	case presetCrash:
		fmt.Fprintln(o.Stderr, "scripted agent: crash, as the scenario says")
		return exitFailed
	}
	event := agent.ScriptedEvent{Event: preset}
	switch preset {
	case presetRateLimit:
		event.RetryAfter = retryAfter
	case presetQuota:
		event.ResetAfter = resetAfter
	}
	_, _ = o.Stdout.Write(event.Line())
	fmt.Fprintf(o.Stderr, "scripted agent: %s, as the scenario says\n", preset)
	return exitFailed
}

// answer makes the exit command.
func (o Options) answer(e entry) (payload, error) {
	if !e.present || o.Role == messenger && e.exit == nil {
		return o.unscripted()
	}
	out := maps.Clone(e.exit)
	if out == nil {
		out = completed(o.subject() + " is done, as the scenario says.")
	}
	for key, value := range map[string]payload{"plan": e.plan, "review": e.review} {
		if _, given := out[key]; !given && value != nil {
			out[key] = value
		}
	}
	return out, nil
}

// unscripted is the answer when the scenario has no entry (specs/cli.md#6).
func (o Options) unscripted() (payload, error) {
	switch o.Role {
	case planner:
		return completed("The scenario has nothing more to plan."), nil
	case messenger:
		if o.Describe == nil {
			return nil, errors.New("cannot tell the description of the task")
		}
		text, err := o.Describe()
		if err != nil {
			return nil, err
		}
		out := completed("The description of " + o.TaskID + " is the message.")
		out["text"] = text
		return out, nil
	}
	out := completed("The scenario has no entry for " + o.subject() + ".")
	out["action"] = "STUCK"
	return out, nil
}

func completed(summary string) payload {
	return payload{"action": "COMPLETED", "evidence_files": []string{}, "summary_for_supervisor": summary}
}

func (o Options) subject() string {
	return strings.TrimSpace(o.Role + " " + o.TaskID)
}

func (o Options) print(answer payload) error {
	enc := json.NewEncoder(o.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return fmt.Errorf("cannot print the exit command: %v", err)
	}
	return nil
}

// commit puts everything in the worktree into one commit. Nothing to commit is not an error.
// Hooks, signing and questions are left out: a scenario does the same everywhere.
func (o Options) commit(ctx context.Context, message string) error {
	if err := o.git(ctx, "add", "-A"); err != nil {
		return err
	}
	clean := o.git(ctx, "diff", "--cached", "--quiet") == nil
	merging := o.git(ctx, "rev-parse", "-q", "--verify", "MERGE_HEAD") == nil
	if clean && !merging {
		return nil
	}
	args := []string{"-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"}
	for _, identity := range []struct{ key, value string }{
		{"user.name", "Liza Scripted"},
		{"user.email", "scripted@localhost"},
	} {
		if o.git(ctx, "config", "--get", identity.key) != nil {
			args = append(args, "-c", identity.key+"="+identity.value)
		}
	}
	return o.git(ctx, append(args, "commit", "-q", "-m", message)...)
}

func (o Options) git(ctx context.Context, args ...string) error {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	o.Env = append(env[:len(env):len(env)], "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true")
	return o.command(ctx, io.Discard, "git", args...)
}

// nextAttempt counts the runs of a scenario, role and task, over all processes: 0 for the
// first. dir is `.liza/tmp/scripted` of the project and is made when it is missing.
func nextAttempt(dir, scenario, role, task string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	defer lock.Close()

	key := sha256.Sum256([]byte(scenario + "\x00" + role + "\x00" + task))
	file := filepath.Join(dir, hex.EncodeToString(key[:12]))
	n := 0
	data, err := os.ReadFile(file)
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(string(data)))
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	next := file + ".new"
	if err := os.WriteFile(next, []byte(strconv.Itoa(n+1)+"\n"), 0o644); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	if err := os.Rename(next, file); err != nil {
		return 0, fmt.Errorf("cannot count the attempts: %v", err)
	}
	return n, nil
}
