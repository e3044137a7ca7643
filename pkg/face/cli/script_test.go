package cli_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
	"gopkg.in/yaml.v3"

	"liza/pkg/base/norace"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/face/cli"
	"liza/pkg/run/sandbox"
)

// The scripts of testdata/script run the real mains of both programs. Each begins in a
// git repository with one commit on main: the files of the script.
//
// Besides testscript's own there are these commands:
//
//	liza …               a command of liza in the script's worker; `exec liza` is one in a process of its own,
//	                     where the process matters: its signals, its terminal, what it reads, what it leaves
//	exits CODE CMD…      runs CMD, which may be liza or exec, and wants exactly that exit code
//	race N CMD…          runs CMD N times at once, with %d replaced by 1 to N, and prints
//	                     one line "exit CODE: COUNT" for each code
//	repeat N liza …      one process that runs liza's main N times, with %n replaced
//	commit ID FILE…      writes each FILE in the worktree of task ID and commits
//	state PATH=VALUE…    looks into .liza/state.yaml: tasks.task-1.status=CLAIMED
//	json PATH=VALUE…     the same for the one JSON object on stdout
//	write FILE TEXT      makes a file of one text
//	remember, unchanged  the board and its log are byte for byte what they were
//	nowhere VALUE…       no file of Liza's holds VALUE, in whatever form
//	page FILE [HEADING]  does what the sh blocks of a page in specs, or of a section of it, say; the text block behind one is what is printed
//	logged LEVEL TEXT    stderr is JSON lines of diagnostics, one with that level and text
//	locked FILE CODE CMD…  runs CMD like exits, while another process has the lock of FILE
//	receiver FILE CODE…  a webhook at $HOOK that answers with the codes, then 200, and writes what it gets to FILE
//	database             a PostgreSQL database of the script's own: $DATABASE, on the server whose socket is in $DBHOST
//	sql STATEMENT        what a statement gives in it
//	cutoff [off]         nobody gets into the database, or everybody again
//	forge KIND CI        a forge at $FORGE_API whose CI is a shell command; the repository has it as origin
//	issue add|edit|close|list …  what a person does in the tracker of that forge
//	approved ID FILE…    claims, commits, submits, reviews and approves a task
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("..", "..", "..", "testdata", "script"),
		Setup: setUp,
		Cmds:  scriptCommands,
		// [postgres]: PostgreSQL is here. [closed], [partial]: this machine can have a sandbox of that level.
		Condition: func(cond string) (bool, error) {
			if cond == "postgres" {
				return hasDatabase()
			}
			strongest := sandbox.Detect(t.Context()).Strongest()
			return string(strongest) == cond || cond == "partial" && strongest == sandbox.Closed, nil
		},
	})
}

func TestMain(m *testing.M) {
	if words := os.Getenv(measureMark); words != "" {
		os.Exit(measure(strings.Split(words, "\n")))
	}
	if slices.Equal(os.Args[1:], []string{"reap"}) && !strings.HasPrefix(filepath.Base(os.Args[0]), "liza") {
		panic("a test has started a reaper of a program that is not a main")
	}
	if program := programs[filepath.Base(os.Args[0])]; program != nil {
		os.Exit(program(os.Args[1:]))
	}
	testscript.Main(plainly{m}, nil)
}

// programs are those that tests and scripts start: this one, under other names.
var programs = map[string]func(args []string) int{
	"liza": func(args []string) int {
		if os.Getenv(workerMark) != "" && len(args) == 0 {
			return work()
		}
		return cli.Liza(args, strict())
	},
	"liza-agent": func(args []string) int { return cli.Agent(args, strict()) },
	"race":       race,
	"repeat":     repeat,
	"devserver":  devserver,
	"surf":       surf,
	"held":       held,
	"act-probe":  func(args []string) int { return actProbe(args) },
}

// plainly runs the tests with programs that are built without the race detector: a process of a
// script takes a third of the time then. The detector watches what tests do in their own process.
type plainly struct{ m *testing.M }

