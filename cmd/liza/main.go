// Liza supervises coding agents: people, agents and scripts use this command.
package main

import (
	"os"

	"liza/pkg/face/cli"
)

func main() { os.Exit(cli.Liza(os.Args[1:], cli.Std())) }
