package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// asking is a git that answers one question about an object after the other, for as long as its context.
type asking struct {
	cmd     *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// startAsking starts it. The variables say where it finds objects besides those of the repository.
func (r *runner) startAsking(ctx context.Context, env []string) (a *asking, err error) {
	a = &asking{cmd: exec.CommandContext(ctx, "git", slices.Concat([]string{"-C", r.place.Root}, everywhere, []string{"cat-file", "--batch-command"})...)}
	a.cmd.Env = slices.Concat(r.env, r.ownEnv(call{dir: r.place.Root}), gitFolders(r.place.CommonDir, r.place.CommonDir, r.place.Root), env)
	if a.ask, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		err = a.cmd.Start()
	}
	a.answers = bufio.NewReader(out)
	return a, err
}

// info is the kind and the size of an object. An *oddError says that there is none.
func (a *asking) info(name string) (kind string, size int64, err error) {
	return a.question("info", name)
}

func (a *asking) question(what, name string) (kind string, size int64, err error) {
	line := ""
	if _, err = fmt.Fprintln(a.ask, what, name); err == nil {
		line, err = a.answers.ReadString('\n')
	}
	if err != nil {
		return "", 0, fmt.Errorf("cannot ask git about object %.9s: it has ended", name)
	}
	f := strings.Fields(line)
	if len(f) == 3 {
		size, err = strconv.ParseInt(f[2], 10, 64)
	}
	if len(f) != 3 || err != nil {
		return "", 0, oddError{fmt.Sprintf("its object %.9s is not one", name)}
	}
	return f[1], size, nil
}

// content is that of a commit or a tree.
func (a *asking) content(name, kind string) (string, error) {
	is, size, err := a.question("info", name)
	if _, odd := err.(oddError); err == nil && (is != kind || size > mostOfTree) || odd {
		return "", oddError{fmt.Sprintf("bad %s object %.9s", kind, name)}
	}
	if err == nil {
		_, size, err = a.question("contents", name)
	}
	if err != nil {
		return "", err
	}
	text := make([]byte, size+1) // and the end of a line
	_, err = io.ReadFull(a.answers, text)
	return string(text[:size]), err
}

// close ends it.
func (a *asking) close() {
	_ = a.ask.Close()
	_ = a.cmd.Wait()
}
