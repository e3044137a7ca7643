// Liza-agent is the supervisor of one agent terminal: `liza-agent coder`.
package main

import (
	"os"

	"liza/pkg/face/cli"
)

func main() { os.Exit(cli.Agent(os.Args[1:], cli.Std())) }
