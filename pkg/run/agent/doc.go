// Package agent runs one coding-agent program to its end and says how it ended.
//
// Run starts the program that an Adapter describes in a process group of its own, hands it the
// prompt, copies its output, watches the clock, and leaves nothing of it behind: when the
// program ends, is stopped, or has been silent for too long, everything that it started is
// ended too (TERM, grace, KILL), also what left its process group. What the program meant is
// told in words, the Outcome; nobody else reads its output for signs.
//
// The names to know:
//
//   - Adapter: how a program is started (Command, Interactive) and how its output is read
//     (Reader). Lookup finds one by name. Programs are data: an Entry of catalogue.yaml, which a
//     project changes or adds to, and a reader for the format of its output.
//   - Event: what a program tells, the same for all of them. A format translates lines into
//     events and decides nothing; the follower keeps what matters and judges the run at its end.
//   - Explain: the same judgement of a recorded output. Probe: what an installed program says of
//     itself.
//   - Spec: one run. Result: how it ended.
//   - Reap: the process between a supervisor and one program (Spec.Reaper), on Linux. It is the
//     parent of every orphan of the run and ends them with it, also when the supervisor is killed.
//   - Process, ProcessStart, Alive, Ancestors, StopOrphan: facts about processes for
//     supervisors that look after each other (specs/protocol.md#6.3, specs/protocol.md#6.4).
//
// Rules that hold:
//
//   - A line that is not ended and reads like a question, with nothing after it for 5 s, is one:
//     the program waits for somebody who is not there, and is stopped (Asked).
//   - A process is named by pid and start time together. A pid alone is never killed.
//   - Each run has a mark of its own in the environment (LIZA_RUN_ID). On Linux whatever
//     carries it belongs to the run, whichever group or session it went to, and so does all that
//     is below its reaper: what empties its environment and detaches itself from its parents too.
//     That can be lost only when somebody kills the reaper. Elsewhere than on Linux only the
//     group and the descendants are known.
//   - No reaper has what another run started: a supervisor runs several programs at a time, and
//     whose an orphan is could not be told if it were the parent of all.
//   - An outcome is told by the program's last word, by what it refused with, by signatures on
//     diagnostic text, by its exit code, in this order; never by what the model says.
//   - What a program does not tell is unknown, and what a reader does not know is counted.
//   - Exit 0 after a signal of ours is not a success, and exit code 42 means "start me again" only
//     where the adapter says so (specs/decisions.md#D20).
//   - The child inherits the environment of this process without the identity of another run,
//     without secrets, and without variables that would send its git elsewhere.
//
// The package knows no blackboard, no prompt and no policy: whether to start again, and when,
// is the supervisor's decision.
package agent
