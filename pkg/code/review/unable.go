package review

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"liza/pkg/base/prose"
)

// Unable returns why a command could not run, so that its end says nothing of the tree: it was not found, cannot be executed or
// started, a service was not ready, the disk is full, or the network is away. It is "" for a command that ran. A change can
// have the same end, so that a caller looks whether the command can run without it (End.Unable).
func (r Ran) Unable(output string) string {
	last := cmp.Or(lastLine(output), "without a word")
	switch {
	case r.Err != nil:
		return prose.OneLine(r.Err.Error(), quoted)
	case r.TimedOut, r.TooMuch, r.ExitCode <= 0:
		return ""
	case r.ExitCode == 127:
		return fmt.Sprintf("a program is not found (exit code 127: %s)", prose.OneLine(last, quoted))
	case r.ExitCode == 126:
		return fmt.Sprintf("a program cannot be executed (exit code 126: %s)", prose.OneLine(last, quoted))
	}
	return strings.TrimPrefix(lineWith(output, ofPlace()), "liza: ")
}

// ofPlace matches what tools print when something is missing or away that is not of the tree.
var ofPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^liza: the service |^cannot contain /|^cannot start \'/|no space left on device|disk quota exceeded|\bENOSPC\b|` +
		`(^|[/ ])(ba|da|z|k)?sh: .*: (command )?not found$|: command not found$|^make(\[\d+\])?: .*: (No such file or directory|Permission denied)$|` +
		`executable file not found in \$PATH|could not resolve (host|proxy)|temporary failure in name resolution|\bENOTFOUND\b|\bEAI_AGAIN\b|` +
		`no such host$|connection refused|\bECONNREFUSED\b|network is unreachable|cannot connect to the docker daemon`)
})

// lineWith returns the last line of an output that matches, without control characters, or "".
func lineWith(output string, pattern *regexp.Regexp) string {
	found := ""
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); pattern.MatchString(line) {
			found = line
		}
	}
	return prose.OneLine(prose.Plain(found), quoted)
}

// Prevented returns why a command that could not run with the work cannot run without it either, or "": the work is the cause
// then. ran and output are of the run with the work, changed its files.
func (e End) Prevented(ran Ran, command, output string, changed []string) string {
	switch {
	case e.Setup != "":
		return fmt.Sprintf("worktree.setup fails: %q", e.Setup)
	case e.Unable == "":
		return ""
	case ran.Err != nil, ran.ExitCode == 127, ran.ExitCode == 126:
		return e.Unable
	}
	same := e
	same.Failed = true
	if _, isNew := same.NewFailures(ran, command, output, changed); len(isNew) > 0 {
		return "" // the tools that ran have found something
	}
	return e.Unable
}
