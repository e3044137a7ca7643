package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"liza/pkg/face/cli"
)

// workerMark is in the environment of a process of liza that works for a script.
const workerMark = "SCRIPT_TEST_WORKER"

// A worker is a process that carries out commands of one script, one after the other, each as a process of its own would: with
// the variables, the folder and the output of its command, and an environment that was just read. It saves their starts, which
// cost more than what most commands do.
type worker struct {
	names []string // of the variables that the script's processes may have
	cmd   *exec.Cmd
	to    *json.Encoder
	from  *json.Decoder
	said  *bytes.Buffer // on stderr, when it dies
}

type workerCommand struct {
	Args, Environ []string
	Dir           string
}

type workerAnswer struct {
	Code           int
	Stdout, Stderr []byte
}

type workerKey struct{}

// settings are the lines of a script that set variables.
var settings = regexp.MustCompile(`(?m)^(?:\[[^]]*\] )*env (.*)$`)

// newWorker gives a script its worker, which starts with the first command.
func newWorker(env *testscript.Env) {
	w := &worker{names: []string{"DATABASE", "DBHOST", "HOSTNAME", "HOOK", "FORGE_API", "FORGE_GIT", "FORGE_TOKEN"}}
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		w.names = append(w.names, name)
	}
	env.Values[workerKey{}] = w
	env.Defer(w.stop)
}

func (w *worker) start(ts *testscript.TestScript) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "script", ts.Name()+".txtar"))
	ts.Check(err)
	for _, line := range settings.FindAllSubmatch(text, -1) {
		for word := range strings.FieldsSeq(string(line[1])) {
			if name, _, ok := strings.Cut(strings.TrimLeft(word, "'"), "="); ok {
				w.names = append(w.names, name)
			}
		}
	}
	w.names = slices.Compact(slices.Sorted(slices.Values(w.names)))
	liza, err := exec.LookPath("liza")
	ts.Check(err)
	w.said = new(bytes.Buffer)
	w.cmd = exec.Command(liza)
	w.cmd.Env, w.cmd.Stderr = append(w.environ(ts), workerMark+"=1"), w.said
	in, err := w.cmd.StdinPipe()
	ts.Check(err)
	out, err := w.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(w.cmd.Start())
	w.to, w.from = json.NewEncoder(in), json.NewDecoder(out)
}

func (w *worker) stop() {
	if w.cmd != nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}

// environ has what a process of the script would have. A variable that is empty is left out: testscript does not tell it from none.
func (w *worker) environ(ts *testscript.TestScript) (environ []string) {
	for _, name := range w.names {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return append(environ, "PWD="+ts.MkAbs("."))
}

// liza carries out a command in the script's worker and returns its exit code; its output is that of the script's line.
func liza(ts *testscript.TestScript, args ...string) int {
	w := ts.Value(workerKey{}).(*worker)
	if w.cmd == nil {
		w.start(ts)
	}
	ts.Check(w.to.Encode(workerCommand{args, w.environ(ts), ts.MkAbs(".")}))
	var answer workerAnswer
	if err := w.from.Decode(&answer); err != nil {
		_ = w.cmd.Wait()
		ts.Fatalf("liza %q ended the process of all commands of the script: %v\n%s", args, err, w.said)
	}
	_, err := ts.Stdout().Write(answer.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(answer.Stderr)
	ts.Check(err)
	return answer.Code
}

// cmdLiza is a command of liza without a process of its own.
func cmdLiza(ts *testscript.TestScript, neg bool, args []string) {
	if code := liza(ts, args...); (code != 0) != neg {
		ts.Fatalf("liza %s ended with exit code %d", strings.Join(args, " "), code)
	}
}

// work is the process of a worker.
func work() int {
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c workerCommand
		if err := requests.Decode(&c); err == io.EOF {
			return 0
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		answer, err := carryOut(c)
		if err == nil {
			err = answers.Encode(answer)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

func carryOut(c workerCommand) (answer workerAnswer, err error) {
	os.Clearenv()
	for _, v := range c.Environ {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return answer, err
		}
	}
	if err := os.Chdir(c.Dir); err != nil {
		return answer, err
	}
	var stdout, stderr bytes.Buffer
	env := strict()
	env.System.Stdin, env.System.Stdout, env.System.Stderr = strings.NewReader(""), &stdout, &stderr
	answer.Code = cli.Liza(c.Args, env)
	answer.Stdout, answer.Stderr = stdout.Bytes(), stderr.Bytes()
	return answer, nil
}
