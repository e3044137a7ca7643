package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// killGrace is how long a cancelled git may take to remove its lock files.
const killGrace = 5 * time.Second

// everywhere disables hooks, collectors and watchers of the user and of agents in Liza's git commands; foreignSettings has
// the other settings of a repository.
var everywhere = []string{
	"--no-replace-objects",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.quotePath=false",
	"-c", "core.ignoreStat=false",
	"-c", "log.showSignature=false",
	"-c", "protocol.ext.allow=never",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "submodule.recurse=false",
}

// durable makes git wait for the disk: attic commits must survive a crash of the machine.
var durable = []string{"-c", "core.fsync=all", "-c", "core.fsyncMethod=batch"}

// foreign are variables that would point git at another repository or change the output of its commands.
var foreign = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
	"GIT_DIFF_OPTS", "GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_GLOB_PATHSPECS", "GIT_GRAFT_FILE", "GIT_ICASE_PATHSPECS",
	"GIT_ATTR_SOURCE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INDEX_VERSION", "GIT_INTERNAL_SUPER_PREFIX", "GIT_LITERAL_PATHSPECS",
	"GIT_NAMESPACE", "GIT_NOGLOB_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
	"PWD", "OLDPWD", "INIT_CWD", // what git starts must not take the shell's folder for its own
}

// environment returns the environment of git commands: that of the process without foreign variables, then extra, then ours.
func environment(extra []string) []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !slices.Contains(foreign, name) {
			env = append(env, variable)
		}
	}
	env = append(env, extra...)
	return append(env, "LC_ALL=C", "LANGUAGE=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_PAGER=cat")
}

// start runs git with options before its command, and variables besides those of each command. A git that a Ctrl-C in the
// terminal met before it had left Liza's process group has done nothing yet, and is run again.
func (r *runner) start(ctx context.Context, c call, options, variables []string) (string, error) {
	for again := 2; ; again-- {
		out, err := r.startOnce(ctx, c, options, variables)
		failed, ok := errors.AsType[*Error](err)
		if !ok || !failed.interrupted || again == 0 || c.in != nil {
			return out, err
		}
	}
}

func (r *runner) startOnce(ctx context.Context, c call, options, variables []string) (string, error) {
	var args []string
	if c.dir != "" {
		args = append(args, "-C", c.dir)
	}
	args = slices.Concat(args, everywhere, c.config, options)
	if c.write {
		args = append(args, durable...)
	}
	cmd := exec.CommandContext(ctx, "git", append(args, c.args...)...)
	cmd.Env = slices.Concat(r.env, r.ownEnv(c), variables, c.env)
	cmd.Stdin = strings.NewReader(c.stdin)
	if c.in != nil {
		cmd.Stdin = c.in
	}
	stdout, stderr := bounded{most: c.most}, bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.out != nil {
		cmd.Stdout = c.out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	if cmd.Process != nil && ctx.Err() != nil && err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the sweep: filters that ignored TERM
	}
	if stdout.full {
		err = nil // it was ended by us
	}
	return stdout.text.String(), explain(ctx, c, err, stderr.String())
}

// bounded takes no more than most bytes, any number when that is 0.
type bounded struct {
	text bytes.Buffer
	most int
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.most > 0 && b.text.Len()+len(p) > b.most {
		b.full = true
		n, _ := b.text.Write(p[:b.most-b.text.Len()])
		return n, io.ErrShortWrite
	}
	return b.text.Write(p)
}

// ownEnv keeps git from finding a repository above its folder: a folder without its .git must be an error, never a command in
// the checkout above it.
func (r *runner) ownEnv(c call) []string {
	env := []string{"GIT_GRAFT_FILE=" + os.DevNull + "/none"} // nobody's parents but those of the commits
	if c.dir != "" {
		env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir), "PWD="+c.dir)
	}
	if !c.write {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	return env
}

func explain(ctx context.Context, c call, err error, stderr string) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // the latter: git was done, a filter kept its output open
		return nil
	}
	if ctx.Err() != nil {
		return stopped(ctx, "git "+c.args[0])
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("cannot find the git command: %w", ErrVersion)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		failed := &Error{Args: c.args, Dir: c.dir, ExitCode: exit.ExitCode(), Stderr: stderr}
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && slices.Contains([]syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT}, status.Signal()) {
			failed.ExitCode, failed.Stderr = 128+int(status.Signal()), stderr+"fatal: git crashed: "+status.Signal().String() // of what it read
		} else if ok {
			failed.interrupted = slices.Contains([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP}, status.Signal())
		}
		return failed
	}
	return fmt.Errorf("cannot run git %s: %v", c.args[0], err)
}

// fields splits output that git ended or separated with NUL.
func fields(output string) []string {
	output = strings.TrimSuffix(output, "\x00")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\x00")
}

// run runs one git command, without the programs that a repository names. It ends with ctx: TERM to its process group, which
// lets git remove its lock files, then KILL.
func (r *runner) run(ctx context.Context, c call) (string, error) {
	if ctx.Err() != nil {
		return "", stopped(ctx, "git "+c.args[0])
	}
	gitDir, common := r.gitDirOf(c.dir), r.place.CommonDir
	if c.sub != "" {
		gitDir, common = c.sub, c.sub
	}
	if gitDir == "" {
		return r.start(ctx, c, nil, nil)
	}
	o, err := r.configured(ctx, gitDir, common)
	if err != nil {
		return "", err
	}
	// Never appended to o.env, which all commands of the repository have: they run beside each other, in several worktrees.
	out, err := r.start(ctx, c, o.options, slices.Concat(o.env, gitFolders(gitDir, common, c.dir)))
	return out, r.nameCut(err)
}

// cutOff are git's words for commits that it does not find.
var cutOff = []string{"unrelated histories", "bad object", "bad revision", "could not read", "unable to read", "not a valid commit"}

// nameCut adds to the error of a command that lacks commits that the history of this clone is cut off.
func (r *runner) nameCut(err error) error {
	failed, ok := errors.AsType[*Error](err)
	if ok && r.shallow() && slices.ContainsFunc(cutOff, func(words string) bool { return strings.Contains(strings.ToLower(failed.Stderr), words) }) {
		failed.Stderr = strings.TrimRight(failed.Stderr, "\n") + "\nfatal: the history of this clone is cut off; git fetch --unshallow brings the rest\n"
	}
	return err
}

// read runs a git command that changes nothing and returns its output.
func (r *runner) read(ctx context.Context, dir string, args ...string) (string, error) {
	return r.run(ctx, call{dir: dir, args: args})
}

// gitDirOf is the git folder of a checkout of this repository, "" for any other folder.
func (r *runner) gitDirOf(dir string) string {
	switch {
	case dir == "" || r.place.CommonDir == "":
		return ""
	case dir == r.place.Root:
		return r.place.CommonDir
	}
	return r.adminDir(dir)
}
