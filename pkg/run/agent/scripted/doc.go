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
