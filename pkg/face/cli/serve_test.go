package cli_test

import (
	"bufio"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"liza/pkg/verb/verb/verbtest"
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

// Anybody on the machine can read the command line of a program: it must not have the token.
func TestServeOpensThePageWithoutTheTokenOnACommandLine(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	bin, pipe := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho \"$*\" > "+pipe+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("liza", "serve", "--open", "--addr", "127.0.0.1:0")
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+p.StateHome())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(line, " ")
	opened, err := os.ReadFile(pipe) // waits for the program
	if err != nil {
		t.Fatal(err)
	}
	file, ok := strings.CutPrefix(strings.TrimSpace(string(opened)), "file://")
	if _, token, _ := strings.Cut(address, "?token="); !ok || token == "" || strings.Contains(string(opened), token) {
		t.Fatalf("opened with %q, and the address is %s", opened, address)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if page, err := os.ReadFile(file); err != nil || !strings.Contains(string(page), "url="+address+"\"") {
		t.Errorf("the file leads to %s, %v, want %s", page, err, address)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is there when the server has ended: %v", err)
	}
}

// C-21: the page is there until Ctrl-C; a second server on the same address says so.
func TestServeShowsTheBoardUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	command := func(words ...string) *exec.Cmd {
		cmd := exec.Command("liza", words...)
		cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), "SHORT_TOKEN=hunter2")
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
		"a token of less than 22 characters":     {"serve", "--token-env", "SHORT_TOKEN"},
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
