package agent

import (
	"os"
	"time"
)

// claudeEndGrace is how long claude may live on after its result line: it can hang there
// (anthropics/claude-code#25629).
const claudeEndGrace = 5 * time.Second

// claude is the adapter of Claude Code (agents 2 and 8).
type claude struct {
	program string
	root    bool // running as root: it then wants to be told that it is in a sandbox
}

func newClaude() claude { return claude{program: "claude", root: os.Geteuid() == 0} }

func (c claude) Command(s Spec) (Command, error) {
	cmd := Command{
		Argv: []string{
			c.program, "-p",
			"--output-format", "stream-json", "--verbose",
			"--dangerously-skip-permissions",
			"--disallowedTools=AskUserQuestion", // with =: the option takes a list and would swallow what follows
		},
		Env: []string{
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1",
			"CLAUDE_CODE_MAX_RETRIES=2", // its default of ten waits for minutes; the supervisor has a backoff of its own
		},
		// Left by a session that this process runs in; with them claude takes itself for a part of it.
		Unset: []string{
			"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
			"CLAUDE_CODE_PARENT_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_EXECPATH",
		},
		Stdin:    true,
		EndGrace: claudeEndGrace,
	}
	if s.Model != "" {
		cmd.Argv = append(cmd.Argv, "--model", s.Model)
	}
	if s.Session != "" {
		cmd.Argv = append(cmd.Argv, "--resume", s.Session)
	}
	if c.root {
		cmd.Env = append(cmd.Env, "IS_SANDBOX=1")
	}
	return cmd, nil
}

func (c claude) Reader() Reader { return &claudeReader{} }
