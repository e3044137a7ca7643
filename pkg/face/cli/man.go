package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v3"
)

func newMan(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "man", Category: "plumbing", ArgsUsage: "DIR", Usage: "write the man pages into a folder",
		Description: "One page for each command, in section 1, made from the same texts as `liza help`. DIR is made when it is not there; pages that are there are replaced." +
			examples("liza man ~/.local/share/man/man1", "liza man man && man -l man/liza-submit.1") + exitsText(0, 1, 2),
		Action: env.do(func(_ context.Context, args []string) error { return env.writeMan(args[0]) }),
	}
}

func (e *Env) writeMan(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write the man pages: %w", err)
	}
	pages := manPages(e.tree(e), agentCommand(e, &agentOptions{}), telemetryCommand(e, nil))
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the man pages: %w", err)
		}
	}
	return e.Print(map[string]any{"dir": dir, "pages": len(pages)}, "%d pages in %s\n", len(pages), dir)
}

// manPages are the pages of the programs, by name of the file.
func manPages(liza *urfave.Command, others ...*urfave.Command) map[string]string {
	overview := manTitle("LIZA", liza.Name, liza.Usage) + manText(overviewText(liza))
	pages := map[string]string{"liza.1": overview}
	for _, c := range others {
		pages[c.Name+".1"] = manPage(c.Name, c)
	}
	for _, c := range liza.Commands {
		if !c.Hidden {
			pages["liza-"+c.Name+".1"] = manPage("liza "+c.Name, c)
		}
	}
	return pages
}

// manPage is the page of a command, with its own commands one after the other.
func manPage(path string, c *urfave.Command) string {
	page := manTitle(strings.ToUpper(dashedPath(path)), dashedPath(path), c.Usage) + manText(helpText(path, c))
	for _, sub := range c.Commands {
		page += ".SH " + strings.ToUpper(sub.Name) + "\n" + manText(helpText(path+" "+sub.Name, sub))
	}
	return page + ".SH SEE ALSO\n.BR liza (1)\n"
}

func dashedPath(path string) string { return strings.ReplaceAll(path, " ", "-") }

func manTitle(title, name, usage string) string {
	return fmt.Sprintf(".TH %q 1 \"\" %q \"Liza\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", title, "liza "+version, roff.Replace(name), roff.Replace(usage))
}

// roff keeps characters from being read as instructions.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// manText is a help text as it is, line by line.
func manText(help string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.Lines(help) {
		line = roff.Replace(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}