func (p plainly) Run() int {
	bin := filepath.SplitList(os.Getenv("PATH"))[0] // testscript has made it for programs
	plain, err := norace.Program()
	for name := range programs {
		if err == nil {
			err = install(plain, filepath.Join(bin, name))
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot make the programs of the scripts: %v\n", err)
		return 1
	}
	if err := oftenWaiting(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closeDatabase()
	return norace.Run(p.m)
}

// oftenWaiting has more tests run at a time than there are processors, unless -parallel was given: most of them wait for a
// process, a lease or a time limit.
func oftenWaiting() error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
}

// install gives a program another name, as a copy where the folder is on another file system.
func install(program, path string) error {
	if os.Link(program, path) == nil {
		return nil
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o755)
}

// setUp makes the repository. Nothing of the machine's or the user's git configuration,
// and of an agent that may be running the tests, gets in.
func setUp(env *testscript.Env) error {
	tmp := filepath.Join(env.WorkDir, ".tmp")
	home := filepath.Join(tmp, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	gitconfig := "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig), 0o644); err != nil {
		return err
	}
	demo, err := filepath.Abs("demo")
	if err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_CONFIG_HOME", home)
	// Folders of runs: what a killed supervisor leaves, a run of another script would remove. Its path is short whatever TMPDIR is, because paths of sockets are.
	runtime, err := os.MkdirTemp("/tmp", "liza-test-")
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(runtime) })
	env.Setenv("XDG_RUNTIME_DIR", runtime)
	env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if cache, err := os.UserCacheDir(); err == nil { // else each script compiles the standard library
		env.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")))
	}
	env.Setenv("USER", "ada")
	if !strings.HasPrefix(filepath.Base(env.WorkDir), "script-howto_") { // a person who follows a page has what the machine can do
		env.Setenv("LIZA_SANDBOX", "open") // a script about the sandbox sets another level
	}
	env.Setenv("DEMO", demo)
	env.Setenv("SPECS", filepath.Join(demo, "..", "..", "..", "..", "specs"))
	env.Setenv("UNIQUE", filepath.Base(filepath.Dir(env.WorkDir))+"-"+filepath.Base(env.WorkDir))
	env.Setenv("WORK", env.WorkDir)
	if os.Getenv("TERM") == "" {
		env.Setenv("TERM", "dumb")
	}
	env.Defer(func() { possible(env) })
	newWorker(env)
	return repository(env, tmp)
}

// possible checks that the journals which a script has left are histories that the transition table allows.
func possible(env *testscript.Env) {
	_ = filepath.WalkDir(env.WorkDir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "log.yaml" || filepath.Base(filepath.Dir(path)) != ".liza" {
			return nil
		}
		entries, err := history.Journal{Path: path}.Read(history.Filter{})
		if err != nil {
			return nil // a script about journals that cannot be read
		}
		for _, d := range transition.Replay(entries, statusesIn(filepath.Dir(path)), false) {
			env.T().Fatal(path, d.Message)
		}
		return nil
	})
}

// What is not known of a task is one value for all journals: two of them are followed at the same time.
func TestTwoJournalsAreFollowedAtTheSameTime(t *testing.T) {
	t.Parallel()
	entries := []blackboard.Entry{
		{Rev: 1, Agent: "human", Action: blackboard.ActionInitialized},
		{Rev: 2, Agent: "human", Action: blackboard.ActionEditedByHand, Detail: "by hand: a"},
		{Rev: 3, Agent: "coder-1", Action: blackboard.ActionClaimed, Task: "a"},
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for _, d := range transition.Replay(entries, nil, true) {
				t.Error(d.Message)
			}
		})
	}
	all.Wait()
}

// statusesIn are those of the tasks of a board in a folder; nil when it cannot be read.
func statusesIn(dir string) map[string]blackboard.Status {
	var board struct {
		Tasks []struct {
			ID     string
			Status blackboard.Status
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "state.yaml"))
	if err != nil || yaml.Unmarshal(data, &board) != nil {
		return nil
	}
	statuses := map[string]blackboard.Status{}
	for _, t := range board.Tasks {
		if t.Status.Known() { // else a script about mistakes in the file
			statuses[t.ID] = t.Status
		}
	}
	return statuses
}

