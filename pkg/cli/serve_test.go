package cli_test

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"strings"
	"testing"

	"liza/pkg/verb/verbtest"
)

func answer(t *testing.T, client *http.Client, url string, want int) {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != want {
		t.Errorf("%s answers %d, want %d", url, r.StatusCode, want)
	}
}

func TestServeWithoutATokenSaysWhatThatMeans(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	cmd := exec.Command("liza", "serve", "--no-token", "--addr", "127.0.0.1:0")
	cmd.Dir = p.Dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, _, _ := strings.Cut(line, " ")
	answer(t, http.DefaultClient, url+"api/state", 200)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !strings.Contains(errs.String(), "every program of this machine") {
		t.Errorf("it says %q", errs.String())
	}
}

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
	url, token, found := strings.Cut(url, "?token=")
	if !found || len(token) < 20 {
		t.Fatalf("the address is %q without a token", line)
	}
	answer(t, http.DefaultClient, url+"api/state", 401)
	answer(t, http.DefaultClient, url+"?token=guessed", 401)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	answer(t, browser, url+"?token="+token, 200)
	answer(t, browser, url+"api/state", 200)
	address := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
	for want, words := range map[string][]string{
		"cannot serve on " + address + ":":       {"serve", "--addr", address},
		"that needs --token-env NAME":            {"serve", "--addr", "0.0.0.0:0"},
		"the environment has no such variable":   {"serve", "--token-env", "NO_SUCH_VARIABLE"},
		"--no-token and --token-env exclude":     {"serve", "--no-token", "--token-env", "HOME"},
		"other machines; that needs":             {"serve", "--no-token", "--addr", "0.0.0.0:0"},
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
