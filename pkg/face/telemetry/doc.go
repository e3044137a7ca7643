// Package telemetry sends what a team does to a collector of OpenTelemetry: traces of task, attempt, run
// of an agent program, tool call and check, and metrics. It follows the files of a project from a process
// of its own (liza-telemetry), so that supervisors neither wait for a collector nor carry its libraries.
//
// A trace is a task; what planners do is the trace of the goal. Ids follow from goal, task and attempt, so
// that the supervisors of one board, and those of later days, add to the same traces. A span is made when
// what it shows has ended, with the times from the board. Names, numbers and outcomes are sent; texts of
// prompts, answers and tools are not.
package telemetry
