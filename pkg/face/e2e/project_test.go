//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/norace"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
)

// bin is the folder of the installed programs, liza the program under test, level how strongly its runs are contained.
var (
	bin, liza string
	level     sandbox.Level
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if bin = os.Getenv("LIZA_E2E_BIN"); bin == "" {
		fmt.Fprintln(os.Stderr, "LIZA_E2E_BIN must name the folder that scripts/install-agents has filled; next: make e2e-agents")
		return 1
	}
	chosen, reason, err := sandbox.Choose(sandbox.Level(os.Getenv("LIZA_E2E_SANDBOX")), "", sandbox.Detect(context.Background()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if level = chosen; reason != "" {
		fmt.Println("NOT RUN: the level closed: " + reason)
	}
	dir, err := os.MkdirTemp("", "liza-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	liza = filepath.Join(dir, "liza")
	if err := norace.Build(dir, "liza/cmd/liza", "liza/cmd/liza-agent"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// installed are the programs to test: those of LIZA_E2E_PROGRAMS, else all that are installed.
func installed(t *testing.T) []program {
	t.Helper()
	names := strings.Fields(os.Getenv("LIZA_E2E_PROGRAMS"))
	var out []program
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		a, err := agent.Lookup(p.name, agent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(bin, a.Info().Binary)); err != nil {
			t.Errorf("%s is not installed; next: make e2e-agents: %v", p.name, err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// A project is a repository in which one program works for Liza.
type project struct {
	dir     string
	runtime string // XDG_RUNTIME_DIR, where runs have their sockets
	env     []string
	p       program
}

const integrationTest = "#!/bin/sh\nset -e\nfor t in tests/*_test.sh; do [ ! -e \"$t\" ] || sh -e \"$t\"; done\n"

// newProject makes the repository and the home of a person who uses the program, and begins.
// With tools the program is told of Liza's MCP server, also where Liza itself cannot do it.
func newProject(t *testing.T, s *server, p program, tools bool) *project {
	t.Helper()
	home, tmp := p.home(t, s.url, tools), t.TempDir()
	pr := &project{dir: t.TempDir(), runtime: shortFolder(t), p: p}
	proxy := []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"}
	pr.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "USER=ada", "LOGNAME=ada", "LANG=C.UTF-8", "TERM=dumb", "TZ=UTC",
		"LIZA_SANDBOX=" + string(level), "XDG_RUNTIME_DIR=" + pr.runtime, "SHELL=/bin/bash", "SHLVL=1", "PWD=" + pr.dir, "OLDPWD=" + home, "_=" + liza, // as a shell has it, in the checkout
		"XDG_CONFIG_HOME=" + home + "/.config", "XDG_CACHE_HOME=" + home + "/.cache", "XDG_DATA_HOME=" + home + "/.local/share", "XDG_STATE_HOME=" + home + "/.local/state",
		"GIT_CONFIG_NOSYSTEM=1", "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}
	for _, name := range proxy {
		pr.env = append(pr.env, name+"="+s.url) // anyone who calls the outside is seen, and refused
	}
	pr.env = slices.Concat(pr.env, otherKeys(), p.env(s.url, home)) // of two of one name the later one counts
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.com\n")
	write(t, filepath.Join(pr.dir, "specs", "vision.md"), "# Vision\n\n`sh hello.sh Ada` prints `Hello, Ada!`. A missing name is refused with exit code 2.\n")
	write(t, filepath.Join(pr.dir, "README.md"), "# hello\n\nA greeting for the command line.\n")
	write(t, filepath.Join(pr.dir, "scripts", "integration-test.sh"), integrationTest)
	write(t, filepath.Join(pr.dir, ".liza", "config.yaml"), p.settings(s.url))
	for _, args := range [][]string{{"chmod", "+x", "scripts/integration-test.sh"}, {"git", "init", "-q", "-b", "main"}, {"git", "add", "-A"}, {"git", "commit", "-qm", "Vision"}} {
		pr.must(t, args...)
	}
	if p.setup != nil {
		pr.must(t, p.setup(s.url)...)
		s.forgetHosts() // that was the person, not Liza
	}
	pr.must(t, liza, "init", "A greeting")
	pr.must(t, "git", "add", "-A")
	pr.must(t, "git", "commit", "-qm", "Liza") // what init wants to be tracked
	return pr
}

// run runs a command in the project and returns what it printed on stdout, and both together.
func (pr *project) run(t *testing.T, limit time.Duration, args ...string) (stdout []byte, all string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	stdout, all, err = pr.runUntil(ctx, args...)
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped after %s: %w", limit, err)
	}
	return stdout, all, err
}

// firstRun lets a coder work on a task, and stops it when its first run is recorded: what failed for a while is tried again.
func (pr *project) firstRun(t *testing.T, limit time.Duration, task string) (all string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, all, err = pr.runUntil(ctx, liza+"-agent", "--once", "coder", task)
	}()
	for {
		select {
		case <-ended:
			return all, err
		case <-time.After(50 * time.Millisecond):
			if len(pr.interactions(t, task)) > 0 {
				cancel()
				<-ended
				return all, err
			}
		}
	}
}

// runUntil runs a command in the project, and interrupts it when the context ends.
func (pr *project) runUntil(ctx context.Context, args ...string) (stdout []byte, all string, err error) {
	name := args[0]
	if own := filepath.Join(bin, name); !filepath.IsAbs(name) && exists(own) {
		name = own
	}
	cmd := exec.CommandContext(ctx, name, args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = pr.dir, pr.env, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.Bytes(), out.String() + errs.String(), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (pr *project) must(t *testing.T, args ...string) string {
	t.Helper()
	_, all, err := pr.run(t, time.Minute, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, all)
	}
	return all
}

// board is what the tests look at in .liza/state.yaml.
type board struct {
	Goal struct {
		Status string `yaml:"status"`
	} `yaml:"goal"`
	Tasks []struct {
		ID        string `yaml:"id"`
		Status    string `yaml:"status"`
		Iteration int    `yaml:"iteration"`
		Holder    string `yaml:"assigned_to"`
		ClaimSeq  int    `yaml:"claim_seq"`
		Attempts  []struct {
			Outcome string `yaml:"outcome"`
			Sandbox string `yaml:"sandbox"`
		} `yaml:"attempts"`
		History []struct {
			Event string `yaml:"event"`
		} `yaml:"history"`
	} `yaml:"tasks"`
	Anomalies []struct {
		Type    string `yaml:"type"`
		Details any    `yaml:"details"`
	} `yaml:"anomalies"`
}

func (pr *project) board(t *testing.T) board {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(pr.dir, ".liza", "state.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := yaml.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// events are those of a task, in order.
func (b board) events(task string) []string {
	var out []string
	for _, x := range b.Tasks {
		if x.ID == task {
			for _, h := range x.History {
				out = append(out, h.Event)
			}
		}
	}
	return out
}

// An interaction is one run of the program, as Liza has recorded it.
type interaction struct {
	Liza struct {
		Outcome   string   `json:"outcome"`
		Effect    string   `json:"effect"`
		TokensIn  *int     `json:"tokens_in"`
		CostCents *float64 `json:"cost_cents"`
		Seconds   float64  `json:"seconds"`
	} `json:"liza"`
}

func (pr *project) interactions(t *testing.T, task string) []interaction {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(pr.dir, ".liza", "history", task, "jobHistory.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var h struct {
		Interactions []interaction `json:"interactions"`
	}
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	return h.Interactions
}

// outputs are the last things that the programs printed.
func (pr *project) outputs(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	logs, _ := filepath.Glob(filepath.Join(pr.dir, ".liza", "output", "*.log"))
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&b, "\n%s:\n%s\n", filepath.Base(path), data[max(0, len(data)-6000):])
	}
	return b.String()
}

// keysFound are files of the project that have a provider's key in them, but for the program's own
// conversations: a command of the coder has printed it.
func (pr *project) keysFound(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(pr.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(pr.dir, ".liza", "cache", "home")+"/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && (bytes.Contains(data, []byte(key)) || bytes.Contains(data, []byte(otherKey))) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// processesLeft are processes that still work for the project, by the environment that Liza gives
// them. One that was killed a moment ago may need a while to be gone on a busy machine.
func (pr *project) processesLeft() []string {
	var out []string
	wait := time.NewTicker(200 * time.Millisecond)
	defer wait.Stop()
	for range 25 {
		if out = pr.processes(); len(out) == 0 {
			return nil
		}
		<-wait.C
	}
	return out
}

func (pr *project) processes() []string {
	var out []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		data, err := os.ReadFile(path)
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || !bytes.Contains(data, []byte("LIZA_ROOT="+pr.dir)) && !bytes.Contains(command, []byte(pr.dir)) {
			continue
		}
		out = append(out, filepath.Base(filepath.Dir(path))+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	return out
}
