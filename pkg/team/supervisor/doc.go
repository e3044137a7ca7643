// Package supervisor is the loop of one agent terminal (Supervisor) and of the team that
// `liza run` drives (Team): look at the board, decide, run the agent program, apply what
// came of it, look again (specs/protocol.md#13.3, specs/decisions.md#D16).
//
// A Supervisor keeps no authoritative copy of anything: each step begins with a snapshot,
// and a change of a file only says "look again". Whether to wait and how long is decided
// by pure functions (supervisor.go). Everything that may not be left to an agent happens here,
// outside of it: leases, time, stalls, limits, the end of its processes.
package supervisor