func repository(env *testscript.Env, tmp string) error {
	spec := filepath.Join(env.WorkDir, "specs", "vision.md")
	if _, err := os.Stat(spec); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(spec), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(spec, []byte("# Vision\n"), 0o644); err != nil {
			return err
		}
	}
	scripts, err := filepath.Glob(filepath.Join(env.WorkDir, "scripts", "*.sh"))
	if err != nil {
		return err
	}
	for _, s := range scripts {
		if err := os.Chmod(s, 0o755); err != nil {
			return err
		}
	}
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-C", env.WorkDir}, args...)...)
		cmd.Env = env.Vars
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %v: %s", args[0], err, out)
		}
		return nil
	}
	if err := git("init", "--quiet", "--initial-branch=main"); err != nil {
		return err
	}
	exclude := filepath.Join(env.WorkDir, ".git", "info", "exclude")
	if err := os.WriteFile(exclude, []byte("/"+filepath.Base(tmp)+"/\n"), 0o644); err != nil {
		return err
	}
	return errors.Join(git("add", "--all"), git("commit", "--quiet", "--message", "Start"))
}

// repeat is the program behind the command of that name.
func repeat(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil || len(args) < 2 || args[1] != "liza" {
		fmt.Fprintln(os.Stderr, "usage: repeat N liza …")
		return 2
	}
	for i := 1; i <= n; i++ {
		var argv []string
		for _, a := range args[2:] {
			argv = append(argv, strings.ReplaceAll(a, "%n", strconv.Itoa(i)))
		}
		if code := cli.Liza(argv, cli.Std()); code != 0 {
			return code
		}
	}
	return 0
}

// race is the program behind the command of that name.
func race(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil || len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: race N CMD…")
		return 2
	}
	var mu sync.Mutex
	counts := map[int]int{}
	var all sync.WaitGroup
	for i := 1; i <= n; i++ {
		var argv []string
		for _, a := range args[1:] {
			argv = append(argv, strings.ReplaceAll(a, "%d", strconv.Itoa(i)))
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		all.Go(func() {
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			code := 0
			if err != nil {
				code = -1
				if x, ok := errors.AsType[*exec.ExitError](err); ok {
					code = x.ExitCode()
				}
			}
			counts[code]++
			fmt.Fprintf(os.Stderr, "%d: %s", i, out)
		})
	}
	all.Wait()
	codes := make([]int, 0, len(counts))
	for code := range counts {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		fmt.Printf("exit %d: %d\n", code, counts[code])
	}
	return 0
}

// clockMark says by how many hours the clock of a process is off.
const clockMark = "HOSTS_TEST_CLOCK"

// clockFile names a file with a duration by which the clock of a process is off for as long as it is there.
const clockFile = "CLOCK_TEST_FILE"

// stepped is the time as time.Now would give it after a step of the clock: another hour of the day, and the same monotonic
// clock, which Add would move as well. Its first word has the seconds above 30 bits of nanoseconds.
func stepped(t time.Time, off time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(off/time.Second) << 30
	return t
}

// strict is the environment of the processes of the scripts.
func strict() *cli.Env {
	env := cli.Std()
	env.System.Strict = true
	if due := os.Getenv(killMark); due != "" {
		env.System.At = func(point string) { dieAt(point, due) }
	}
	if hours, err := strconv.Atoi(os.Getenv(clockMark)); err == nil {
		env.System.Now = func() time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
	}
	if path := os.Getenv(clockFile); path != "" {
		env.System.Now = func() time.Time {
			text, _ := os.ReadFile(path)
			off, _ := time.ParseDuration(string(text))
			return stepped(time.Now(), off)
		}
	}
	return env
}

// actProbe is what acts of an agent need that no shell can do; elsewhere than on Linux there is none.
var actProbe = func([]string) int { return 1 }
