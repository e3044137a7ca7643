package cli_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"liza/pkg/verb/verbtest"
)

// C-21: the page is there until Ctrl-C; a second server on the same address says so.
func TestServeShowsTheBoardUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	command := func(words ...string) *exec.Cmd {
		cmd := exec.Command("liza", words...)
		cmd.Dir = p.Dir
		return cmd
	}
	first := command("serve", "--addr", "127.0.0.1:0")
	out, err := first.StdoutPipe()
	if err == nil {
		err = first.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, _, found := strings.Cut(line, " ")
	if err != nil || !found {
		t.Fatalf("it says %q, %v", line, err)
	}
	r, err := http.Get(url + "api/health")
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("health: %v, %v", r, err)
	}
	_ = r.Body.Close()
	address := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
	for want, words := range map[string][]string{
		"cannot serve on " + address + ":":       {"serve", "--addr", address},
		"that needs --token-env NAME":            {"serve", "--addr", "0.0.0.0:0"},
		"the environment has no such variable":   {"serve", "--token-env", "NO_SUCH_VARIABLE"},
		"'nowhere' must have the form HOST:PORT": {"serve", "--addr", "nowhere"},
	} {
		said, err := command(words...).CombinedOutput()
		if err == nil || !strings.Contains(string(said), want) || !strings.Contains(string(said), "next: ") {
			t.Errorf("liza %s: %v, %s; want %q", strings.Join(words, " "), err, said, want)
		}
	}
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); first.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v", err)
	}
}
