package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
)

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"liza":      cmdLiza,
	"race":      program("race"),
	"repeat":    program("repeat"),
	"exits":     cmdExits,
	"commit":    cmdCommit,
	"state":     cmdState,
	"json":      cmdJSON,
	"remember":  cmdRemember,
	"write":     cmdWrite,
	"unchanged": cmdUnchanged,
	"approved":  cmdApproved,
	"nowhere":   cmdNowhere,
	"receiver":  cmdReceiver,
	"locked":    cmdLocked,
	"logged":    cmdLogged,
	"page":      cmdPage,
	"database":  cmdDatabase,
	"sql":       cmdSQL,
	"cutoff":    cmdCutoff,
	"forge":     cmdForge,
	"hook":      cmdHook,
	"issue":     cmdIssue,
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, argv := 0, args[1:]
	if argv[0] == "liza" {
		got = liza(ts, argv[1:]...)
	} else {
		if argv[0] == "exec" {
			argv = argv[1:]
		}
		got = exitCode(ts.Exec(argv[0], argv[1:]...))
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// program is a command that starts the program of the same name.
func program(name string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if err := ts.Exec(name, args...); (err != nil) != neg {
			ts.Fatalf("%s %q ended with %v", name, args, err)
		}
	}
}

// cmdLocked runs a command while another process, the test, has the lock of FILE.
func cmdLocked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: locked FILE CODE CMD…")
	}
	unlock, err := safefile.Lock(context.Background(), ts.MkAbs(args[0]), safefile.Holder{PID: os.Getpid(), Agent: "coder-7", Op: "merge", Since: time.Now()})
	ts.Check(err)
	defer func() { ts.Check(unlock()) }()
	cmdExits(ts, false, args[1:])
}

func exitCode(err error) int {
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		return x.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func cmdCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: commit ID FILE…")
	}
	dir := ts.MkAbs(filepath.Join(".worktrees", args[0]))
	for _, name := range args[1:] {
		path := filepath.Join(dir, name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		old, err := os.ReadFile(path)
		if !errors.Is(err, os.ErrNotExist) {
			ts.Check(err)
		}
		ts.Check(os.WriteFile(path, append(old, "a line of "+args[0]+"\n"...), 0o644))
	}
	ts.Check(ts.Exec("git", "-C", dir, "add", "--all"))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "--quiet", "--message", "Work on "+args[0]))
}

// cmdApproved brings a task from UNCLAIMED to APPROVED by coder-1 and code-reviewer-1.
func cmdApproved(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: approved ID FILE…")
	}
	id := args[0]
	cmdLiza(ts, false, []string{"claim", id, "--as", "coder-1"})
	cmdCommit(ts, false, args)
	cmdLiza(ts, false, []string{"submit", id, "--as", "coder-1", "--no-tests", "a test of the protocol"})
	cmdLiza(ts, false, []string{"claim-review", id, "--as", "code-reviewer-1"})
	cmdLiza(ts, false, []string{"verdict", id, "approve", "--as", "code-reviewer-1"})
}

func cmdState(ts *testscript.TestScript, neg bool, args []string) {
	var doc any
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(filepath.Join(".liza", "state.yaml"))), &doc))
	expect(ts, neg, doc, args)
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	var doc map[string]any
	ts.Check(dec.Decode(&doc))
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		ts.Fatalf("stdout has more than one JSON object")
	}
	expect(ts, neg, doc, args)
}

// cmdLogged looks whether stderr is JSON lines of diagnostics and nothing else, and whether one has
// the level and contains the text.
func cmdLogged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: logged LEVEL TEXT")
	}
	found := false
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		var l struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time == "" || l.Level == "" || l.Msg == "" {
			ts.Fatalf("%q is not a diagnostic in JSON: %v", line, err)
		}
		found = found || l.Level == args[0] && strings.Contains(line, args[1])
	}
	if !found {
		ts.Fatalf("no line of level %s contains %q", args[0], args[1])
	}
}

// expect compares values: PATH=VALUE wants this value, PATH= wants none, PATH~TEXT wants
// that the value contains the text.
func expect(ts *testscript.TestScript, neg bool, doc any, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: state|json PATH=VALUE…")
	}
	for _, a := range args {
		i := strings.IndexAny(a, "=~")
		if i < 0 {
			ts.Fatalf("%q has neither = nor ~", a)
		}
		path, want := a[:i], a[i+1:]
		got := show(look(doc, path))
		if a[i] == '=' && got != want || a[i] == '~' && !strings.Contains(got, want) {
			ts.Fatalf("%s is %q, want %s %q", path, got, map[byte]string{'=': "exactly", '~': "something with"}[a[i]], want)
		}
	}
}

// look follows a path of keys; an entry of a list is named by its id or its position from
// 0, and count is the length of a list. Keys may contain dots.
func look(v any, path string) any {
	if path == "" {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for i := len(path); i > 0; i = strings.LastIndexByte(path[:i], '.') {
			if x, ok := v[path[:i]]; ok {
				return look(x, strings.TrimPrefix(path[i:], "."))
			}
		}
	case []any:
		if path == "count" {
			return len(v)
		}
		for i, x := range v {
			m, _ := x.(map[string]any)
			for _, name := range []string{fmt.Sprint(m["id"]), strconv.Itoa(i)} {
				if rest, ok := strings.CutPrefix(path+".", name+"."); ok {
					return look(x, strings.TrimSuffix(rest, "."))
				}
			}
		}
	}
	return nil
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, show(x))
		}
		return strings.Join(parts, ",")
	case map[string]any:
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	return fmt.Sprint(v)
}

var watched = []string{"state.yaml", "log.yaml"}

// cmdWrite makes a file of one text.
func cmdWrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: write FILE TEXT")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+"\n"), 0o644))
}

func cmdRemember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: remember")
	}
	for _, name := range watched {
		data := ts.ReadFile(filepath.Join(".liza", name))
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("HOME"), "remembered-"+name), []byte(data), 0o644))
	}
}

func cmdUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: unchanged")
	}
	for _, name := range watched {
		before, err := os.ReadFile(filepath.Join(ts.Getenv("HOME"), "remembered-"+name))
		ts.Check(err)
		if now := ts.ReadFile(filepath.Join(".liza", name)); !bytes.Equal([]byte(now), before) {
			ts.Fatalf("%s changed", name)
		}
	}
}
