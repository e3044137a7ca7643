// Liza-spawn is the process between a supervisor and each program that it starts: the reaper of a run, the launcher
// inside its wall, and the attendant of its services. It is a program of its own because each run waits for both, and liza takes twice as long to start.
package main

import (
	"fmt"
	"os"

	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/service"
)

func main() {
	args := os.Args[1:]
	if agent.IsReaper(args) {
		os.Exit(agent.Reap())
	}
	if inside, ok := sandbox.Entered(args); ok {
		os.Exit(sandbox.Enter(inside))
	}
	if inside, ok := service.Attended(args); ok {
		os.Exit(service.Attend(inside))
	}
	if len(args) == 1 && args[0] == sandbox.BuildCommand {
		fmt.Println(sandbox.Build(agent.Source, service.Source))
		return
	}
	fmt.Fprintln(os.Stderr, "liza-spawn is started by liza only\nnext: liza help")
	os.Exit(2)
}
