package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
)

// page shows a long text on a terminal through the pager that the person has for git, and prints it everywhere else. What
// the repository names as its pager is not asked: agents work in it.
func (e *Env) page(ctx context.Context, text string) error {
	pager := e.pager(ctx)
	if pager == "" {
		_, err := io.WriteString(e.Stdout, text)
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), e.direct.out, e.direct.errs
	cmd.Env = e.Environ
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} { // as git does
		if e.Get(name) == "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Dir = e.Dir
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		_, err := io.WriteString(e.Stdout, text) // there is no shell
		return err
	}
	return nil // the person may have left it early
}

// pager is the command, "" for none.
func (e *Env) pager(ctx context.Context) string {
	if !e.Terminal || e.JSON {
		return ""
	}
	ask := exec.CommandContext(ctx, "git", "var", "GIT_PAGER")
	ask.Dir, ask.Env = string(os.PathSeparator), append(e.Environ[:len(e.Environ):len(e.Environ)], "GIT_DIR="+os.DevNull)
	out, err := ask.Output()
	pager := strings.TrimSpace(string(out))
	if err != nil || pager == "cat" {
		return ""
	}
	return pager
}
